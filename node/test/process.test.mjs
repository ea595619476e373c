// A process, or a worker, that ends: what keeps it from ending, and what it leaves behind, which is nothing.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { promise, untilContenders } from './world.mjs'

/** Far below the session timeout of those who leave (30 s), and long enough for a machine under load. */
const SOON = 15_000

const WAYS = {
  'process.exit': 0,
  'process.reallyExit': 0,
  'an uncaught error': 1,
  'an unhandled rejection': 1,
  'process.exit in a callback': 0,
  'a close that nobody waits for': 0,
  'a release that nobody waits for': 0,
  'the end of all that is to be done': 0,
}
for (const [way, status] of Object.entries(WAYS)) {
  promise(`${way}: what the process held and waited for is free at once`, async (world) => {
    const [lock, taken] = [await world.lock(), await world.lock('taken')]
    const held = await taken.acquire()
    const child = world.child('leave', lock.path, way, taken.path)
    assert.equal(await child.exit, status, child.errors)
    assert.match(child.output, /held/, child.errors)
    await (await lock.acquire({ timeout: SOON })).release()
    await untilContenders(taken, 1)
    await held.release()
  })
}

promise('process.exit ends the sessions of workers too', async (world) => {
  const [lock, workers] = [await world.lock(), await world.lock('lock-worker')]
  const child = world.child('leave', lock.path, 'the end of a worker')
  assert.equal(await child.exit, 0, child.errors)
  await (await lock.acquire({ timeout: SOON })).release()
  await (await workers.acquire({ timeout: SOON })).release()
})

promise('a server out of reach does not keep the process from exiting', async (world) => {
  const lock = await world.lock()
  const child = world.child('leave', lock.path, 'a signal with a handler')
  await child.said('held')
  await sleep(200)
  world.server.pause()
  const asked = Date.now()
  child.signal('SIGUSR2')
  assert.equal(await child.exit, 0, child.errors)
  const took = Date.now() - asked
  world.server.resume()
  assert.ok(took < 5000, `it took ${took} ms`)
}, { embeddedOnly: true })

promise('a worker that is terminated ends its own sessions at once, and no other', async (world) => {
  const [mine, lock] = [await world.lock('mine'), await world.lock()]
  const held = await mine.acquire()
  const workerData = { hosts: world.hosts, path: lock.path, task: 'hold', sessionTimeout: 30_000 }
  const worker = new Worker(new URL('./children/worker.mjs', import.meta.url), { workerData })
  await once(worker, 'message')
  await worker.terminate()
  await (await lock.acquire({ timeout: SOON })).release()
  assert.equal(held.isHeld, true)
  await held.verify()
  await held.release()
})

promise('an idle client does not keep the process alive', async (world) => {
  const child = world.child('alive', world.path(), 'idle')
  assert.equal(await child.exit, 0, child.errors)
})

for (const how of ['holds until it is lost', 'holds and listens', 'unref, ref']) {
  promise(`one who ${how} is kept alive, and no longer than until the loss`, async (world) => {
    const lock = await world.lock()
    const child = world.child('alive', lock.path, how)
    await child.said('held')
    // Time enough for one that nothing keeps alive to end.
    await sleep(300)
    const [holder] = await lock.contenders()
    assert.equal(holder?.holds, true, child.errors)
    await (await world.connect()).nodes.delete(`${lock.path}/${holder.node}`)
    assert.equal(await child.exit, 0, child.errors)
    assert.equal(child.output, 'held\nLOST\n')
  })
}

promise('one who holds is kept alive over a new connection, and to the end of the session', async (world) => {
  const lock = await world.lock()
  const child = world.child('alive', lock.path, 'holds and listens')
  await child.said('held')
  world.server.dropConnections()
  await sleep(300)
  const [holder] = await lock.contenders()
  assert.equal(holder?.holds, true, child.errors)
  world.server.expire(holder.sessionId)
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'held\nLOST\n')
}, { embeddedOnly: true })

promise('one who holds several things is kept alive by the last of them', async (world) => {
  const lock = await world.lock()
  const child = world.child('alive', lock.path, 'holds several')
  await child.said('held')
  const [holder] = await lock.contenders()
  await (await world.connect()).nodes.delete(`${lock.path}/${holder.node}`)
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'held\none lost\nother released\n')
})

promise('one who waits for a lock is kept alive', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  const child = world.child('alive', lock.path, 'waits for a lock')
  await untilContenders(lock, 2)
  await sleep(300)
  await held.release()
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'waiting\nacquired\nreleased\n')
})

promise('one who watches a sequencer is kept alive', async (world) => {
  const child = world.child('alive', world.path(), 'watches a sequencer')
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'over\n')
})

promise('what nobody refers to any more does not keep the process alive', async (world) => {
  const lock = await world.lock()
  const child = world.child('alive', lock.path, 'forgets what it holds')
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'held\n')
  await (await lock.acquire({ timeout: SOON })).release()
})

promise('one who let go of everything is not kept alive', async (world) => {
  const child = world.child('alive', world.path(), 'lets go')
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'nothing held\n')
})

promise('one who withdraws a downgrade that has happened is not kept alive', async (world) => {
  const child = world.child('alive', world.path(), 'withdraws a downgrade that has happened')
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'AbortError\nfalse\n')
})

promise('after unref neither holding nor waiting keeps the process alive, and both end with it', async (world) => {
  const lock = await world.lock()
  const holder = world.child('alive', lock.path, 'holds, unref')
  assert.equal(await holder.exit, 0, holder.errors)
  assert.equal(holder.output, 'held\n')
  const held = await lock.acquire({ timeout: SOON })
  const waiter = world.child('alive', lock.path, 'waits, unref')
  assert.equal(await waiter.exit, 0, waiter.errors)
  assert.equal(waiter.output, 'waiting\n')
  await untilContenders(lock, 1)
  await held.release()
})

promise('whoever closes a client waits for that, whether or not unref was called', async (world) => {
  const child = world.child('alive', world.path(), 'unref, close')
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'closed\n')
})

promise('a round does not keep a process alive whose client is closed, confirmed or not', async (world) => {
  const child = world.child('alive', world.path(), 'is in a round, cannot close')
  await child.said('entered')
  world.server.pause()
  child.signal('SIGTERM')
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'entered\nTIMEOUT\n')
  world.server.resume()
}, { embeddedOnly: true })

promise('what a worker holds keeps the worker alive, until it is lost', async (world) => {
  const lock = await world.lock()
  const workerData = { hosts: world.hosts, path: lock.path, task: 'hold and listen' }
  const worker = new Worker(new URL('./children/worker.mjs', import.meta.url), { workerData })
  let ended = false
  const exit = once(worker, 'exit').then(([code]) => ((ended = true), code))
  await once(worker, 'message')
  await sleep(300)
  assert.equal(ended, false)
  const [holder] = await lock.contenders()
  await (await world.connect()).nodes.delete(`${lock.path}/${holder.node}`)
  assert.equal(await exit, 0)
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
