// Callbacks at bad moments: they throw, they take away what they belong to, they leave.

import assert from 'node:assert/strict'
import { promise, rejects, until, untilContenders } from './world.mjs'

/** The warnings while the body runs. */
async function warningsIn(body) {
  const warnings = []
  const hear = (warning) => warnings.push(warning)
  process.on('warning', hear)
  try {
    await body(warnings)
  } finally {
    process.off('warning', hear)
  }
}

const of = (warnings, pattern) => warnings.filter(({ message }) => pattern.test(message))

promise('whatever a callback throws or rejects with is reported, and stops nothing', async (world) => {
  await warningsIn(async (warnings) => {
    const [client, other] = [await world.connect(), await world.connect()]
    const held = await client.lock(world.path()).acquire()
    const thrown = [
      new Error('an error'), 'a string', undefined, null, 0, Symbol('a symbol'), Object.create(null), new Proxy({}, { get() { throw new Error('refused') } }),
    ]
    for (const what of thrown) {
      held.onLost(() => { throw what })
      held.onLost(async () => { throw what })
    }
    held.onLost(() => ({ get then() { throw new Error('no thenable') } }))
    held.onLost(() => ({ then: (_, fail) => fail(new Error('a thenable that fails')) }))
    const told = new Promise((resolve) => held.onLost(resolve))
    await other.nodes.delete(held.node)
    assert.equal((await told).code, 'LOST')
    await until(() => of(warnings, /onLost callback threw/).length === 2 * thrown.length + 2, 'all are reported')
    assert.ok(warnings.every(({ name }) => name === 'ZkRecipesWarning'))
    // The library goes on.
    await client.lock(world.path()).run(() => {})
  })
})

promise('a callback may unsubscribe itself and others', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const called = []
  const offs = [
    client.onState(() => (called.push('first'), offs.forEach((off) => off()))),
    client.onState(() => called.push('second')),
  ]
  const held = await client.lock(world.path()).acquire()
  const ends = [
    held.onLost(() => (called.push('lost'), ends.forEach((end) => end()))),
    held.onLost(() => called.push('never')),
  ]
  const told = new Promise((resolve) => held.onLost(resolve))
  await other.nodes.delete(held.node)
  await told
  await client.close()
  await until(() => called.length === 2, 'the first is told of the close')
  await new Promise(setImmediate)
  assert.deepEqual(called, ['lost', 'first'])
})

promise('a callback may close its own client, twice', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const held = await client.lock(world.path()).acquire()
  const states = []
  client.onState((state) => {
    states.push(state)
    void client.close()
  })
  const closed = new Promise((resolve, reject) => {
    held.onLost(() => Promise.all([client.close(), client.close()]).then(resolve, reject))
  })
  await other.nodes.delete(held.node)
  await closed
  await until(() => states.length > 0, 'it is told')
  await client.close()
  assert.deepEqual(states, ['closed'])
  assert.equal(client.state, 'closed')
})

promise('a callback that acquires, releases and revokes gets its turn', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const lock = client.lock(world.path())
  const held = await lock.acquire()
  const again = new Promise((resolve, reject) => {
    held.onLost(() => lock.run(() => 'held again').then(resolve, reject))
  })
  await other.nodes.delete(held.node)
  assert.equal(await again, 'held again')
  await untilContenders(lock, 0)
})

promise('nobody hears anything after close, but what the close brings', async (world) => {
  const client = await world.connect()
  const [states, losses] = [[], []]
  client.onState((state) => states.push(state))
  const held = await client.lock(world.path()).acquire()
  held.onLost(({ reason }) => losses.push(reason))
  const blocker = await (await world.lock('taken')).acquire()
  const waiting = client.lock(world.path('taken')).acquire()
  const closing = [client.close(), client.close()]
  await rejects(waiting, 'CLOSED')
  await Promise.all(closing)
  await until(() => states.length === 1 && losses.length === 1, 'both are told')
  world.server?.dropConnections()
  await client.close()
  await new Promise(setImmediate)
  assert.deepEqual([states, losses], [['closed'], ['closed']])
  assert.doesNotThrow(() => held.onLost(() => losses.push('late')))
  await until(() => losses.length === 2, 'who asks late is told')
  await blocker.release()
})

promise('leaving a scope never masks the error of its body', async (world) => {
  const [client, other] = [await world.connect(), await world.connect()]
  const error = new Error('of the body')
  for (const spoil of [
    (held) => other.nodes.delete(held.node).then(() => until(() => !held.isHeld, 'it is lost')),
    (held) => held.release(),
    () => {},
  ]) {
    const failing = client.lock(world.path()).run(async (held) => {
      await spoil(held)
      throw error
    })
    await assert.rejects(failing, (thrown) => thrown === error)
  }
  const closing = await world.connect()
  await assert.rejects(closing.lock(world.path()).run(async () => {
    await closing.close()
    throw error
  }), (thrown) => thrown === error)
})

promise('a loss is warned of by name, and a close is not', async (world) => {
  await warningsIn(async (warnings) => {
    const [client, other] = [await world.connect(), await world.connect()]
    const held = await client.lock(world.path()).acquire()
    const told = new Promise((resolve) => held.onLost(resolve))
    await other.nodes.delete(held.node)
    await told
    await until(() => of(warnings, /is lost/).length === 1, 'it is warned of')
    const [warning] = of(warnings, /is lost/)
    assert.equal(warning.name, 'ZkRecipesWarning')
    assert.match(warning.message, new RegExp(`path=${world.path()} .*reason=`))
    await client.lock(world.path()).acquire()
    await client.close()
    await new Promise(setImmediate)
    assert.equal(of(warnings, /is lost/).length, 1)
  })
})
