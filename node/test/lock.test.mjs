import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { inspect } from 'node:util'
import ts from 'typescript'
import { AbortError, Held, ZkRecipesError } from 'zkrecipes'
import { promise, rejection, rejects, throws, until, untilContenders } from './world.mjs'

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')

promise('calls that were made one after the other are served in that order', async (world) => {
  const client = await world.connect()
  // Each path is new once, and known then.
  for (let round = 0; round < 40; round++) {
    const locks = Array.from({ length: 8 }, () => client.lock(world.path(`order-${round % 20}`)))
    const tokens = await Promise.all(locks.map((lock) => lock.run(({ fencingToken }) => fencingToken)))
    assert.deepEqual(tokens, [...tokens].sort((a, b) => (a < b ? -1 : 1)))
  }
})

promise('an acquisition carries its token, its node and its path, and a release ends it', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  assert.ok(held instanceof Held)
  assert.equal(typeof held.fencingToken, 'bigint')
  assert.ok(held.fencingToken > 0n)
  assert.equal(held.path, lock.path)
  assert.ok(held.node.startsWith(`${lock.path}/`), held.node)
  assert.ok(held.sequencer.length > 0)
  assert.equal(held.isHeld, true)
  await held.verify()
  await held.release()
  assert.equal(held.isHeld, false)
  assert.deepEqual(await lock.contenders(), [])
})

promise('isHeld is false at once when a release begins', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  const released = held.release()
  assert.equal(held.isHeld, false)
  assert.equal(lock.isHeld, false)
  await released
})

promise('of two releases in one tick the first lets go and the second is NOT_HELD', async (world) => {
  const lock = await world.lock()
  for (let round = 0; round < 20; round++) {
    const held = await lock.acquire()
    const [first, second, left] = [held.release(), held.release(), held[asyncDispose]()]
    await rejects(second, 'NOT_HELD')
    await first
    await left
  }
})

promise('tryAcquire answers null while somebody else holds, and leaves no contender', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  const held = await mine.tryAcquire()
  assert.ok(held instanceof Held)
  assert.equal(await yours.tryAcquire(), null)
  assert.equal((await mine.contenders()).length, 1)
  await held.release()
  await (await yours.tryAcquire()).release()
})

promise('running out of time rejects with TIMEOUT and leaves nothing', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  await mine.acquire()
  for (const timeout of [0, 50]) {
    const error = await rejects(yours.acquire({ timeout }), 'TIMEOUT')
    assert.ok(error instanceof ZkRecipesError)
    assert.equal(error.name, 'ZkRecipesError')
    assert.equal(error.retryable, true)
    assert.equal(error.path, yours.path)
    assert.match(error.stack, /lock\.test\.mjs/, 'the stack leads to the caller')
  }
  await untilContenders(mine, 1)
})

promise('an acquire that waits for what its own handle keeps is told of', async (world) => {
  const told = []
  const listen = ({ name, message }) => name === 'ZkRecipesWarning' && message.includes('its own handle') && told.push(message)
  process.on('warning', listen)
  const lock = await world.lock()
  await lock.acquire()
  const second = lock.acquire()
  await until(() => told.length > 0, 'it is told')
  process.off('warning', listen)
  assert.ok(told[0].includes(lock.path), told[0])
  await lock.release()
  await (await second).release()
}, { embeddedOnly: true })

promise('a handle speaks for what it holds, and throws NOT_HELD when that is nothing', async (world) => {
  const lock = await world.lock()
  assert.equal(lock.isHeld, false)
  throws(() => lock.fencingToken, 'NOT_HELD')
  throws(() => lock.guarded(), 'NOT_HELD')
  throws(() => lock.onLost(() => {}), 'NOT_HELD')
  await rejects(lock.verify(), 'NOT_HELD')
  await rejects(lock.release(), 'NOT_HELD')
  await rejects(lock.release({ wait: false }), 'NOT_HELD')
  const held = await lock.acquire()
  assert.equal(lock.isHeld, true)
  assert.equal(lock.fencingToken, held.fencingToken)
  await lock.verify()
  await lock.release()
  assert.equal(held.isHeld, false)
  await rejects(lock.release(), 'NOT_HELD')
})

