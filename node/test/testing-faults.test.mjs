// The parts of the testing kit that make bad weather: faults of every kind, the proxy, and the ensemble.

import assert from 'node:assert/strict'
import { Client } from 'zkrecipes'
import { EmbeddedServer, Ensemble, Proxy } from 'zkrecipes/testing'
import { promise, rejects, throws, until } from './world.mjs'

const embeddedOnly = { embeddedOnly: true }
const longest = 20_000

/** A proxy in front of the world's server, and a client behind it. */
async function proxied(world, body) {
  const proxy = Proxy.start(world.hosts.split(',')[0])
  const client = await Client.connect(proxy.connectString, { sessionTimeout: 6000 })
  try {
    await body(proxy, client)
  } finally {
    proxy.clearFaults()
    proxy.resume()
    await client.close({ timeout: 5000 }).catch(() => {})
    proxy.shutdown()
  }
}

promise('a request can be kept from the server, or its answer from the client, and a lock survives both', async (world) => {
  const { server } = world
  const client = await world.connect()
  const faults = ['drop_before create* path=/**', 'drop_after create* path=/**', 'drop_before getChildren*', 'drop_after delete path=/**']
  for (const fault of faults) {
    const id = server.inject(fault)
    const lock = client.lock(world.path())
    await lock.run((held) => assert.equal(held.isHeld, true), { timeout: longest })
    await until(() => server.faultFired(id), `${fault} fired`)
    await until(async () => (await lock.contenders()).length === 0, 'nothing is left')
  }
}, embeddedOnly)

promise('the log tells kind, path and session, and counts', async (world) => {
  const { server } = world
  const client = await world.connect()
  server.clearLog()
  await client.lock('/log/lock').run(() => {})
  const created = server.log().filter(({ op, path }) => op.startsWith('create') && path.startsWith('/log/lock/'))
  assert.ok(created.every(({ sessionId }) => sessionId === client.sessionId))
  assert.equal(server.count('delete', '/log/lock/*'), 1)
  assert.equal(server.count('delete', '/elsewhere/**'), 0)
}, embeddedOnly)

promise('a proxy passes everything through and tells what went by', async (world) => {
  await proxied(world, async (proxy, client) => {
    assert.equal(proxy.connectString, `127.0.0.1:${proxy.port}`)
    await client.nodes.ensure(world.path('a'))
    proxy.clearLog()
    await client.nodes.set(world.path('a'), 'data')
    assert.equal(proxy.count('setData'), 1)
    assert.equal(proxy.count('setData', world.path('*')), 1)
    assert.equal(proxy.count('setData', '/elsewhere'), 0)
    const entry = proxy.log().find(({ op }) => op === 'setData')
    assert.equal(entry.path, world.path('a'))
    assert.equal(entry.sessionId, client.sessionId)
    assert.deepEqual(proxy.sessions(), [client.sessionId])
    assert.equal(proxy.connections(), 1)
  })
})

promise('a proxy that breaks connections or passes nothing on costs no lock within the lease', async (world) => {
  await proxied(world, async (proxy, client) => {
    const held = await client.lock(world.path()).acquire()
    proxy.dropConnections()
    await held.verify()
    proxy.pause()
    let answered = false
    const answer = client.nodes.exists('/').then(() => (answered = true))
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(answered, false)
    proxy.resume()
    await answer
    assert.equal(held.isHeld, true)
    await held.release()
  })
})

promise('a proxy ends a session for real', async (world) => {
  await proxied(world, async (proxy, client) => {
    assert.equal(await proxy.expire(1n), false)
    await rejects(proxy.expire(1), 'INVALID')
    const held = await client.lock(world.path()).acquire()
    // A real server keeps only the latest connection of a session, and the client is quick to come back.
    proxy.pause()
    assert.equal(await proxy.expire(client.sessionId), true)
    proxy.resume()
    await until(() => held.signal.aborted, 'the loss is told')
    assert.equal(held.signal.reason.reason, 'session')
    await (await client.lock(world.path()).acquire({ timeout: longest })).release()
  })
})

promise('a proxy in front of nothing says so', async () => {
  for (const upstream of [undefined, null, 7, '\ud800']) throws(() => Proxy.start(upstream), 'INVALID')
  for (const upstream of ['', 'nowhere']) assert.match(throws(() => Proxy.start(upstream), 'INVALID').message, /\bupstream\b/)
  throws(() => new Proxy(), 'INVALID')
  const proxy = Proxy.start('127.0.0.1:1')
  try {
    await rejects(Client.connect(proxy.connectString, { connectTimeout: 200 }), 'CONNECTION_LOST')
    throws(() => proxy.inject('drop_everything'), 'INVALID')
    throws(() => proxy.faultFired(), 'INVALID')
    throws(() => proxy.count(7), 'INVALID')
  } finally {
    proxy[Symbol.dispose ?? Symbol.for('Symbol.dispose')]()
    proxy.shutdown()
  }
}, embeddedOnly)

promise('an ensemble has followers that lag, are cut off and catch up', async () => {
  const ensemble = Ensemble.start({ members: 3, tick: 200 })
  try {
    assert.ok(ensemble instanceof EmbeddedServer)
    assert.equal(ensemble.connectString.split(',').length, 3)
    assert.equal(ensemble.member(0), `127.0.0.1:${ensemble.port}`)
    const [writer, reader] = [await Client.connect(ensemble.member(0)), await Client.connect(ensemble.member(2))]
    await writer.nodes.create('/a', 'old')
    await until(async () => (await reader.nodes.exists('/a')) !== null, 'the follower has it')
    assert.equal(ensemble.hold(2), true)
    await writer.nodes.set('/a', 'new')
    assert.equal(String((await reader.nodes.get('/a')).data), 'old')
    assert.ok(ensemble.behind(2) > 0)
    assert.equal(ensemble.behind(0), 0)
    assert.equal(ensemble.release(2), true)
    await until(async () => String((await reader.nodes.get('/a')).data) === 'new', 'the follower has caught up')
    assert.equal(ensemble.lag(1, 50), true)
    assert.equal(ensemble.lag(7, 50), false)
    assert.equal(ensemble.isolate(1), true)
    assert.equal(ensemble.isolate(2), false, 'the leader needs a majority')
    assert.equal(ensemble.heal(1), true)
    assert.equal(ensemble.heal(1), false)
    assert.ok(ensemble.sessions().includes(reader.sessionId))
    await Promise.all([writer.close(), reader.close()])
  } finally {
    ensemble.shutdown()
  }
}, embeddedOnly)

promise('an ensemble is started with sensible settings, or not at all', async () => {
  for (const members of [0, -1, 0.5, '3', null, 100]) throws(() => Ensemble.start({ members }), 'INVALID')
  assert.match(throws(() => Ensemble.start({ colour: 1 }), 'INVALID').message, /members/)
  throws(() => EmbeddedServer.start({ members: 3 }), 'INVALID')
  throws(() => new Ensemble(), 'INVALID')
  const ensemble = Ensemble.start()
  try {
    assert.equal(ensemble.connectString.split(',').length, 3)
    assert.match(throws(() => ensemble.member(3), 'INVALID').message, /\bmember\b/)
    for (const verb of ['hold', 'release', 'isolate', 'heal', 'lag']) {
      for (const follower of [undefined, -1, 0.5, '1']) throws(() => ensemble[verb](follower, 5), 'INVALID')
    }
    for (const by of [undefined, -1, NaN, '5']) throws(() => ensemble.lag(1, by), 'INVALID')
  } finally {
    ensemble.shutdown()
  }
}, embeddedOnly)
