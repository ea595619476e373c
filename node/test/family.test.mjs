// The rest of the lock family: read/write locks, several locks at once, and sequencers.

import assert from 'node:assert/strict'
import { AbortError, Held, Lock } from 'zkrecipes'
import { collectGarbage, isPending, promise, rejection, rejects, throws, untilContenders } from './world.mjs'

// --- read/write

promise('the sides of a read/write lock are locks with every verb', async (world) => {
  const lock = (await world.connect()).readWriteLock(world.path())
  const other = (await world.connect()).readWriteLock(world.path())
  assert.equal(lock.path, world.path())
  assert.equal(lock.read, lock.read, 'there is one handle for each side')
  for (const side of [lock.read, lock.write]) {
    assert.ok(side instanceof Lock)
    assert.equal(side.path, lock.path)
    assert.equal(await side.run((held) => held.isHeld && side.isHeld), true)
  }
  const held = await lock.write.acquire()
  assert.equal(await other.read.tryAcquire(), null)
  assert.equal(await other.write.tryAcquire(), null)
  await rejects(other.read.acquire({ timeout: 50 }), 'TIMEOUT')
  const reason = new Error('withdrawn')
  const controller = new AbortController()
  const withdrawn = other.read.acquire({ signal: controller.signal })
  await untilContenders(lock.read, 2)
  controller.abort(reason)
  assert.equal(await rejection(withdrawn), reason)
  const cancelled = other.write.acquire()
  await untilContenders(lock.read, 2)
  other.write.cancel()
  assert.ok((await rejection(cancelled)) instanceof AbortError)
  await held.release()
  await untilContenders(lock.read, 0)
})

promise('a downgrade works although nobody keeps the lock, and what it leads to is kept by the read side', async (world) => {
  const client = await world.connect()
  const writing = await client.readWriteLock(world.path()).write.acquire()
  const collect = async () => {
    for (let round = 0; round < 5; round++) {
      collectGarbage()
      await new Promise(setImmediate)
    }
  }
  await collect()
  const reading = await writing.downgrade()
  await collect()
  assert.equal(reading.isHeld, true)
  await reading.release()
  const lock = client.readWriteLock(world.path())
  await lock.write.acquire()
  await lock.write.downgrade()
  await collect()
  assert.equal(lock.read.isHeld, true)
  await lock.read.release()
})

// --- several locks

promise('several locks are all held, with their tokens in the order of the paths', async (world) => {
  const client = await world.connect()
  const names = ['b', 'a', 'c'].map((name) => world.path(name))
  const lock = client.multiLock(names.map((path) => client.lock(path)))
  assert.deepEqual(lock.paths, [...names].sort())
  assert.equal(lock.isHeld, false)
  for (const speak of [() => lock.fencingToken, () => lock.fencingTokens, () => lock.guarded(), () => lock.onLost(() => {})]) {
    throws(speak, 'NOT_HELD')
  }
  await rejects(lock.verify(), 'NOT_HELD')
  const held = await lock.acquire()
  assert.ok(held instanceof Held)
  assert.equal(held.fencingTokens.length, 3)
  assert.equal(held.fencingTokens[0], held.fencingToken)
  assert.deepEqual(lock.fencingTokens, held.fencingTokens)
  assert.equal(lock.fencingToken, held.fencingToken)
  assert.equal(held.permits, 3)
  assert.equal(lock.isHeld, true)
  await lock.verify()
  const other = await world.connect()
  for (const path of names) assert.equal(await other.lock(path).tryAcquire(), null)
  await lock.guarded().create(world.path('data'), 'x').commit()
  await lock.release()
  assert.equal(held.isHeld, false)
  await rejects(lock.release(), 'NOT_HELD')
  for (const path of names) await (await other.lock(path).tryAcquire()).release()
})

promise('a multi-lock of nothing, of the same twice or of others is INVALID', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const lock = client.lock(world.path())
  const bad = [
    undefined, null, 7, {}, lock, [], [null], [undefined], new Array(2), ['/a'], [{}],
    [lock, lock], [lock, client.lock(world.path())],
    [other.lock(world.path())], [client.readWriteLock(world.path()).write], [client.semaphore(world.path('s'), 1)],
    [client.multiLock([lock])],
  ]
  for (const locks of bad) assert.match(throws(() => client.multiLock(locks), 'INVALID').message, /\blocks\b/)
})

// --- sequencers

promise('aborting the watch of a sequencer rejects with the reason', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const held = await client.lock(world.path()).acquire()
  const controller = new AbortController()
  const reason = new Error('withdrawn')
  const watching = other.watchSequencer(held.sequencer, { signal: controller.signal })
  assert.ok(await isPending(watching))
  controller.abort(reason)
  assert.equal(await rejection(watching), reason)
  assert.equal(await rejection(other.watchSequencer(held.sequencer, { signal: AbortSignal.abort(reason) })), reason)
  await held.release()
})

promise('closing the client ends the watch of a sequencer with CLOSED', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const held = await client.lock(world.path()).acquire()
  const watching = rejection(other.watchSequencer(held.sequencer))
  assert.ok(await isPending(watching))
  await other.close()
  assert.equal((await watching).code, 'CLOSED')
  await held.release()
})

promise('a malformed sequencer is INVALID and named', async (world) => {
  const client = await world.connect()
  const bad = ['', '1', 'x', '1:2', '2:5:/a/b', '1:x:/a', '1:-4:/a', '1:5:a', '1:5:/a//b', '1:5:/\ud800', 7, null, undefined, {}]
  for (const sequencer of bad) {
    for (const verb of ['checkSequencer', 'watchSequencer']) {
      assert.match((await rejects(client[verb](sequencer), 'INVALID')).message, /\bsequencer\b/)
    }
  }
  assert.match((await rejects(client.watchSequencer('1:5:/a/b', { timeout: -5 }), 'INVALID')).message, /\btimeout\b/)
})
