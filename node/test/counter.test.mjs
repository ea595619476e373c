// What the Node face decides about counters: which numbers it takes, what it answers, and how a call is withdrawn. What a counter
// is, tests/scenarios/counter.scn says.

import assert from 'node:assert/strict'
import { promise, rejection, rejects } from './world.mjs'

const LEAST = -(2n ** 63n)
const MOST = 2n ** 63n - 1n

promise('numbers and bigints are added, and the answers are bigints', async (world) => {
  const counter = (await world.connect()).counter(world.path('counter'))
  assert.equal(counter.path, world.path('counter'))
  assert.equal(await counter.get(), 0n)
  assert.equal(await counter.add(2), 2n)
  assert.equal(await counter.add(-5n), -3n)
  assert.equal(await counter.compareAndSet(-3, LEAST), true)
  assert.equal(await counter.get(), LEAST)
  assert.equal(await counter.compareAndSet(LEAST, MOST), true)
  assert.equal(await counter.compareAndSet(0n, 1), false)
  assert.equal(await counter.get(), MOST)
  await rejects(counter.add(1), 'INVALID')
  assert.equal(await counter.add(-Number.MAX_SAFE_INTEGER), MOST - BigInt(Number.MAX_SAFE_INTEGER))
})

promise('a withdrawn change rejects with the reason of the signal, and an aborted signal sends nothing', async (world) => {
  const counter = (await world.connect()).counter(world.path('counter'))
  await counter.add(1)
  world.server.clearLog()
  const reason = new Error('withdrawn')
  assert.equal(await rejection(counter.add(1, { signal: AbortSignal.abort(reason) })), reason)
  assert.equal(world.server.count('*', '/**'), 0)
  world.server.pause()
  const controller = new AbortController()
  const adding = counter.add(1, { signal: controller.signal })
  controller.abort(reason)
  assert.equal(await rejection(adding), reason)
  world.server.resume()
}, { embeddedOnly: true })
