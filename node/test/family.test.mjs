// The rest of the lock family: read/write locks, several locks at once, semaphores, revocation and sequencers.

import assert from 'node:assert/strict'
import { AbortError, Held, Lock, ZkRecipesError } from 'zkrecipes'
import { collectGarbage, promise, rejection, rejects, throws, until, untilCollected, untilContenders } from './world.mjs'

async function isPending(promised) {
  await new Promise((resolve) => setTimeout(resolve, 30))
  const pending = Symbol('pending')
  return (await Promise.race([promised, Promise.resolve(pending)])) === pending
}

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

promise('a writer who takes read and releases write stays inside with the same token', async (world) => {
  const lock = (await world.connect()).readWriteLock(world.path())
  const other = (await world.connect()).readWriteLock(world.path())
  const writing = await lock.write.acquire()
  const waiting = other.write.acquire()
  await untilContenders(lock.read, 2)
  const reading = await lock.read.acquire()
  assert.equal(reading.fencingToken, writing.fencingToken)
  await writing.release()
  assert.equal(reading.isHeld, true)
  assert.ok(await isPending(waiting))
  await reading.release()
  await (await waiting).release()
})

promise('a downgrade works although nobody keeps the write handle', async (world) => {
  const client = await world.connect()
  const side = async () => {
    const { read, write } = client.readWriteLock(world.path())
    return { read, writing: await write.acquire() }
  }
  const { read, writing } = await side()
  for (let round = 0; round < 5; round++) {
    collectGarbage()
    await new Promise(setImmediate)
  }
  const reading = await read.acquire({ timeout: 5000 })
  assert.equal(reading.fencingToken, writing.fencingToken)
  await writing.release()
  await reading.release()
})

