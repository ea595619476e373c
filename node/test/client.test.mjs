import assert from 'node:assert/strict'
import { Client, version } from 'zkrecipes'
import { EmbeddedServer } from 'zkrecipes/testing'
import { collectGarbage, promise, rejection, rejects, until } from './world.mjs'

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')

promise('a client tells its session, its state and the version', async (world) => {
  const client = await world.connect()
  assert.equal(client.state, 'connected')
  assert.equal(typeof client.sessionId, 'bigint')
  assert.ok(client.sessionId > 0n)
  assert.ok(client.sessionTimeout > 0)
  assert.equal(client.leaseRemaining, 0)
  assert.match(client.version(), /^\d+\.\d+\.\d+/)
  assert.equal(version(), client.version())
})

promise('the lease is running while something is held', async (world) => {
  const client = await world.connect()
  const held = await client.lock(world.path()).acquire()
  assert.ok(client.leaseRemaining > 0)
  assert.ok(client.leaseRemaining <= client.sessionTimeout)
  await held.release()
  assert.equal(client.leaseRemaining, 0)
})

promise('without hosts and without ZKRECIPES_HOSTS the error names both ways out', async (world) => {
  const before = process.env.ZKRECIPES_HOSTS
  try {
    delete process.env.ZKRECIPES_HOSTS
    for (const hosts of [undefined, null, '']) {
      const error = await rejects(Client.connect(hosts), 'INVALID')
      assert.match(error.message, /hosts/)
      assert.match(error.message, /ZKRECIPES_HOSTS/)
    }
    process.env.ZKRECIPES_HOSTS = world.hosts
    const client = await Client.connect()
    assert.equal(client.state, 'connected')
    await client.close()
  } finally {
    if (before === undefined) delete process.env.ZKRECIPES_HOSTS
    else process.env.ZKRECIPES_HOSTS = before
  }
})

promise('running out of connect time is CONNECTION_LOST', async (world) => {
  world.server.stop()
  const error = await rejects(Client.connect(world.hosts, { connectTimeout: 200 }), 'CONNECTION_LOST')
  assert.equal(error.retryable, true)
}, { embeddedOnly: true })

promise('embedded: is a server inside this process, which one warning says', async () => {
  const warnings = []
  const hear = (warning) => warnings.push(warning)
  process.on('warning', hear)
  try {
    for (let round = 0; round < 2; round++) {
      const client = await Client.connect('embedded:')
      await (await client.lock('/lock').acquire()).release()
      await client.close()
    }
    assert.equal(warnings.length, 1)
    assert.match(warnings[0].message, /in-memory server .* for development and tests/)
  } finally {
    process.off('warning', hear)
  }
}, { embeddedOnly: true })

promise('close twice is fine, and leaving a scope closes', async (world) => {
  const client = await world.connect()
  await client[asyncDispose]()
  assert.equal(client.state, 'closed')
  await client.close()
})

promise('every change of state is told in order, until one unsubscribes', async (world) => {
  const client = await world.connect()
  const [states, few] = [[], []]
  client.onState((state) => states.push(state))
  const unsubscribe = client.onState((state) => few.push(state))
  world.server.stop()
  await until(() => states.includes('suspended'), 'the client is suspended')
  assert.equal(client.state, 'suspended')
  unsubscribe()
  unsubscribe()
  world.server.restart()
  await until(() => states.includes('connected'), 'the client is connected again')
  await client.close()
  await until(() => states.includes('closed'), 'the client is closed')
  assert.deepEqual(states, ['suspended', 'connected', 'closed'])
  assert.deepEqual(few, ['suspended'])
}, { embeddedOnly: true })

promise('one who listens hears, whether or not the client is kept in a variable', async (world) => {
  let heard
  let listening = false
  void Client.connect(world.hosts).then((client) => {
    client.onState((state) => (heard ??= state))
    listening = true
  })
  await until(() => listening, 'it listens')
  collectGarbage()
  await new Promise(setImmediate)
  collectGarbage()
  world.server.stop()
  await until(() => heard === 'suspended', 'it hears')
}, { embeddedOnly: true })

promise('an onState callback that throws is reported and stops nothing', async (world) => {
  const warnings = []
  const hear = (warning) => warnings.push(warning)
  process.on('warning', hear)
  try {
    const client = await world.connect()
    client.onState(() => { throw new Error('on purpose') })
    const told = new Promise((resolve) => client.onState(resolve))
    await client.close()
    assert.equal(await told, 'closed')
    await until(() => warnings.length === 1, 'it is reported')
    assert.match(warnings[0].message, /onState callback threw: Error: on purpose/)
  } finally {
    process.off('warning', hear)
  }
})

promise('credentials guard what we create', async (world) => {
  const auth = { scheme: 'digest', credential: 'me:secret' }
  const mine = await world.connect({ auth })
  const also = await world.connect({ auth: [{ ...auth, credential: Buffer.from('me:secret') }] })
  const stranger = await world.connect()
  await mine.nodes.ensure(world.path('mine'))
  await mine.nodes.set(world.path('mine'), 'x')
  assert.equal(String((await also.nodes.get(world.path('mine'))).data), 'x')
  assert.equal((await rejection(stranger.nodes.get(world.path('mine')))).code, 'DENIED')
  await mine.nodes.deleteAll(world.path('mine'))
})

promise('two servers in one process are two', async () => {
  const servers = [EmbeddedServer.start(), EmbeddedServer.start()]
  try {
    for (const server of servers) {
      const client = await Client.connect(server.connectString)
      await client.lock('/lock').acquire({ timeout: 5000 })
      await client.close()
    }
  } finally {
    for (const server of servers) server.shutdown()
  }
}, { embeddedOnly: true })