promise('await using releases at the end of its block', async (world) => {
  // Node 20 cannot read the syntax yet; compilers write it with Symbol.asyncDispose.
  const source = 'export default async (lock) => { await using held = await lock.acquire(); return held }'
  const { outputText } = ts.transpileModule(source, { compilerOptions: { target: 'es2022', module: 'esnext' } })
  const { default: block } = await import(`data:text/javascript,${encodeURIComponent(outputText)}`)
  const lock = await world.lock()
  const held = await block(lock)
  assert.ok(held instanceof Held)
  assert.equal(held.isHeld, false)
  assert.deepEqual(await lock.contenders(), [])
})

promise('run holds during its body, gives back its result, and releases', async (world) => {
  const lock = await world.lock()
  const result = await lock.run(async (held) => {
    assert.equal(held.isHeld, true)
    return held.fencingToken
  })
  assert.equal(typeof result, 'bigint')
  assert.equal(await lock.run(() => 'at once'), 'at once')
  assert.deepEqual(await lock.contenders(), [])
})

promise('run releases when the body throws, and throws the same', async (world) => {
  const lock = await world.lock()
  const mine = new Error('mine')
  const thrown = await rejection(lock.run(() => Promise.reject(mine)))
  assert.equal(thrown, mine)
  assert.equal(await rejection(lock.run(() => { throw mine })), mine)
  assert.deepEqual(await lock.contenders(), [])
})

promise('run is silent when the body has released', async (world) => {
  const lock = await world.lock()
  assert.equal(await lock.run(async (held) => (await held.release(), 7)), 7)
})

promise('run hands timeout and signal to the waiting', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  await mine.acquire()
  await rejects(yours.run(() => assert.fail('it ran'), { timeout: 0 }), 'TIMEOUT')
  const reason = new Error('withdrawn')
  assert.equal(await rejection(yours.run(() => {}, { signal: AbortSignal.abort(reason) })), reason)
  assert.equal((await mine.contenders()).length, 1)
})

promise('run rejects with LOST when the body succeeded but the lock was lost', async (world) => {
  const lock = await world.lock()
  const other = await world.connect()
  const error = await rejects(
    lock.run(async (held) => {
      await other.nodes.delete(held.node)
      await until(() => !held.isHeld, 'the loss is noticed')
      return 'result'
    }),
    'LOST',
  )
  assert.equal(error.reason, 'deleted')
})

promise('run never masks the error of its body, not even with a loss', async (world) => {
  const lock = await world.lock()
  const other = await world.connect()
  const mine = new Error('mine')
  const thrown = await rejection(
    lock.run(async (held) => {
      await other.nodes.delete(held.node)
      await until(() => !held.isHeld, 'the loss is noticed')
      throw mine
    }),
  )
  assert.equal(thrown, mine)
})

promise('a loss is told once, to the callbacks and to the signal, with its reason', async (world) => {
  const lock = await world.lock()
  const other = await world.connect()
  const held = await lock.acquire()
  const told = []
  held.onLost((error) => told.push(error))
  lock.onLost((error) => told.push(error))
  held.onLost(() => assert.fail('it had unsubscribed'))()
  const { signal } = held
  assert.equal(held.signal, signal, 'there is one signal')
  assert.equal(signal.aborted, false)
  await other.nodes.delete(held.node)
  await until(() => signal.aborted, 'the signal aborts')
  assert.ok(signal.reason instanceof ZkRecipesError)
  assert.equal(signal.reason.code, 'LOST')
  assert.equal(signal.reason.reason, 'deleted')
  await until(() => told.length === 2, 'both callbacks are told')
  assert.deepEqual(told, [signal.reason, signal.reason])
  assert.equal(held.isHeld, false)
  const again = await new Promise((resolve) => held.onLost(resolve))
  assert.equal(again, signal.reason, 'who asks later is told at once')
  held.onLost(() => assert.fail('it had unsubscribed'))()
  await rejects(held[asyncDispose](), 'LOST')
  assert.equal(told.length, 2)
})

promise('a callback runs in the asynchronous context in which it was given', async (world) => {
  const context = new AsyncLocalStorage()
  const client = await world.connect()
  const held = await client.lock(world.path()).acquire()
  const told = context.run('request 7', () => [
    new Promise((resolve) => held.onLost(() => resolve(context.getStore()))),
    new Promise((resolve) => client.onState(() => resolve(context.getStore()))),
  ])
  await client.close()
  assert.deepEqual(await Promise.all(told), ['request 7', 'request 7'])
})

promise('a signal that is first asked for after the loss is aborted', async (world) => {
  const lock = await world.lock()
  const other = await world.connect()
  const held = await lock.acquire()
  await other.nodes.delete(held.node)
  await new Promise((resolve) => held.onLost(resolve))
  assert.equal(held.signal.aborted, true)
  assert.equal(held.signal.reason.code, 'LOST')
})

