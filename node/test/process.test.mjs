import assert from 'node:assert/strict'
import { promise, untilContenders } from './world.mjs'

promise('an idle client does not keep the process alive, not even holding', async (world) => {
  const child = world.child('idle')
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'held\n')
})

promise('a pending acquire keeps the process alive', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  const child = world.child('pending', lock.path)
  await untilContenders(lock, 2)
  await held.release()
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'acquired\n')
})

promise('a pending connect keeps the process alive', async (world) => {
  world.server.pause()
  const child = world.child('connect')
  await child.said('connecting')
  world.server.resume()
  assert.equal(await child.exit, 0, child.errors)
  assert.match(child.output, /connected\n/)
}, { embeddedOnly: true })

promise('process.exit with a held lock and calls under way neither crashes nor hangs', async (world) => {
  const lock = await world.lock()
  await lock.acquire()
  for (let round = 0; round < 5; round++) {
    const child = world.child('leaving', lock.path, world.path(`other-${round}`))
    assert.equal(await child.exit, 3, child.errors)
    assert.equal(child.errors, '')
  }
})

promise('the library may be loaded by a worker only, which ends before the process', async (world) => {
  const child = world.child('worker-only', world.path())
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'acquired\nended\nacquired\nended\n')
})

promise('an error that nobody catches ends the process as usual', async (world) => {
  const child = world.child('uncaught', world.path())
  assert.equal(await child.exit, 1)
  assert.match(child.errors, /ZkRecipesError: invalid path/)
})

promise('a holder that is killed makes way for the next', async (world) => {
  const lock = await world.lock()
  const child = world.child('hold', lock.path)
  await child.said('held')
  const waiting = lock.acquire({ timeout: 30_000 })
  await untilContenders(lock, 2)
  child.kill()
  await (await waiting).release()
})
