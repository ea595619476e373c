// Releases that do not wait, and turns that are passed on in memory.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { promise, rejects, throws, until, untilContenders } from './world.mjs'

const HANDLES = {
  lock: (client, world) => client.lock(world.path()),
  'multi-lock': (client, world) => client.multiLock([client.lock(world.path()), client.lock(world.path('b'))]),
  semaphore: (client, world) => client.semaphore(world.path(), 1),
}

for (const [kind, handle] of Object.entries(HANDLES)) {
  promise(`${kind}: a release that does not wait costs the caller no round trip`, async (world) => {
    const it = handle(await world.connect(), world)
    for (const release of [(held) => held.release({ wait: false }), () => it.release({ wait: false })]) {
      const held = await it.acquire()
      // Whoever waits for an answer now waits until the server goes on.
      world.server.pause()
      const released = release(held)
      assert.deepEqual([held.isHeld, it.isHeld], [false, false], 'at once')
      await released
      await rejects(held.release(), 'NOT_HELD')
      await rejects(it.release({ wait: false }), 'NOT_HELD')
      throws(() => it.fencingToken, 'NOT_HELD')
      world.server.resume()
      // It is deleted all the same.
      await (await it.acquire({ timeout: 10_000 })).release()
    }
    await until(async () => (await it.contenders()).length === 0, 'nobody is left')
  }, { embeddedOnly: true })
}

promise('a release that waits is fulfilled when the server has answered', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  world.server.pause()
  let isConfirmed = false
  const releasing = held.release().then(() => (isConfirmed = true))
  assert.equal(held.isHeld, false, 'at once all the same')
  await sleep(100)
  assert.equal(isConfirmed, false)
  world.server.resume()
  await releasing
  assert.deepEqual(await lock.contenders(), [])
}, { embeddedOnly: true })

promise('close waits for a release that did not', async (world) => {
  const [client, other] = [await world.connect(), await world.lock()]
  const lock = client.lock(other.path)
  await lock.acquire()
  await lock.release({ wait: false })
  await client.close()
  assert.deepEqual(await other.contenders(), [])
})

/** Two handles of one client, the second of which waits when the first lets go; what each held. */
async function handOver(world, one, two, release) {
  const first = await one.acquire()
  let isHeld = false
  const waiting = two.acquire({ timeout: 10_000 }).then((held) => ((isHeld = true), held))
  // Who waits in its client has no node to look at.
  await sleep(20)
  assert.equal(isHeld, false)
  world.server?.clearLog()
  await release(first)
  const second = await waiting
  assert.equal(first.isHeld, false)
  const requests = world.server?.log().filter(({ path }) => path?.startsWith(world.path())).map(({ op }) => op)
  return { first, second, requests }
}

for (const wait of [true, false]) {
  promise(`with localHandoff a waiter of this client gets the turn in memory (wait: ${wait})`, async (world) => {
    const client = await world.connect()
    const [one, two] = [1, 2].map(() => client.lock(world.path(), { localHandoff: 5 }))
    await until(async () => {
      const { first, second, requests } = await handOver(world, one, two, (held) => held.release({ wait }))
      await second.verify()
      await second.release()
      assert.equal(first.passes, 0)
      // It came too late to wait.
      if (second.passes === 0) return false
      assert.deepEqual([second.fencingToken, second.passes], [first.fencingToken, 1])
      assert.deepEqual([second.node, second.sequencer], [first.node, first.sequencer])
      if (requests) assert.deepEqual(requests.filter((op) => /create|delete|getChildren/.test(op)), [])
      return true
    }, 'the turn is passed on')
    await untilContenders(one, 0)
  })
}

promise('without localHandoff every turn has a token of its own', async (world) => {
  const client = await world.connect()
  const [one, two] = [1, 2].map(() => client.lock(world.path()))
  const { first, second } = await handOver(world, one, two, (held) => held.release())
  assert.ok(second.fencingToken > first.fencingToken)
  assert.deepEqual([first.passes, second.passes], [0, 0])
  await second.release()
})
