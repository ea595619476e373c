// What the Node face decides about barriers: arguments, withdrawing, the scope of a round, and what keeps the process alive.

import assert from 'node:assert/strict'
import { Barrier, DoubleBarrier } from 'zkrecipes'
import { promise, rejection, rejects, throws, until, untilCollected } from './world.mjs'

/** Members of one round, each on a client of its own. */
async function members(world, count, parties = count) {
  const clients = await Promise.all(Array.from({ length: count }, () => world.connect()))
  return clients.map((client, at) => client.doubleBarrier(world.path('step'), parties, `member-${at}`))
}

const enterAll = (all) => Promise.all(all.map((barrier) => barrier.enter()))
const leaveAll = (all) => Promise.all(all.map((barrier) => barrier.leave()))

promise('who withdraws from waiting at a barrier waits no longer', async (world) => {
  const barrier = (await world.connect()).barrier(world.path('barrier'))
  await barrier.create()
  const reason = new Error('withdrawn')
  const controller = new AbortController()
  const waiting = rejection(barrier.wait({ signal: controller.signal }))
  controller.abort(reason)
  assert.equal(await waiting, reason)
})

promise('a body that fails and has closed its client is heard', async (world) => {
  const client = await world.connect()
  const reason = new Error('failed')
  const failed = rejection(
    client.doubleBarrier(world.path('step'), 1).run(async () => {
      await client.close()
      throw reason
    }),
  )
  assert.equal(await failed, reason)
})

promise('members enter and leave together, round after round', async (world) => {
  const all = await members(world, 3)
  const [first] = all
  assert.ok(first instanceof DoubleBarrier)
  assert.deepEqual([first.path, first.parties, first.name, first.hasEntered], [world.path('step'), 3, 'member-0', false])
  for (let round = 0; round < 3; round++) {
    await enterAll(all)
    assert.ok(all.every(({ hasEntered }) => hasEntered))
    await rejects(first.enter(), 'EXISTS')
    const leaving = first.leave()
    await until(() => !first.hasEntered, 'it is leaving')
    await rejects(first.leave(), 'NOT_HELD')
    await leaveAll(all.slice(1))
    await leaving
    assert.ok(all.every(({ hasEntered }) => !hasEntered))
  }
  await rejects(first.leave(), 'NOT_HELD')
  throws(() => first.withdraw(), 'NOT_HELD')
  assert.equal(typeof (await world.connect()).doubleBarrier(world.path('step'), 1).name, 'string')
})

promise('a run enters, works and leaves, and answers what the work does', async (world) => {
  const all = await members(world, 3)
  let inside = 0
  const results = await Promise.all(all.map((barrier, at) => barrier.run(async () => {
    inside++
    await until(() => inside === 3, 'all are in')
    return at
  }, { timeout: 20_000 })))
  assert.deepEqual(results, [0, 1, 2])
  assert.ok(all.every(({ hasEntered }) => !hasEntered))
})

promise('how many and by which name may be said by name', async (world) => {
  const client = await world.connect({ identity: 'me' })
  const one = client.doubleBarrier(world.path('step'), { parties: 2, name: 'one' })
  assert.deepEqual([one.parties, one.name], [2, 'one'])
  const two = client.doubleBarrier(world.path('step'), 3, { name: 'two' })
  assert.deepEqual([two.parties, two.name], [3, 'two'])
  const me = client.doubleBarrier(world.path('step'), { parties: 4 })
  assert.deepEqual([me.parties, me.name], [4, 'me'])
  const named = (error, argument) => assert.match(error.message, new RegExp(argument))
  named(throws(() => client.doubleBarrier(world.path('step'), { name: 'one' }), 'INVALID'), 'parties')
  named(throws(() => client.doubleBarrier(world.path('step'), { parties: 2, nam: 'one' }), 'INVALID'), 'nam')
  named(throws(() => client.doubleBarrier(world.path('step'), 2, { parties: 2 }), 'INVALID'), 'parties')
})

