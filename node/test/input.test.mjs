import assert from 'node:assert/strict'
import * as library from 'zkrecipes'
import { Client, Held, Lock, MultiLock, Nodes, ReadWriteLock, Semaphore, Transaction, ZkRecipesError } from 'zkrecipes'
import { EmbeddedServer, Ensemble, Proxy } from 'zkrecipes/testing'
import { promise, rejection, rejects, throws } from './world.mjs'

const BAD_PATHS = {
  relative: 'locks/report',
  empty: '',
  'with an empty name': '/locks//report',
  'with a trailing slash': '/locks/report/',
  'with .': '/locks/./report',
  'with ..': '/locks/../report',
  'with NUL': '/locks/re\0port',
  'with half a surrogate pair': '/locks/\ud800',
  'with the other half': '/locks/\udc00x',
  'with an emoji': '/locks/a😀',
  'with the first character beyond U+FFFF': '/locks/\u{10000}/report',
}
/** Every verb of a client that makes something at a path. */
const OTHER_VERBS = ['constructor', 'close', 'version', 'ref', 'unref', 'onState', 'updateHosts', 'multiLock', 'checkSequencer', 'watchSequencer', 'whoami']
const FACTORIES = Object.entries(Object.getOwnPropertyDescriptors(Client.prototype))
  .filter(([name, { value }]) => typeof value === 'function' && !OTHER_VERBS.includes(name))
  .map(([name]) => name)
/** Those take a number, too. */
const SIZED = ['semaphore', 'doubleBarrier', 'latch', 'partitioner']
const NOT_STRINGS = [undefined, null, 7, 7n, true, {}, [], Symbol('path'), () => '/locks', Buffer.from('/locks')]
const BAD_TIMEOUTS = [-1, -0.5, NaN, -Infinity, '5', null, 5n, {}, true]

function named(error, argument) {
  assert.ok(error instanceof ZkRecipesError)
  assert.equal(error.code, 'INVALID')
  assert.equal(error.retryable, false)
  assert.match(error.message, new RegExp(`\\b${argument}\\b`), 'the argument is named')
}

promise('a bad path is INVALID in every verb that takes one, and nothing is sent', async (world) => {
  const client = await world.connect()
  const { nodes } = client
  world.server.clearLog()
  for (const path of [...Object.values(BAD_PATHS), ...NOT_STRINGS]) {
    for (const factory of FACTORIES) named(throws(() => client[factory](path, SIZED.includes(factory) ? 1 : undefined), 'INVALID'), 'path')
    const verbs = ['create', 'get', 'set', 'delete', 'exists', 'children', 'ensure', 'deleteAll']
    for (const verb of verbs) named(await rejection(nodes[verb](path, ['create', 'set'].includes(verb) ? 'data' : undefined)), 'path')
    const transaction = nodes.transaction()
    for (const verb of ['create', 'set']) named(throws(() => transaction[verb](path, 'data'), 'INVALID'), 'path')
    for (const verb of ['delete', 'check']) named(throws(() => transaction[verb](path), 'INVALID'), 'path')
  }
  assert.equal(world.server.count('*', '/**'), 0)
}, { embeddedOnly: true })

promise('the root is neither created nor deleted', async (world) => {
  const { nodes } = await world.connect()
  for (const verb of [() => nodes.create('/', ''), () => nodes.delete('/'), () => nodes.deleteAll('/')]) {
    const error = await rejection(verb())
    named(error, 'path')
    assert.match(error.message, /is the root/)
  }
  for (const verb of [() => nodes.transaction().create('/', ''), () => nodes.transaction().delete('/')]) named(throws(verb, 'INVALID'), 'path')
})

promise('a path of 2 MB is refused before anything is sent', async (world) => {
  const client = await world.connect()
  world.server.clearLog()
  const path = `/${'x'.repeat(2_000_000)}`
  let error
  try {
    error = await rejection(client.lock(path).acquire())
  } catch (thrown) {
    error = thrown
  }
  assert.ok(['TOO_LARGE', 'INVALID'].includes(error.code), error.stack)
  assert.ok(error.message.length < 1000, 'the text stays readable')
  assert.ok(['TOO_LARGE', 'INVALID'].includes((await rejection(client.nodes.create(path))).code))
  assert.equal(world.server.count('*', '/**'), 0)
}, { embeddedOnly: true })

promise('a payload over the packet limit is TOO_LARGE, and the session goes on', async (world) => {
  const client = await world.connect()
  await rejects(client.nodes.create(world.path('big'), Buffer.alloc(2_000_000)), 'TOO_LARGE')
  assert.equal(client.state, 'connected')
  await client.nodes.ensure(world.path('small'))
})

