// What the Node face decides about two-phase commits: the forms of arguments and answers, withdrawing, garbage.

import assert from 'node:assert/strict'
import { CommitTransaction, Proposal, TwoPhaseCommit } from 'zkrecipes'
import { collectGarbage, promise, rejection, rejects, throws, until, untilCollected } from './world.mjs'

/** A coordinator and sites, each on a client of its own. */
async function commits(world, sites, mode) {
  const clients = await Promise.all(['coordinator', ...sites].map((identity) => world.connect({ identity })))
  const [coordinator, ...all] = clients.map((client) => client.twoPhaseCommit(world.path('commits'), mode))
  await Promise.all(all.map((site, at) => site.join(sites[at])))
  return [coordinator, ...all]
}

promise('all sites commit, and each says so', async (world) => {
  const [coordinator, stock, billing] = await commits(world, ['stock', 'billing'])
  assert.ok(coordinator instanceof TwoPhaseCommit)
  assert.deepEqual([coordinator.path, coordinator.mode], [world.path('commits'), 'coordinator'])
  assert.deepEqual([await coordinator.history(), await coordinator.show('order')], [[], null])
  const order = await coordinator.begin('order', ['stock', 'billing'], '3 chairs', 20_000)
  assert.ok(order instanceof CommitTransaction)
  assert.deepEqual([order.id, order.sites.toSorted?.() ?? [...order.sites].sort(), order.payload], ['order', ['billing', 'stock'], Buffer.from('3 chairs')])
  await rejects(order.outcome({ timeout: 20 }), 'TIMEOUT')
  const deciding = order.outcome()
  // Should something else fail first, that is the error to show.
  deciding.catch(() => {})
  for (const site of [stock, billing]) {
    const proposal = await site.next({ timeout: 5000 })
    assert.ok(proposal instanceof Proposal)
    assert.deepEqual([proposal.id, proposal.payload, proposal.hasVoted], ['order', Buffer.from('3 chairs'), false])
    assert.equal(await proposal.voteCommit(), undefined)
  }
  assert.equal(await deciding, 'commit')
  const status = await coordinator.show('order')
  assert.deepEqual(
    [status.id, status.mode, status.payload, status.timeout, status.outcome, typeof status.age, typeof status.coordinator],
    ['order', 'coordinator', Buffer.from('3 chairs'), 20_000, 'commit', 'number', 'string'],
  )
  assert.deepEqual(status.sites.map(({ site, hasAcknowledged }) => [site, hasAcknowledged]).sort(), [['billing', false], ['stock', false]])
  for (const site of [stock, billing]) {
    const [proposal] = await site.pending()
    assert.equal(proposal.hasVoted, true)
    assert.equal(await proposal.outcome(), 'commit')
    assert.equal(await proposal.acknowledge(), undefined)
  }
  await until(async () => (await coordinator.history()).length === 0, 'it is collected')
})

promise('a coordinator is told who aborted, and why', async (world) => {
  const [coordinator, stock] = await commits(world, ['stock'])
  const order = await coordinator.begin('order', ['stock'], '99 chairs', 20_000)
  const proposal = await stock.next({ timeout: 5000 })
  assert.deepEqual([order.reason, proposal.reason], ['', ''])
  await proposal.voteAbort('only 12 chairs')
  assert.deepEqual([await order.outcome(), order.reason], ['abort', 'stock: only 12 chairs'])
  assert.deepEqual([await proposal.outcome(), proposal.reason], ['abort', 'stock: only 12 chairs'])
})

promise('what a transaction is told may be said by name', async (world) => {
  const client = await world.connect()
  const commits = client.twoPhaseCommit(world.path('commits'), { mode: 'peer' })
  assert.equal(commits.mode, 'peer')
  assert.equal(client.twoPhaseCommit(world.path('commits'), {}).mode, 'coordinator')
  const controller = new AbortController()
  await commits.begin('one', ['absent'], 'x', { timeout: 20_000, signal: controller.signal })
  await commits.begin('two', { sites: ['absent'], payload: 'y', timeout: 30_000 })
  const all = await commits.history()
  assert.deepEqual(all.map(({ id, payload, timeout }) => [id, String(payload), timeout]), [['one', 'x', 20_000], ['two', 'y', 30_000]])
  const reason = new Error('withdrawn')
  controller.abort(reason)
  assert.equal(await rejection(commits.begin('three', { sites: ['absent'], payload: '', timeout: 1000, signal: controller.signal })), reason)
  const named = (error, argument) => assert.match(error.message, new RegExp(argument))
  named(await rejects(commits.begin('three', ['absent'], '', { timout: 1000 }), 'INVALID'), 'timout')
  named(await rejects(commits.begin('three', ['absent'], '', {}), 'INVALID'), 'timeout')
  named(await rejects(commits.begin('three', { payload: '', timeout: 1000 }), 'INVALID'), 'sites')
  named(await rejects(commits.begin('three', { sites: ['absent'], payload: '', timeout: 1000, mode: 'peer' }), 'INVALID'), 'mode')
  named(throws(() => client.twoPhaseCommit(world.path('commits'), { mod: 'peer' }), 'INVALID'), 'mod')
})

promise('who withdraws from waiting loses nothing', async (world) => {
  const [coordinator, stock] = await commits(world, ['stock'])
  const reason = new Error('withdrawn')
  const controller = new AbortController()
  const waiting = rejection(stock.next({ signal: controller.signal }))
  controller.abort(reason)
  assert.equal(await waiting, reason)
  await rejects(stock.next({ timeout: 0 }), 'TIMEOUT')
  await coordinator.begin('order', ['stock'], '', 20_000)
  assert.equal((await stock.next({ timeout: 10_000 })).id, 'order')
})