promise('work that fails gives the round up, and keeps nobody', async (world) => {
  const [mine, yours] = await members(world, 2)
  const reason = new Error('on purpose')
  const failing = rejection(mine.run(() => { throw reason }))
  await yours.enter()
  assert.equal(await failing, reason)
  assert.equal(mine.hasEntered, false)
  await yours.leave({ timeout: 10_000 })
  const again = rejection(mine.run(async () => {
    await mine.leave()
    throw reason
  }))
  await yours.enter()
  await yours.leave()
  assert.equal(await again, reason, 'it had left by itself')
})

promise('a signal that comes during the work ends the round, and keeps nobody', async (world) => {
  const [mine, yours] = await members(world, 2)
  const controller = new AbortController()
  const reason = new Error('withdrawn')
  const aborted = rejection(mine.run(() => controller.abort(reason), { signal: controller.signal }))
  await yours.enter()
  assert.equal(await aborted, reason)
  assert.equal(mine.hasEntered, false)
  await yours.leave({ timeout: 10_000 })
})

promise('work that leaves by itself has left', async (world) => {
  const [mine] = await members(world, 1)
  assert.equal(await mine.run(async () => {
    await mine.leave()
    return 'done'
  }), 'done')
})

promise('an enter that is answered just as it is withdrawn is withdrawn', async (world) => {
  const [mine, yours] = await members(world, 2)
  const controller = new AbortController()
  const entering = rejection(mine.enter({ signal: controller.signal }))
  const other = yours.enter()
  // Both are in during this pause, and neither can be told.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000)
  controller.abort()
  await entering
  assert.equal(mine.hasEntered, false)
  await other
  await yours.leave({ timeout: 10_000 })
})

promise('a member that nobody refers to is withdrawn', async (world) => {
  const [yours] = await members(world, 1, 2)
  const entering = yours.enter()
  await (async () => (await world.connect()).doubleBarrier(world.path('step'), 2, 'dropped').enter())()
  await entering
  let hasLeft = false
  const leaving = yours.leave().then(() => (hasLeft = true))
  await untilCollected(() => hasLeft, 'it is waited for no more')
  await leaving
})

for (const [how, alive] of [['stays', true], ['leaves', false], ['withdraws', false], ['closes', false]]) {
  promise(`a member that ${how} ${alive ? 'keeps' : 'does not keep'} its process alive`, async (world) => {
    const child = world.child('round', world.path('step'), how)
    await child.said('in')
    const begun = Date.now()
    if (alive) {
      await new Promise((resolve) => setTimeout(resolve, 300))
      child.signal('SIGUSR2')
    }
    assert.equal(await child.exit, alive ? 7 : 0, child.errors)
    // The garbage collector would let it go, too, some time.
    assert.ok(Date.now() - begun < 6000)
  })
}

promise('bad arguments are INVALID', async (world) => {
  const client = await world.connect()
  const named = (error, argument) => assert.match(error.message, new RegExp(`\\b${argument}\\b`))
  for (const parties of [undefined, null, 0, -1, 1.5, '3', 5001]) {
    named(throws(() => client.doubleBarrier(world.path('step'), parties), 'INVALID'), 'parties')
  }
  for (const name of [null, 7, true, '\ud800']) named(throws(() => client.doubleBarrier(world.path('step'), 2, name), 'INVALID'), 'name')
  const [barrier, double] = [client.barrier(world.path('barrier')), client.doubleBarrier(world.path('step'), 1)]
  for (const timeout of [-1, NaN, '5', null]) {
    named(await rejects(barrier.wait({ timeout }), 'INVALID'), 'timeout')
    named(await rejects(double.enter({ timeout }), 'INVALID'), 'timeout')
    named(await rejects(double.run(() => assert.fail(), { timeout }), 'INVALID'), 'timeout')
  }
  await double.enter()
  named(await rejects(double.leave({ timeout: -1 }), 'INVALID'), 'timeout')
  assert.equal(double.hasEntered, true)
  await double.leave()
  named(await rejects(double.run(), 'INVALID'), 'body')
  for (const verb of ['create', 'remove', 'isUp']) named(await rejects(barrier[verb]({ timeout: 5 }), 'INVALID'), 'timeout')
  for (const Type of [Barrier, DoubleBarrier]) throws(() => new Type(), 'INVALID')
})
