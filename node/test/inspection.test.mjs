// Who holds and who waits, and asking them to let go: through every kind of handle.

import assert from 'node:assert/strict'
import { promise, rejection, rejects, until } from './world.mjs'

/** Each kind of handle, of which one holder is all there is room for; `named` is how it names the node of a holder. */
const KINDS = {
  lock: {
    handle: (client, world) => client.lock(world.path('a')),
    kinds: ['lock', 'lock'],
    named: (held, world) => held.node.slice(world.path('a').length + 1),
  },
  'write side': {
    handle: (client, world) => client.readWriteLock(world.path('a')).write,
    kinds: ['write', 'write'],
    named: (held, world) => held.node.slice(world.path('a').length + 1),
  },
  semaphore: {
    handle: (client, world) => client.semaphore(world.path('a'), 1),
    kinds: ['lease', 'lock'],
    named: (held, world) => held.node.slice(world.path('a').length + 1),
  },
  'multi-lock': {
    handle: (client, world) => client.multiLock([client.lock(world.path('a')), client.lock(world.path('b'))]),
    kinds: ['lock', 'lock', 'lock'],
    named: (held) => held.node,
  },
}

/** Tests a promise for each kind of handle, with one that holds and one of another client. */
function promiseOfAll(name, body) {
  for (const [kind, { handle, ...facts }] of Object.entries(KINDS)) {
    promise(`${kind}: ${name}`, async (world) => {
      const [one, two] = [await world.connect({ identity: 'one' }), await world.connect({ identity: 'two' })]
      const [mine, yours] = [handle(one, world), handle(two, world)]
      assert.deepEqual(await yours.contenders(), [])
      assert.equal(await yours.revoke(), false, 'there is nobody to ask')
      await body({ world, one, two, mine, yours, held: await mine.acquire(), ...facts })
    })
  }
}

const isWaiting = async (handle) => (await handle.contenders()).some(({ holds }) => !holds)

promiseOfAll('contenders are who holds and then who waits', async ({ world, one, two, mine, yours, held, kinds, named }) => {
  const waiting = yours.acquire()
  await until(() => isWaiting(mine), 'the other waits')
  const contenders = await mine.contenders()
  assert.deepEqual(contenders, await yours.contenders())
  // Of several locks, the other one waits for the first, behind it, and holds nothing of the second.
  assert.deepEqual(contenders.map(({ kind }) => kind), kinds)
  const holders = contenders.filter(({ holds }) => holds)
  const waiters = contenders.filter(({ holds }) => !holds)
  assert.equal(waiters.length, 1)
  assert.equal(contenders[0].node, named(held, world))
  for (const [group, client, identity] of [[holders, one, 'one'], [waiters, two, 'two']]) {
    for (const contender of group) {
      assert.equal(contender.identity, identity)
      assert.equal(contender.sessionId, client.sessionId)
      assert.ok(contender.since instanceof Date && Math.abs(contender.since - Date.now()) < 60_000)
    }
  }
  if (mine.holders) assert.deepEqual(await mine.holders(), holders)
  await mine.release()
  await (await waiting).release()
  await until(async () => (await mine.contenders()).length === 0, 'nobody is left')
})

promiseOfAll('asking is heard by who holds, and takes nothing away', async ({ mine, yours, held }) => {
  const { revokeSignal } = held
  const told = new Promise((resolve) => held.onRevoke(resolve))
  // The handle hears for what it holds.
  const toldHandle = new Promise((resolve) => mine.onRevoke(resolve))
  mine.onRevoke(() => assert.fail('it was ended'))()
  assert.throws(() => yours.onRevoke(() => {}), { code: 'NOT_HELD' })
  assert.throws(() => mine.onRevoke(), { code: 'INVALID' })
  const waiting = yours.acquire()
  assert.equal(await yours.revoke(), true)
  await until(() => revokeSignal.aborted, 'the signal aborts')
  assert.equal((await told).code, (await toldHandle).code)
  assert.equal(held.isHeld, true)
  assert.equal(held.signal.aborted, false)
  await mine.verify()
  await mine.release()
  await (await waiting).release()
})

