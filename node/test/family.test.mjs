// The rest of the lock family: read/write locks, several locks at once, and sequencers.

import assert from 'node:assert/strict'
import { AbortError, Held, Lock } from 'zkrecipes'
import { collectGarbage, isPending, promise, rejection, rejects, throws, until, untilContenders } from './world.mjs'

// --- read/write

promise('readers share, and a writer waits for all of them and keeps later ones out', async (world) => {
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => world.connect()))
  const path = world.path()
  const readers = [await one.readWriteLock(path).read.acquire(), await two.readWriteLock(path).read.acquire()]
  const { write } = three.readWriteLock(path)
  const writing = write.acquire()
  await untilContenders(write, 3)
  const late = one.readWriteLock(path).read
  const reading = late.acquire()
  await untilContenders(write, 4)
  assert.deepEqual((await write.contenders()).map(({ kind, holds }) => [kind, holds]), [
    ['read', true], ['read', true], ['write', false], ['read', false],
  ])
  await readers[0].release()
  assert.ok(await isPending(writing))
  await readers[1].release()
  const held = await writing
  assert.ok(held.fencingToken > readers[1].fencingToken)
  assert.ok(await isPending(reading))
  await held.release()
  await (await reading).release()
})

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

promise('a writer who goes on as a reader stays inside with the same token', async (world) => {
  const lock = (await world.connect()).readWriteLock(world.path())
  const other = (await world.connect()).readWriteLock(world.path())
  const writing = await lock.write.acquire()
  const waiting = other.write.acquire()
  await untilContenders(lock.read, 2)
  const reading = await writing.downgrade()
  assert.equal(reading.fencingToken, writing.fencingToken)
  assert.deepEqual([writing.isHeld, reading.isHeld, lock.write.isHeld, lock.read.isHeld], [false, true, false, true])
  await rejects(writing.release(), 'NOT_HELD')
  assert.ok(await isPending(waiting))
  await lock.read.release()
  await (await waiting).release()
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

promise('only what a writer holds can be downgraded, and one that is withdrawn leaves write as it was', async (world) => {
  const client = await world.connect()
  const lock = client.readWriteLock(world.path())
  const [plain, reading] = [await client.lock(world.path('plain')).acquire(), await lock.read.acquire()]
  for (const held of [plain, reading]) assert.match((await rejects(held.downgrade(), 'INVALID')).message, /writer/)
  await rejects(lock.write.downgrade(), 'NOT_HELD')
  await reading.release()
  const writing = await lock.write.acquire()
  await assert.rejects(writing.downgrade({ signal: AbortSignal.abort() }), { name: 'AbortError' })
  assert.equal(writing.isHeld, true)
  await writing.verify()
})

promise('through a handle that is shared each side waits for the other', async (world) => {
  const lock = (await world.connect()).readWriteLock(world.path())
  const writing = await lock.write.acquire()
  await rejects(lock.read.acquire({ timeout: 50 }), 'TIMEOUT')
  const waiting = lock.read.acquire()
  await untilContenders(lock.read, 2)
  await writing.release()
  const reading = await waiting
  assert.ok(reading.fencingToken > writing.fencingToken)
  assert.equal(await lock.write.tryAcquire(), null)
  await reading.release()
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

promise('a multi-lock that does not get all gives back what it got', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const [a, b] = ['a', 'b'].map((name) => world.path(name))
  const taken = await other.lock(b).acquire()
  const lock = client.multiLock([client.lock(a), client.lock(b)])
  assert.equal(await lock.tryAcquire(), null)
  await rejects(lock.acquire({ timeout: 50 }), 'TIMEOUT')
  const reason = new Error('withdrawn')
  const controller = new AbortController()
  const withdrawn = rejection(lock.acquire({ signal: controller.signal }))
  const cancelled = rejection(lock.acquire())
  await untilContenders(other.lock(b), 2)
  controller.abort(reason)
  assert.equal(await withdrawn, reason)
  await untilContenders(other.lock(b), 2)
  lock.cancel()
  assert.ok((await cancelled) instanceof AbortError)
  await untilContenders(other.lock(b), 1)
  await untilContenders(other.lock(a), 0)
  const waiting = lock.run((held) => held.fencingTokens.length)
  await untilContenders(other.lock(b), 2)
  await taken.release()
  assert.equal(await waiting, 2)
})

promise('multi-locks in opposite orders never wait for each other', async (world) => {
  const clients = [await world.connect(), await world.connect()]
  let inside = 0
  await Promise.all(
    clients.map(async (client, index) => {
      const locks = ['a', 'b'].map((name) => client.lock(world.path(name)))
      const both = client.multiLock(index ? locks.reverse() : locks)
      for (let round = 0; round < 10; round++) {
        await both.run(async () => {
          assert.equal(++inside, 1)
          await new Promise(setImmediate)
          inside--
        })
      }
    }),
  )
})

promise('losing one of several loses all', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const locks = ['a', 'b'].map((name) => client.lock(world.path(name)))
  const held = await client.multiLock(locks).acquire()
  const [{ node }] = await locks[1].contenders()
  await other.nodes.delete(`${locks[1].path}/${node}`)
  await until(() => held.signal.aborted, 'the loss is told')
  assert.equal(held.isHeld, false)
  await untilContenders(locks[0], 0)
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

promise('a sequencer is valid for anybody for as long as the acquisition stands', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const held = await client.lock(world.path()).acquire()
  const { sequencer } = held
  assert.equal(await other.checkSequencer(sequencer), true)
  let isOver = false
  const watching = other.watchSequencer(sequencer).then(() => (isOver = true))
  assert.ok(await isPending(watching))
  assert.equal(isOver, false)
  await held.release()
  await watching
  assert.equal(await other.checkSequencer(sequencer), false)
  await other.watchSequencer(sequencer)
})

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

promise('the family on a closed client is CLOSED', async (world) => {
  const client = await world.connect()
  const { read } = client.readWriteLock(world.path('rw'))
  const both = client.multiLock([client.lock(world.path('a'))])
  const semaphore = client.semaphore(world.path('s'), 2)
  const held = await semaphore.acquire()
  await client.close()
  assert.equal(held.isHeld, false)
  assert.equal(semaphore.permits, 2)
  for (const factory of [() => client.readWriteLock('/x'), () => client.semaphore('/x', 1)]) throws(factory, 'CLOSED')
  const verbs = [
    read.acquire(), read.revoke(), both.acquire(), both.tryAcquire(), semaphore.acquire(), semaphore.holders(), semaphore.resize(3),
    semaphore.contenders(), semaphore.revoke(), both.contenders(), both.revoke(),
    client.checkSequencer(held.sequencer), client.watchSequencer(held.sequencer),
  ]
  await Promise.all(verbs.map((verb) => rejects(verb, 'CLOSED')))
})
