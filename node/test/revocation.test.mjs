// Asking a holder to let go: what it hears, being forced, and bad arguments. Withdrawing is in inspection.test.mjs.

import assert from 'node:assert/strict'
import { ZkRecipesError } from 'zkrecipes'
import { promise, rejects, throws, until, untilContenders } from './world.mjs'

promise('who holds hears that it is asked for, once, and lets go when it can', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  assert.equal(await yours.revoke(), false, 'there is nobody to ask')
  const held = await mine.acquire()
  const told = []
  held.onRevoke((reason) => told.push(reason))
  held.onRevoke(() => assert.fail('it had unsubscribed'))()
  const { revokeSignal } = held
  assert.equal(held.revokeSignal, revokeSignal, 'there is one signal')
  assert.equal(revokeSignal.aborted, false)
  const waiting = yours.acquire()
  await untilContenders(mine, 2)
  assert.equal(await yours.revoke(), true)
  await until(() => revokeSignal.aborted, 'the signal aborts')
  assert.equal(await yours.revoke(), true)
  await until(() => told.length === 1, 'the callback is told')
  assert.ok(revokeSignal.reason instanceof ZkRecipesError)
  assert.equal(revokeSignal.reason.code, 'CANCELLED')
  assert.equal(revokeSignal.reason.path, mine.path)
  assert.equal(held.isHeld, true, 'asking takes nothing away')
  assert.equal(held.signal.aborted, false)
  await new Promise((resolve) => held.onRevoke(resolve))
  await held.release()
  await (await waiting).release()
  assert.equal(told.length, 1)
})

promise('a revoke signal that is first asked for after the request is aborted', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  const held = await mine.acquire()
  const told = new Promise((resolve) => held.onRevoke(resolve))
  await yours.revoke({})
  await told
  assert.equal(held.revokeSignal.aborted, true)
})

promise('bad arguments of a revocation are INVALID and named', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  for (const contender of ['', 'nobody', '../x', 'a/b', world.path('other'), 7, true]) {
    assert.match((await rejects(lock.revoke(contender), 'INVALID')).message, /\bcontender\b/)
    assert.match((await rejects(lock.revoke({ contender }), 'INVALID')).message, /\bcontender\b/)
  }
  for (const forceAfter of [-1, NaN, '5', null]) {
    assert.match((await rejects(lock.revoke({ forceAfter }), 'INVALID')).message, /\bforceAfter\b/)
    assert.match((await rejects(lock.revoke(undefined, { forceAfter }), 'INVALID')).message, /\bforceAfter\b/)
  }
  assert.match((await rejects(lock.revoke({ colour: 1 }), 'INVALID')).message, /\bcolour\b/)
  assert.match((await rejects(lock.revoke({ signal: 1 }), 'INVALID')).message, /\bsignal\b/)
  for (const callback of [undefined, null, 7]) {
    assert.match(throws(() => held.onRevoke(callback), 'INVALID').message, /\bcallback\b/)
  }
  assert.equal(held.revokeSignal.aborted, false)
  await held.release()
})
