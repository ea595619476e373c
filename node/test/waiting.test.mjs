// Who waits can see for whom, and how long.

import assert from 'node:assert/strict'
import { Client } from 'zkrecipes'
import { promise, throws, until } from './world.mjs'

promise('a wait is told for whom and how long', async (world) => {
  const [holder, waiter] = [await world.connect({ identity: 'night-shift' }), await world.connect()]
  const path = world.path()
  const held = await holder.lock(path).acquire()
  const lock = waiter.lock(path)
  const [told, others] = [[], []]
  const off = lock.onWait((progress) => told.push(progress))
  lock.onWait((progress) => others.push(progress))()
  const waiting = lock.acquire()
  await until(() => told.length > 0, 'it is told')
  off()
  const [{ waited, ahead, holder: who, ...rest }] = told
  assert.ok(waited >= 1000 && waited < 20_000, `${waited}`)
  assert.deepEqual([ahead, who.identity, who.holds, rest], [1, 'night-shift', true, { path }])
  assert.ok(who.since instanceof Date && held.node.endsWith(who.node))
  assert.deepEqual(others, [])
  await held.release()
  await (await waiting).release()
  throws(() => lock.onWait('no function'), 'INVALID')
  lock.onWait(() => {})
  await waiter.close()
  throws(() => lock.onWait(() => {}), 'CLOSED')
})

promise('a timeout names the limit and who holds', async (world) => {
  const [holder, waiter] = [await world.connect({ identity: 'night-shift' }), await world.connect()]
  const path = world.path()
  await using(await holder.lock(path).acquire(), async () => {
    const waiting = waiter.lock(path).acquire({ timeout: 1000 })
    await assert.rejects(waiting, { code: 'TIMEOUT', path, message: /within 1s.*night-shift holds it/ })
  })
})

promise('no connection says what is wrong, and names the option as it is written here', async () => {
  const connecting = Client.connect('127.0.0.1:1', { connectTimeout: 500 })
  const message = /127\.0\.0\.1:1 refuses connections.*connectTimeout/
  await assert.rejects(connecting, (error) => {
    assert.equal(error.code, 'CONNECTION_LOST')
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /connect_timeout/)
    return true
  })
}, { embeddedOnly: true })

async function using(held, body) {
  try {
    await body()
  } finally {
    await held.release()
  }
}

promise('waits at barriers and queues are told', async (world) => {
  const client = await world.connect({ identity: 'keeper' })
  const [up, round, empty] = ['up', 'round', 'empty'].map((name) => `${world.path()}-${name}`)
  const [barrier, party, queue] = [client.barrier(up), client.doubleBarrier(round, 3), client.queue(empty)]
  const told = new Map()
  const note = (progress) => told.has(progress.path) || told.set(progress.path, progress)
  for (const waits of [barrier, party, queue]) waits.onWait(note)
  await barrier.create()
  const controller = new AbortController()
  const [lifted, got] = [barrier.wait(), queue.get()]
  const entered = assert.rejects(party.enter({ signal: controller.signal }), { name: 'AbortError' })
  await until(() => told.size === 3, 'all are told')
  assert.deepEqual([told.get(up).holder.identity, told.get(up).ahead], ['keeper', null])
  assert.ok(told.get(up).waited >= 1000, `${told.get(up).waited}`)
  assert.deepEqual([told.get(round).ahead, told.get(round).holder], [2, null])
  assert.deepEqual([told.get(empty).ahead, told.get(empty).holder], [null, null])
  await barrier.remove()
  await queue.put('one')
  controller.abort()
  await Promise.all([lifted, entered])
  assert.equal(String(await got), 'one')
  throws(() => queue.onWait('no function'), 'INVALID')
})
