import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { promise, rejection, untilContenders } from './world.mjs'

promise('with an aborted signal acquire rejects with its reason, and nothing is sent', async (world) => {
  const client = await world.connect()
  world.server.clearLog()
  const reason = { any: 'value' }
  assert.equal(await rejection(client.lock(world.path()).acquire({ signal: AbortSignal.abort(reason) })), reason)
  await client.nodes.exists('/')
  assert.equal(world.server.count('create*', '/**'), 0)
}, { embeddedOnly: true })

promise('aborting a wait rejects with the reason and leaves nothing', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  await mine.acquire()
  const controller = new AbortController()
  const wait = yours.acquire({ signal: controller.signal })
  await untilContenders(mine, 2)
  controller.abort()
  const error = await rejection(wait)
  assert.equal(error, controller.signal.reason)
  assert.equal(error.name, 'AbortError')
  await untilContenders(mine, 1)
})

promise('aborting in the tick of the call leaves nothing', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  await mine.acquire()
  const controller = new AbortController()
  const reason = new Error('at once')
  const wait = yours.acquire({ signal: controller.signal })
  controller.abort(reason)
  assert.equal(await rejection(wait), reason)
  await untilContenders(mine, 1)
})

promise('aborting while the acquisition is on its way here releases it', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  const controller = new AbortController()
  const reason = new Error('late')
  const wait = mine.acquire({ signal: controller.signal })
  // The lock is acquired during this pause, and its outcome cannot be delivered.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  controller.abort(reason)
  assert.equal(await rejection(wait), reason)
  assert.equal(mine.isHeld, false)
  await (await yours.acquire({ timeout: 10_000 })).release()
  await untilContenders(mine, 0)
})

promise('aborting at any moment of an acquisition leaves nothing', async (world) => {
  const client = await world.connect()
  const lock = client.lock(world.path())
  for (let pause = 0; pause < 60; pause++) {
    const controller = new AbortController()
    const acquired = lock.acquire({ signal: controller.signal })
    for (let turn = 0; turn < pause; turn++) await new Promise(setImmediate)
    controller.abort()
    const held = await acquired.catch((error) => assert.equal(error, controller.signal.reason))
    await held?.release()
  }
  await untilContenders(lock, 0)
})

promise('aborting after the acquisition changes nothing', async (world) => {
  const lock = await world.lock()
  const controller = new AbortController()
  const held = await lock.acquire({ signal: controller.signal })
  controller.abort()
  assert.equal(held.isHeld, true)
  assert.equal(held.signal.aborted, false)
  await held.release()
})

promise('AbortSignal.timeout rejects with its TimeoutError', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  await mine.acquire()
  const error = await rejection(yours.acquire({ signal: AbortSignal.timeout(50) }))
  assert.equal(error.name, 'TimeoutError')
  await untilContenders(mine, 1)
})

promise('one long-lived signal serves any number of calls and keeps no listener', async (world) => {
  const warnings = []
  const hear = (warning) => warnings.push(warning)
  process.on('warning', hear)
  try {
    const client = await world.connect()
    const { signal } = new AbortController()
    for (let round = 0; round < 30; round++) await (await client.lock(world.path()).acquire({ signal })).release()
    await Promise.all(Array.from({ length: 30 }, () => client.lock(world.path()).run(() => {}, { signal })))
    assert.equal(getEventListeners(signal, 'abort').length, 0)
    await new Promise(setImmediate)
    assert.deepEqual(warnings, [])
  } finally {
    process.off('warning', hear)
  }
})