promise('taking write while read is held is INVALID', async (world) => {
  const lock = (await world.connect()).readWriteLock(world.path())
  const reading = await lock.read.acquire()
  for (const attempt of [() => lock.write.acquire(), () => lock.write.tryAcquire(), () => lock.write.acquire({ timeout: 5000 })]) {
    assert.match((await rejects(attempt(), 'INVALID')).message, /upgrade/)
  }
  assert.equal(reading.isHeld, true)
  await reading.release()
  await (await lock.write.acquire()).release()
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

// --- semaphore

promise('a semaphore gives so many permits and no more', async (world) => {
  const [one, two] = [await world.connect(), await world.connect()]
  const mine = one.semaphore(world.path(), 3)
  const yours = two.semaphore(world.path(), 3)
  assert.equal(mine.path, world.path())
  assert.equal(mine.permits, 3)
  const first = await mine.acquire(2)
  assert.ok(first instanceof Held)
  assert.equal(first.permits, 2)
  assert.equal(await yours.tryAcquire(2), null)
  const second = await yours.tryAcquire()
  assert.equal(second.permits, 1)
  await rejects(yours.acquire({ timeout: 50 }), 'TIMEOUT')
  await rejects(mine.acquire(1, { timeout: 0 }), 'TIMEOUT')
  const waiting = yours.acquire({ n: 2 })
  assert.ok(await isPending(waiting))
  await first.release()
  await (await waiting).release()
  await second.release()
  await until(async () => (await mine.holders()).length === 0, 'nobody holds')
})

promise('several acquisitions through one semaphore handle are held at once, and release gives back the last', async (world) => {
  const semaphore = (await world.connect()).semaphore(world.path(), 2)
  const first = await semaphore.acquire()
  const second = await semaphore.acquire()
  assert.equal(semaphore.isHeld, true)
  assert.equal(semaphore.fencingToken, second.fencingToken)
  await semaphore.verify()
  await semaphore.release()
  assert.deepEqual([first.isHeld, second.isHeld], [true, false])
  await semaphore.release()
  await rejects(semaphore.release(), 'NOT_HELD')
  throws(() => semaphore.fencingToken, 'NOT_HELD')
  throws(() => semaphore.guarded(), 'NOT_HELD')
})

promise('run holds permits during its body, as many at once as there are', async (world) => {
  const semaphore = (await world.connect()).semaphore(world.path(), 3)
  let inside = 0
  let most = 0
  await Promise.all(
    Array.from({ length: 9 }, () =>
      semaphore.run(async () => {
        most = Math.max(most, ++inside)
        await new Promise((resolve) => setTimeout(resolve, 5))
        inside--
      }),
    ),
  )
  assert.ok(most <= 3, `${most} were inside`)
  assert.equal(await semaphore.run((held) => held.permits, { n: 3, timeout: 5000 }), 3)
})

promise('holders tell who has permits, one entry each', async (world) => {
  const client = await world.connect({ identity: 'exporter' })
  const semaphore = client.semaphore(world.path(), 3)
  assert.deepEqual(await semaphore.holders(), [])
  const held = await semaphore.acquire(2)
  const holders = await semaphore.holders()
  assert.deepEqual(holders.map(({ identity, kind, holds }) => [identity, kind, holds]), Array(2).fill(['exporter', 'lease', true]))
  assert.ok(holders.every(({ sessionId, since }) => sessionId === client.sessionId && since instanceof Date))
  await held.release()
})

promise('aborting or cancelling the wait for permits leaves nothing', async (world) => {
  const [one, two] = [await world.connect(), await world.connect()]
  const held = await one.semaphore(world.path(), 1).acquire()
  const semaphore = two.semaphore(world.path(), 1)
  const reason = new Error('withdrawn')
  const controller = new AbortController()
  const withdrawn = rejection(semaphore.acquire(1, { signal: controller.signal }))
  const cancelled = rejection(semaphore.acquire())
  const queue = two.lock(`${world.path()}/locks`)
  await until(async () => (await queue.contenders()).length > 0, 'one queues')
  controller.abort(reason)
  assert.equal(await withdrawn, reason)
  semaphore.cancel()
  assert.ok((await cancelled) instanceof AbortError)
  await untilContenders(queue, 0)
  assert.equal((await semaphore.holders()).length, 1)
  await held.release()
})

promise('aborting at any moment of taking permits leaves none taken', async (world) => {
  const semaphore = (await world.connect()).semaphore(world.path(), 2)
  for (let pause = 0; pause < 60; pause += 2) {
    const controller = new AbortController()
    const taken = semaphore.acquire(2, { signal: controller.signal })
    for (let turn = 0; turn < pause; turn++) await new Promise(setImmediate)
    controller.abort()
    const held = await taken.catch((error) => assert.equal(error, controller.signal.reason))
    await held?.release()
  }
  await until(async () => (await semaphore.holders()).length === 0, 'no permit is left')
})

promise('permits that nobody refers to any more are given back', async (world) => {
  const [client, other] = [await world.connect(), (await world.connect()).semaphore(world.path(), 1)]
  await (async () => void (await client.semaphore(world.path(), 1).acquire()))()
  assert.equal((await other.holders()).length, 1)
  let free = false
  const waiting = other.acquire().then((held) => ((free = true), held))
  await untilCollected(() => free, 'the permit is free')
  await (await waiting).release()
})

promise('handles that disagree about the permits get MISMATCH, and a resize is for everybody', async (world) => {
  const [one, two] = [await world.connect(), await world.connect()]
  const [mine, yours] = [one.semaphore(world.path(), 2), two.semaphore(world.path(), 3)]
  const held = await mine.acquire(2)
  assert.match((await rejects(yours.acquire(), 'MISMATCH')).message, /3 permits/)
  await mine.resize(3)
  assert.equal(mine.permits, 3)
  await (await yours.acquire({ timeout: 5000 })).release()
  await held.release()
})

promise('a number of permits that cannot be is INVALID and named', async (world) => {
  const client = await world.connect()
  const semaphore = client.semaphore(world.path(), 2)
  for (const permits of [undefined, null, 0, -1, 0.5, NaN, Infinity, 2 ** 31, '2', 2n, {}, []]) {
    assert.match(throws(() => client.semaphore(world.path(), permits), 'INVALID').message, /\bpermits\b/)
    assert.match((await rejects(semaphore.resize(permits), 'INVALID')).message, /\bpermits\b/)
  }
  for (const n of [null, 0, -1, 0.5, NaN, Infinity, 3, 2 ** 31, '1', 1n, true]) {
    assert.match((await rejects(semaphore.acquire(n), 'INVALID')).message, /\bn\b/)
    assert.match((await rejects(semaphore.acquire(n, { timeout: 0 }), 'INVALID')).message, /\bn\b/)
    assert.match((await rejects(semaphore.acquire({ n }), 'INVALID')).message, /\bn\b/)
    assert.match((await rejects(semaphore.tryAcquire(n), 'INVALID')).message, /\bn\b/)
    assert.match((await rejects(semaphore.run(() => assert.fail('it ran'), { n }), 'INVALID')).message, /\bn\b/)
  }
  assert.match((await rejects(semaphore.acquire({}, { timeout: 0 }), 'INVALID')).message, /\bn\b/)
  for (const options of [{ timeout: -1 }, { timeout: 'soon' }]) {
    assert.match((await rejects(semaphore.acquire(options), 'INVALID')).message, /\btimeout\b/)
    assert.match((await rejects(semaphore.acquire(1, options), 'INVALID')).message, /\btimeout\b/)
  }
  assert.match((await rejects(semaphore.acquire({ colour: 1 }), 'INVALID')).message, /\bcolour\b/)
  assert.match((await rejects(semaphore.acquire(1, { n: 1 }), 'INVALID')).message, /\bn\b/)
  assert.deepEqual(await semaphore.holders(), [])
})

promise("a semaphore under kazoo's naming keeps its permits where kazoo looks for them", async (world) => {
  const client = await world.connect({ naming: 'kazoo' })
  const semaphore = client.semaphore(world.path(), 2)
  const held = await semaphore.acquire(2)
  const children = await client.nodes.children(world.path())
  const nodes = (await semaphore.holders()).map(({ node }) => node)
  assert.equal(new Set(nodes).size, 2)
  for (const node of nodes) {
    assert.match(node, /^[0-9a-f]{32}$/)
    assert.ok(children.includes(node), children.join())
  }
  await held.release()
  await until(async () => (await semaphore.holders()).length === 0, 'nobody holds')
})

// --- revocation

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

promise('a holder that does not let go in time loses its node and is told', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  const held = await mine.acquire()
  const late = held.guarded().create(world.path('data'), 'late')
  const { signal } = held
  assert.equal(await yours.revoke({ forceAfter: 50 }), true)
  await until(() => signal.aborted, 'the loss is told')
  assert.equal(signal.reason.code, 'LOST')
  assert.equal(signal.reason.reason, 'revoked')
  await rejects(late.commit(), 'NOT_HELD')
  await (await yours.acquire({ timeout: 5000 })).release()
})

promise('a holder that lets go in time keeps its word, and revoke waits no longer', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  const held = await mine.acquire()
  held.signal.addEventListener('abort', () => assert.fail('it was lost'))
  held.onRevoke(() => held.release())
  const began = Date.now()
  assert.equal(await yours.revoke(undefined, { forceAfter: 30_000 }), true)
  assert.ok(Date.now() - began < 20_000)
  await untilContenders(mine, 0)
})

promise('a waiter can be asked too, by its node', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  const held = await mine.acquire()
  const waiting = yours.acquire()
  await untilContenders(mine, 2)
  const [, { node }] = await mine.contenders()
  assert.equal(await mine.revoke(node, { forceAfter: 0 }), true)
  await until(async () => (await mine.contenders()).every((contender) => contender.node !== node), 'its node is gone')
  await held.release()
  await (await waiting).release()
})

promise('an aborted signal ends the wait of a revocation, and nobody is forced', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  const held = await mine.acquire()
  const controller = new AbortController()
  const reason = new Error('withdrawn')
  const revoking = yours.revoke({ forceAfter: 300, signal: controller.signal })
  await new Promise((resolve) => held.onRevoke(resolve))
  controller.abort(reason)
  assert.equal(await rejection(revoking), reason)
  await new Promise((resolve) => setTimeout(resolve, 400))
  await held.verify()
  await held.release()
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