promise('a site stays one though nobody has the handle in a variable, and can be collected once it has left', async (world) => {
  const client = await world.connect()
  const observer = (await world.connect()).twoPhaseCommit(world.path('commits'))
  const collected = new Set()
  const registry = new FinalizationRegistry((name) => collected.add(name))
  await (async () => {
    const [stays, leaves] = [client.twoPhaseCommit(world.path('commits')), client.twoPhaseCommit(world.path('commits'))]
    registry.register(leaves, 'left')
    await stays.join('stays')
    await leaves.join('leaves')
    await rejects(stays.leave({ timeout: 5 }), 'INVALID')
    await leaves.leave()
    await rejects(leaves.leave(), 'NOT_HELD')
  })()
  await untilCollected(() => collected.has('left'), 'who left is collected')
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
  await observer.begin('order', ['stays', 'leaves'], '', 20_000)
  const { sites } = await observer.show('order')
  assert.deepEqual(sites.map(({ site, isPresent }) => [site, isPresent]).sort(), [['leaves', false], ['stays', true]])
})

promise('bad arguments are INVALID', async (world) => {
  const client = await world.connect()
  const named = (error, argument) => assert.match(error.message, new RegExp(`\\b${argument}\\b`))
  for (const mode of ['other', 7, null]) named(throws(() => client.twoPhaseCommit(world.path('commits'), mode), 'INVALID'), 'mode')
  const one = client.twoPhaseCommit(world.path('commits'))
  for (const id of [undefined, null, 7, '', 'a/b']) {
    named(await rejects(one.begin(id, ['a'], '', 1000), 'INVALID'), 'id')
    named(await rejects(one.show(id), 'INVALID'), 'id')
  }
  for (const sites of [undefined, null, 'a', [], ['a', 'a'], ['a', 7], new Array(1)]) named(await rejects(one.begin('x', sites, '', 1000), 'INVALID'), 'sites?')
  for (const payload of [undefined, null, 7]) named(await rejects(one.begin('x', ['a'], payload, 1000), 'INVALID'), 'payload')
  for (const timeout of [undefined, null, '5', -1, NaN, Infinity]) named(await rejects(one.begin('x', ['a'], '', timeout), 'INVALID'), 'timeout')
  for (const site of [undefined, null, '', 'a/b']) named(await rejects(one.join(site), 'INVALID'), 'site')
  await rejects(one.next(), 'NOT_HELD')
  await rejects(one.pending(), 'NOT_HELD')
  for (const Type of [TwoPhaseCommit, CommitTransaction, Proposal]) throws(() => new Type(), 'INVALID')
})

promise('a proposal that is answered just as the wait is withdrawn is told again', async (world) => {
  const [coordinator, stock] = await commits(world, ['stock'])
  await coordinator.begin('order', ['stock'], '', 20_000)
  const controller = new AbortController()
  const waiting = rejection(stock.next({ signal: controller.signal }))
  // It is told during this pause, and nobody can hear it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  controller.abort()
  assert.equal(await waiting, controller.signal.reason)
  // At once, and not when what nobody heard is collected.
  assert.equal((await stock.next({ timeout: 0 })).id, 'order')
})

promise('a transaction that has begun just as the wait is withdrawn is withdrawn, too', async (world) => {
  const [stock] = await commits(world, [])
  const client = await world.connect()
  const controller = new AbortController()
  const beginning = rejection(client.twoPhaseCommit(world.path('commits')).begin('order', ['stock'], '', 60_000, { signal: controller.signal }))
  // It begins during this pause, and nobody can hear it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  controller.abort()
  assert.equal(await beginning, controller.signal.reason)
  // Which waits for what goes on in the background, and leaves what nobody withdraws.
  await client.close()
  assert.deepEqual(await stock.history(), [])
})

promise('a transaction that is on its way when the wait is withdrawn is withdrawn, too', async (world) => {
  const [stock] = await commits(world, [])
  const client = await world.connect()
  const coordinator = client.twoPhaseCommit(world.path('commits'))
  // The folders are made once.
  await coordinator.begin('first', ['stock'], '', 20_000)
  await coordinator.decideAbort('first', '')
  const slow = world.server.inject('delay_reply multi by=1s path=**/transactions/order')
  const controller = new AbortController()
  const beginning = rejection(coordinator.begin('order', ['stock'], '', 60_000, { signal: controller.signal }))
  await until(() => world.server.faultFired(slow), 'it is carried out, and its answer on its way')
  controller.abort()
  assert.equal(await beginning, controller.signal.reason)
  await client.close()
  assert.equal(await stock.show('order'), null)
}, { embeddedOnly: true })

promise('who has joined just as the wait is withdrawn leaves again', async (world) => {
  const [gone, stays] = await Promise.all([world.connect(), world.connect()])
  const withdrawn = gone.twoPhaseCommit(world.path('commits'))
  const controller = new AbortController()
  const joining = rejection(withdrawn.join('stock', { signal: controller.signal }))
  // It joins during this pause, and nobody can hear it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  controller.abort()
  assert.equal(await joining, controller.signal.reason)
  const stock = stays.twoPhaseCommit(world.path('commits'))
  await until(() => stock.join('stock').then(() => true, (error) => assert.equal(error.code, 'EXISTS')), 'it has left')
  await rejects(withdrawn.next(), 'NOT_HELD')
})
