import assert from 'node:assert/strict'
import { EmbeddedServer, EmbeddedZookeeper, embeddedZookeeper } from 'zkrecipes/testing'
import { promise, rejects, throws } from './world.mjs'

const embeddedOnly = { embeddedOnly: true }

promise('a server tells where it is, and what was asked of it', async (world) => {
  const { server } = world
  assert.equal(server.connectString, `127.0.0.1:${server.port}`)
  const client = await world.connect()
  await client.nodes.ensure('/a/b')
  server.clearLog()
  await client.nodes.set('/a/b', 'data')
  assert.equal(server.count('setData'), 1)
  assert.equal(server.count('setData', '/a/*'), 1)
  assert.equal(server.count('setData', '/x/**'), 0)
  const entry = server.log().find(({ op }) => op === 'setData')
  assert.equal(entry.path, '/a/b')
  assert.equal(entry.sessionId, client.sessionId)
  assert.equal(entry.error, 0)
  assert.equal(entry.outcome, 'answered')
  assert.ok(entry.zxid > 0n)
  await client.nodes.transaction().check('/a').set('/a/b', '').commit()
  assert.deepEqual(server.log().at(-1).parts, [{ op: 'check', path: '/a' }, { op: 'setData', path: '/a/b' }])
  assert.deepEqual(server.nodes(), ['/', '/a', '/a/b'].slice(server.nodes().includes('/') ? 0 : 1))
  assert.deepEqual(server.sessions(), [client.sessionId])
  assert.equal(server.connections(), 1)
  assert.equal(server.watchCount(), 0)
}, embeddedOnly)

promise('faults are ordered by text, and a bad one is INVALID', async (world) => {
  const { server } = world
  const client = await world.connect()
  await client.nodes.ensure('/a')
  const fault = server.inject('drop_after setData path=/a')
  assert.equal(server.faultFired(fault), false)
  await client.nodes.set('/a', 'x').catch((error) => assert.equal(error.code, 'CONNECTION_LOST'))
  assert.equal(server.faultFired(fault), true)
  const error = throws(() => server.inject('drop_everything'), 'INVALID')
  assert.match(error.message, /drop_everything/)
  server.inject('drop_before delete')
  server.clearFaults()
  await client.nodes.delete('/a')
}, embeddedOnly)

promise('the next sequence number can be set', async (world) => {
  const { nodes } = await world.connect()
  await nodes.ensure('/s')
  assert.equal(world.server.setNextSequence('/s', 41), true)
  assert.equal(world.server.setNextSequence('/none', 41), false)
  assert.equal(await nodes.create('/s/x-', '', 'persistent_sequential'), '/s/x-0000000041')
  throws(() => world.server.setNextSequence('/s', 2 ** 31), 'INVALID')
  throws(() => world.server.setNextSequence('/s'), 'INVALID')
}, embeddedOnly)

promise('options reach the server', async () => {
  const server = EmbeddedServer.start({ tick: 100, minSessionTimeout: 300, maxSessionTimeout: 700, dataLimit: 5000, emulate: '3.8' })
  try {
    const { Client } = await import('zkrecipes')
    const client = await Client.connect(server.connectString, { sessionTimeout: 60_000 })
    assert.equal(client.sessionTimeout, 700)
    await client.close()
    throws(() => EmbeddedServer.start({ port: server.port }), 'CONNECTION_LOST')
    for (const port of [-1, 65_536, 0.5, '1', null]) throws(() => EmbeddedServer.start({ port }), 'INVALID')
    for (const tick of [-1, NaN, Infinity, '1']) throws(() => EmbeddedServer.start({ tick }), 'INVALID')
  } finally {
    server.shutdown()
  }
}, embeddedOnly)

promise('a server that was shut down refuses clients, and can be let go of again', async () => {
  const server = EmbeddedServer.start()
  const { connectString } = server
  server[Symbol.dispose ?? Symbol.for('Symbol.dispose')]()
  server.shutdown()
  const { Client } = await import('zkrecipes')
  await rejects(Client.connect(connectString, { connectTimeout: 200 }), 'CONNECTION_LOST')
}, embeddedOnly)

promise('a server for a file wants a test runner, and lives between its hooks', async () => {
  for (const runner of [null, 'vitest', {}, { beforeEach() {}, afterEach() {}, beforeAll() {} }]) {
    assert.match(throws(() => embeddedZookeeper(runner), 'INVALID').message, /runner/)
  }
  // None of its hooks is global here.
  assert.match(throws(() => embeddedZookeeper(), 'INVALID').message, /embeddedZookeeper\(vitest\)/)
  throws(() => new EmbeddedZookeeper(), 'INVALID')

  const hooks = {}
  const runner = Object.fromEntries(['before', 'beforeEach', 'afterEach', 'after'].map((name) => [name, (run) => (hooks[name] = run)]))
  throws(() => embeddedZookeeper(runner, { tick: 5 }), 'INVALID')
  const zookeeper = embeddedZookeeper(runner)
  throws(() => zookeeper.server, 'INVALID')
  hooks.before()
  throws(() => zookeeper.client, 'INVALID')
  await hooks.beforeEach()
  const { client, server } = zookeeper
  const other = await zookeeper.connect()
  await other.lock('/locks/a').acquire()
  assert.deepEqual(server.nodes().filter((path) => /^\/test-1\/locks\/a$/.test(path)), ['/test-1/locks/a'])
  await hooks.afterEach()
  assert.deepEqual([client.state, other.state, server.sessions()], ['closed', 'closed', []])
  throws(() => zookeeper.client, 'INVALID')
  hooks.after()
}, embeddedOnly)