promise('a release aborts no signal and tells no callback', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  const { signal } = held
  held.onLost(() => assert.fail('a release is no loss'))
  await held.release()
  await lock.acquire()
  await lock.release()
  assert.equal(signal.aborted, false)
})

promise('a callback that throws is reported and stops nothing', async (world) => {
  const warnings = []
  const hear = (warning) => warnings.push(warning)
  process.on('warning', hear)
  try {
    const lock = await world.lock()
    const other = await world.connect()
    const held = await lock.acquire()
    held.onLost(() => { throw new Error('thrown on purpose') })
    held.onLost(() => Promise.reject(new Error('rejected on purpose')))
    const told = new Promise((resolve) => held.onLost(resolve))
    await other.nodes.delete(held.node)
    await told
    const reports = () => warnings.filter(({ message }) => message.includes('callback'))
    await until(() => reports().length === 2, 'both are reported')
    assert.ok(warnings.every((warning) => warning.name === 'ZkRecipesWarning'))
    assert.match(reports()[0].message, /onLost callback threw: Error: thrown on purpose/)
    assert.match(reports()[1].message, /onLost callback threw: Error: rejected on purpose/)
  } finally {
    process.off('warning', hear)
  }
})

promise('cancel wakes the waits in progress with an AbortError, and no later one', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  const held = await mine.acquire()
  yours.cancel()
  const waits = [rejection(yours.acquire()), rejection(yours.acquire({ timeout: 60_000 }))]
  await untilContenders(mine, 2)
  yours.cancel()
  for (const error of await Promise.all(waits)) {
    assert.ok(error instanceof AbortError)
    assert.equal(error.name, 'AbortError')
    assert.equal(error.code, 'ABORT_ERR')
    assert.equal(error.path, yours.path)
  }
  await untilContenders(mine, 1)
  const later = yours.acquire()
  await untilContenders(mine, 2)
  await held.release()
  await (await later).release()
})

promise('cancel right after acquire reaches it', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  await mine.acquire()
  const wait = yours.acquire()
  yours.cancel()
  await rejects(wait, 'ABORT_ERR')
  await untilContenders(mine, 1)
})

promise('console.log shows what it is and how it stands, and nothing secret', async (world) => {
  const client = await world.connect()
  const lock = client.lock('/locks/shown')
  const held = await lock.acquire()
  assert.equal(inspect(held), `Held { path: '/locks/shown', fencingToken: ${held.fencingToken}n, permits: 1, isHeld: true }`)
  assert.equal(inspect(lock), `Lock { path: '/locks/shown', fencingToken: ${held.fencingToken}n, isHeld: true }`)
  assert.match(inspect([held]), /^\[\s+Held \{/)
  for (const subscription of [client.onState(() => {}), lock.onWait(() => {}), held.onLost(() => {})]) {
    assert.equal(inspect(subscription), '[Function: unsubscribe]')
  }
  await held.release()
  assert.match(inspect(held), /isHeld: false/)
  assert.equal(inspect(lock), "Lock { path: '/locks/shown', isHeld: false }")
  const feed = client.config('/config/shown').watch()
  assert.equal(inspect(feed), "Feed { path: '/config/shown', isOver: false }")
  await feed.return()
  assert.match(inspect(feed), /isOver: true/)
  assert.match(inspect(client.nodes.watch('/shown')), /^Feed \{ path: '\/shown'/)
  const commits = client.twoPhaseCommit('/commits/shown')
  assert.equal(inspect(commits), "TwoPhaseCommit { path: '/commits/shown', mode: 'coordinator' }")
  await commits.join('a')
  assert.equal(inspect(await commits.begin('t1', ['a'], 'secret', 10000)), "CommitTransaction { id: 't1', sites: [ 'a' ] }")
  assert.equal(inspect(await commits.next()), "Proposal { id: 't1', sites: [ 'a' ], hasVoted: false }")
  const session = `sessionId: 0x${client.sessionId.toString(16)}`
  const [address] = world.hosts.split('/')
  assert.ok(inspect(client).replace(/\s+/g, ' ').startsWith(`Client { hosts: '${address}`), inspect(client))
  assert.ok(inspect(client).includes("state: 'connected'") && inspect(client).includes(session), inspect(client))
  await client.close()
  assert.match(inspect(client), /state: 'closed'/)
  assert.match(inspect(world.server), /^EmbeddedServer \{ connectString: '/)
}, { embeddedOnly: true })