promise('a payload of the wrong type is INVALID', async (world) => {
  const { nodes } = await world.connect()
  for (const data of [null, 7, {}, [], [1, 2], new Map(), Symbol('data'), 'half a pair \ud800']) {
    named(await rejection(nodes.create(world.path('node'), data)), 'data')
    named(await rejection(nodes.set(world.path('node'), data)), 'data')
    named(throws(() => nodes.transaction().create(world.path('node'), data), 'INVALID'), 'data')
  }
  for (const version of [-1, 0.5, '1', null, 2 ** 31, NaN]) {
    named(await rejection(nodes.set(world.path('node'), '', version)), 'version')
    named(await rejection(nodes.delete(world.path('node'), version)), 'version')
  }
  for (const mode of ['', 'eternal', 7, null]) named(await rejection(nodes.create(world.path('node'), '', mode)), 'mode')
})

promise('a bad timeout is INVALID in every verb that takes one', async (world) => {
  const client = await world.connect()
  const lock = client.lock(world.path())
  for (const timeout of BAD_TIMEOUTS) {
    named(await rejection(lock.acquire({ timeout })), 'timeout')
    named(await rejection(lock.run(() => assert.fail('it ran'), { timeout })), 'timeout')
    named(await rejection(client.close({ timeout })), 'timeout')
    for (const option of ['sessionTimeout', 'connectTimeout', 'serverTick']) {
      named(await rejection(Client.connect(world.hosts, { [option]: timeout })), option)
    }
    for (const option of ['base', 'max', 'giveUpAfter']) {
      named(await rejection(Client.connect(world.hosts, { retry: { [option]: timeout } })), 'retry')
    }
  }
  assert.equal(client.state, 'connected')
  assert.deepEqual(await lock.contenders(), [])
})

promise('timeouts without an end and in fractions are fine', async (world) => {
  const lock = await world.lock()
  for (const timeout of [undefined, Infinity, Number.MAX_VALUE, 1e15, 0.5e4, Number.MIN_VALUE + 5000]) {
    await (await lock.acquire({ timeout })).release()
  }
})

promise('an unknown option is INVALID and named', async (world) => {
  const client = await world.connect()
  const lock = client.lock(world.path())
  const unknown = { colour: 'blue' }
  named(await rejection(Client.connect(world.hosts, unknown)), 'colour')
  named(await rejection(Client.connect(world.hosts, { session_timeout: 5000 })), 'session_timeout')
  named(await rejection(Client.connect(world.hosts, { retry: unknown })), 'colour')
  named(await rejection(Client.connect(world.hosts, { auth: { scheme: 'digest', credential: 'a:b', ...unknown } })), 'colour')
  named(throws(() => client.lock(world.path(), unknown), 'INVALID'), 'colour')
  named(await rejection(lock.acquire(unknown)), 'colour')
  named(await rejection(lock.run(() => assert.fail('it ran'), unknown)), 'colour')
  named(await rejection(lock.release(unknown)), 'colour')
  named(await rejection(client.close(unknown)), 'colour')
  named(throws(() => EmbeddedServer.start(unknown), 'INVALID'), 'colour')
  assert.equal(client.state, 'connected')
})

promise('options that are no object are INVALID', async (world) => {
  const client = await world.connect()
  const lock = client.lock(world.path())
  for (const options of [null, 5000, 'fast', [], true]) {
    named(await rejection(Client.connect(world.hosts, options)), 'options')
    named(throws(() => client.lock(world.path(), options), 'INVALID'), 'options')
    named(await rejection(lock.acquire(options)), 'options')
    named(await rejection(lock.release(options)), 'options')
    named(await rejection(client.close(options)), 'options')
  }
})

promise('an option of a wrong type or value is INVALID and named', async (world) => {
  const bad = {
    sessionTimeout: [0, Infinity, 1e12],
    connectTimeout: [0],
    serverTick: [0, 5001, Infinity],
    maxInFlight: [0, 1.5, -1, '7', null],
    identity: ['', 7, null, 'x'.repeat(5000), '\ud800'],
    auth: [7, null, 'digest', { scheme: 'digest' }, { credential: 'a:b' }, { scheme: '', credential: 'a:b' }, { scheme: 'digest', credential: 'ab' }, [null]],
    acl: [7, null, 'nobody', [], [{}], [{ scheme: 'world', id: 'anyone', permissions: 'xyz' }], 'creator'],
    tls: [7, null, true, { ca: 7 }],
    sasl: [7, null, {}, { user: 'u' }],
    naming: [7, null, 'mine'],
    retry: [7, null, { base: 100, max: 50 }],
    lease: [7, null, 'eternal'],
    readOnly: [7, null, 'yes'],
  }
  for (const [option, values] of Object.entries(bad)) {
    for (const value of values) named(await rejection(Client.connect(world.hosts, { [option]: value })), option)
  }
  const client = await world.connect()
  for (const reentrant of [7, null, 'yes']) named(throws(() => client.lock('/x', { reentrant }), 'INVALID'), 'reentrant')
  for (const localHandoff of [-1, 0.5, 2 ** 32, 'some', null, NaN]) {
    named(throws(() => client.lock('/x', { localHandoff }), 'INVALID'), 'localHandoff')
  }
})