promiseOfAll('asking with force takes it from who does not let go, who is told that it was revoked', async ({ mine, yours, held }) => {
  const { signal } = held
  const lost = new Promise((resolve) => mine.onLost(resolve))
  const late = mine.guarded().set('/', 'late')
  assert.equal(await yours.revoke({ forceAfter: 50 }), true)
  await until(() => signal.aborted, 'the loss is told')
  for (const error of [signal.reason, await lost]) assert.deepEqual([error.code, error.reason], ['LOST', 'revoked'])
  assert.equal(mine.isHeld, false)
  await rejects(late.commit(), 'NOT_HELD')
  await (await yours.acquire({ timeout: 5000 })).release()
})

promiseOfAll('who lets go in time loses nothing, and asking waits no longer', async ({ mine, yours, held }) => {
  held.signal.addEventListener('abort', () => assert.fail('it was lost'))
  held.onRevoke(() => mine.release())
  const began = Date.now()
  assert.equal(await yours.revoke(null, { forceAfter: 30_000 }), true)
  assert.ok(Date.now() - began < 20_000)
  assert.deepEqual(await mine.contenders(), [])
})

promiseOfAll('one contender is asked by its node, and nobody else', async ({ mine, yours, held }) => {
  const { revokeSignal } = held
  const waiting = yours.acquire()
  await until(() => isWaiting(mine), 'the other waits')
  const [holder] = await mine.contenders()
  const { node } = (await mine.contenders()).find(({ holds }) => !holds)
  assert.equal(await mine.revoke(node, { forceAfter: 0 }), true)
  // It queues again, on another node.
  await until(async () => (await mine.contenders()).every((contender) => contender.node !== node), 'its node is gone')
  assert.equal(revokeSignal.aborted, false)
  assert.equal(await yours.revoke({ contender: holder.node }), true)
  assert.equal(await yours.revoke({ contender: holder }), true)
  assert.equal(await yours.revoke(holder), true)
  assert.equal(await yours.revoke(held.node), true, 'a whole path will do')
  await until(() => revokeSignal.aborted, 'the holder is asked')
  await mine.release()
  assert.equal(await yours.revoke(holder.node), false, 'it has gone')
  await (await waiting).release()
})

promiseOfAll('what is no contender of the handle is INVALID and named', async ({ world, mine, held }) => {
  const elsewhere = world.path('elsewhere/_c_00000000-0000-0000-0000-000000000000-lock-0000000000')
  for (const contender of ['', 'nobody', '../x', 'a/b', 'leases', 'leases/', 'locks/x', '/', elsewhere, 7, true]) {
    assert.match((await rejects(mine.revoke(contender), 'INVALID')).message, /\bcontender\b/)
    assert.match((await rejects(mine.revoke({ contender, forceAfter: 0 }), 'INVALID')).message, /\bcontender\b/)
  }
  for (const forceAfter of [-1, NaN, '5', null]) {
    assert.match((await rejects(mine.revoke({ forceAfter }), 'INVALID')).message, /\bforceAfter\b/)
  }
  assert.match((await rejects(mine.revoke({ colour: 1 }), 'INVALID')).message, /\bcolour\b/)
  assert.equal(held.revokeSignal.aborted, false)
  await mine.verify()
})

promiseOfAll('an aborted signal ends the wait for force, and nobody is forced', async ({ mine, yours, held }) => {
  const controller = new AbortController()
  const reason = new Error('withdrawn')
  const revoking = yours.revoke({ forceAfter: 300, signal: controller.signal })
  await new Promise((resolve) => held.onRevoke(resolve))
  controller.abort(reason)
  assert.equal(await rejection(revoking), reason)
  await new Promise((resolve) => setTimeout(resolve, 400))
  await mine.verify()
})
