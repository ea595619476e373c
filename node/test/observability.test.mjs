// Logs and metrics: what happened at night can be told from them alone.

import assert from 'node:assert/strict'
import diagnostics from 'node:diagnostics_channel'
import { Client, onLog } from 'zkrecipes'
import { EmbeddedServer, Proxy } from 'zkrecipes/testing'
import { promise, throws, until } from './world.mjs'

/** The records that have one of these values in a field. */
function about(records, ...values) {
  return records.filter(({ fields }) => Object.values(fields).some((value) => values.includes(value)))
}

/** Whether these events were told in this order. */
function isTold(records, ...events) {
  let from = 0
  return events.every((event) => {
    const at = records.findIndex((record, index) => index >= from && record.event === event)
    from = at + 1
    return at >= 0
  })
}

promise('a partition can be told from logs and metrics alone', async (world) => {
  // A session that is short needs short ticks.
  const server = world.server && EmbeddedServer.start({ tick: 50 })
  const proxy = Proxy.start(server?.connectString ?? world.hosts)
  const path = world.path()
  const [records, published] = [[], []]
  const channel = (record) => published.push(record)
  const off = onLog((record) => records.push(record))
  diagnostics.subscribe('zkrecipes:log', channel)
  const client = await Client.connect(proxy.connectString, { sessionTimeout: 3000 })
  try {
    const session = `0x${client.sessionId.toString(16)}`
    const held = await client.lock(path).acquire()
    proxy.dropConnections()
    await until(() => client.metrics.reconnections >= 1, 'it is in touch again')
    proxy.pause()
    await until(() => !held.isHeld && client.metrics.sessionsLost === 1, 'the loss')
    proxy.resume()
    await until(() => client.metrics.sessions === 2, 'a new session')
    const story = ['connected', 'suspended', 'reconnected', 'suspended', 'session_lost', 'session_renewed']
    await until(() => isTold(about(records, session), ...story), 'it is told')
    await until(() => isTold(about(records, path), 'lost'), 'the loss is told')

    for (const event of ['connected', 'reconnected', 'session_renewed']) {
      assert.equal(about(records, session).find((record) => record.event === event).fields.server, proxy.connectString)
    }
    const suspended = about(records, session).find(({ event }) => event === 'suspended')
    assert.ok(suspended.fields.lease_ms > 0 && suspended.fields.cause && suspended.time > 0)
    const lost = about(records, path).find(({ event }) => event === 'lost')
    assert.deepEqual([lost.level, lost.fields.reason, BigInt(lost.fields.token)], ['warn', 'session', held.fencingToken])
    assert.deepEqual(published, records)

    const { sessions, suspensions, losses, acquisitions, holding, holds, leaseMarginMin, prometheus } = client.metrics
    assert.ok(suspensions >= 2)
    assert.deepEqual([sessions, losses.session, acquisitions, holding, holds.count, leaseMarginMin], [2, 1, 1, 0, 1, 0])
    assert.match(prometheus, /^zkrecipes_losses_total\{reason="session"\} 1$/m)
  } finally {
    off()
    diagnostics.unsubscribe('zkrecipes:log', channel)
    await client.close({ timeout: 5000 })
    proxy.shutdown()
    server?.shutdown()
  }
})

promise('what keeps the event loop is told', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const told = []
  const off = onLog(({ event, level, fields }) => event === 'slow_callback' && told.push([level, fields.took_ms >= 1000]), { level: 'warn' })
  const block = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100)
  try {
    const held = await client.lock(world.path()).acquire()
    let isPatient = false
    held.onLost(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1100))
      isPatient = true
    })
    held.onLost(block)
    held.signal.addEventListener('abort', block)
    await other.nodes.delete(held.node)
    await until(() => isPatient, 'the loss')
    const election = client.election(world.path(), 'me')
    await election.run(async () => {
      block()
      election.cancel()
    })
    client.onState((state) => state === 'closed' && block())
    await client.close()
    await until(() => told.length === 4, 'they are told of')
    assert.deepEqual(told, Array(4).fill(['warn', true]))
    assert.deepEqual([client.metrics.slowCallbacks, other.metrics.slowCallbacks], [4, 0])
  } finally {
    off()
  }
})

promise('a clock that somebody has faked keeps nobody from hearing of a loss', async (world) => {
  const client = await world.connect()
  const held = await client.lock(world.path()).acquire()
  const { now } = performance
  performance.now = () => assert.fail('faked')
  try {
    let isLost = false
    held.onLost(() => (isLost = true))
    await client.nodes.delete(held.node)
    await until(() => isLost, 'the loss')
  } finally {
    performance.now = now
  }
})

promise('each listener hears up to its level, until it unsubscribes', async (world) => {
  const client = await world.connect()
  const [few, many] = [[], []]
  const offs = [onLog((record) => few.push(record)), onLog((record) => many.push(record), { level: 'debug' })]
  const path = world.path()
  await client.lock(path).run(() => {})
  await until(() => isTold(about(many, path), 'acquired', 'released'), 'the details')
  assert.deepEqual(about(few, path), [])
  offs.forEach((off) => off())
  const heard = many.length
  const late = []
  const off = onLog((record) => late.push(record), { level: 'debug' })
  await client.lock(path).run(() => {})
  await until(() => isTold(about(late, path), 'released'), 'the details, to somebody else')
  off()
  assert.equal(many.length, heard)
  throws(() => onLog(() => {}, { level: 'loud' }), 'INVALID')
  throws(() => onLog(), 'INVALID')
})

promise('metrics are numbers, and text for Prometheus', async (world) => {
  const client = await world.connect()
  const path = world.path()
  const metrics = await client.lock(path).run(() => client.metrics)
  assert.deepEqual([metrics.acquisitions, metrics.holding, metrics.waits.count], [1, 1, 1])
  assert.ok(metrics.waits.sum > 0 && metrics.bytesSent > 0 && metrics.bytesReceived > 0 && metrics.requests.create >= 1)
  assert.deepEqual(metrics.waits.buckets.at(-1), { le: 3_600_000, count: 1 })
  assert.deepEqual(Object.keys(metrics.losses).sort(), ['closed', 'deleted', 'revoked', 'session'])
  assert.equal(client.metrics.holding, 0)
  assert.match(metrics.prometheus, /^# TYPE zkrecipes_waits_seconds histogram$/m)
})