promise('a secret never reaches an error text', async (world) => {
  for (const auth of [{ scheme: 'digest', credential: 'user:hunter2\ud800' }, { scheme: '', credential: 'user:hunter2' }, { scheme: 'digest', credential: 'hunter2' }]) {
    const error = await rejection(Client.connect(world.hosts, { auth }))
    assert.doesNotMatch(error.stack, /hunter2/)
  }
})

promise('hosts of the wrong type or shape are INVALID', async () => {
  for (const hosts of [7, {}, [], true, 'host:notaport', 'host:2181/relative//', '\ud800', 'host:99999']) {
    named(await rejection(Client.connect(hosts, { connectTimeout: 2000 })), 'hosts')
  }
}, { embeddedOnly: true })

promise('a callback, body or signal that is none is INVALID', async (world) => {
  const client = await world.connect()
  const lock = client.lock(world.path())
  const held = await lock.acquire()
  for (const callback of [undefined, null, 7, {}]) {
    named(throws(() => client.onState(callback), 'INVALID'), 'callback')
    named(throws(() => held.onLost(callback), 'INVALID'), 'callback')
    named(throws(() => lock.onLost(callback), 'INVALID'), 'callback')
    named(await rejection(lock.run(callback)), 'body')
  }
  for (const signal of [null, 7, {}, new AbortController(), new EventTarget()]) {
    named(await rejection(lock.acquire({ signal })), 'signal')
  }
  for (const wait of [null, 0, 'no']) named(await rejection(held.release({ wait })), 'wait')
  assert.equal(held.isHeld, true)
  assert.equal((await lock.contenders()).length, 1)
})

promise('everything on a closed client is CLOSED or says so, and nothing crashes', async (world) => {
  const client = await world.connect()
  const lock = client.lock(world.path())
  const held = await lock.acquire()
  const { nodes } = client
  await client.close()
  assert.equal(client.state, 'closed')
  assert.equal(client.leaseRemaining, 0)
  assert.equal(typeof client.sessionId, 'bigint')
  assert.equal(lock.isHeld, false)
  assert.equal(held.isHeld, false)
  assert.equal(typeof held.fencingToken, 'bigint')
  await rejects(lock.acquire(), 'CLOSED')
  await rejects(lock.tryAcquire(), 'CLOSED')
  await rejects(lock.run(() => assert.fail('it ran')), 'CLOSED')
  await rejects(lock.contenders(), 'CLOSED')
  await rejects(nodes.get('/'), 'CLOSED')
  await rejects(nodes.transaction().check('/').commit(), 'CLOSED')
  for (const verb of [() => held.verify(), () => held.downgrade(), () => held.release(), () => lock.release()]) {
    const error = await rejection(verb())
    assert.ok(['CLOSED', 'LOST', 'NOT_HELD'].includes(error.code), error.stack)
  }
  // A handle is made all the same: what can fail for that reason rejects.
  const made = Object.fromEntries(FACTORIES.map((factory) => {
    return [factory, client[factory](world.path(), SIZED.includes(factory) ? 1 : undefined)]
  }))
  const verbs = ['acquire', 'get', 'wait', 'enter', 'members', 'list', 'pending', 'names']
  for (const [factory, handle] of Object.entries(made)) {
    const side = factory === 'readWriteLock' ? handle.read : handle
    const verb = verbs.find((verb) => verb in side)
    assert.ok(verb, `${factory} has none of the verbs`)
    await rejects(side[verb](), 'CLOSED')
  }
  const callbacks = [() => client.onState(() => {}), () => held.onRevoke(() => {}), () => lock.onWait(() => {})]
  for (const verb of callbacks) throws(verb, 'CLOSED')
  assert.equal((await new Promise((resolve) => held.onLost(resolve))).reason, 'closed')
  await client.close()
})

promise('only the library makes its handles', async () => {
  for (const Handle of [
    Client, Held, Lock, MultiLock, Nodes, ReadWriteLock, Semaphore, Transaction, EmbeddedServer, Ensemble, Proxy,
  ]) throws(() => new Handle(), 'INVALID')
}, { embeddedOnly: true })

promise('a method without its object is refused, and that is no bug of ours', async () => {
  const refused = new Set()
  for (const { prototype } of Object.values(library).filter((exported) => exported.prototype instanceof Object || exported === Client)) {
    for (let type = prototype; type !== Object.prototype && type !== Error.prototype; type = Object.getPrototypeOf(type)) {
      for (const [name, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(type))) {
        const method = get ?? value
        if (name === 'constructor' || typeof method !== 'function') continue
        for (const self of [undefined, {}, process]) {
          const error = await (async () => method.call(self))().then(() => undefined, (error) => error)
          if (error) refused.add(error.code ?? error.name)
        }
      }
    }
  }
  assert.deepEqual([...refused].sort(), ['INVALID', 'TypeError'])
})
