// What the Node face decides about everything that is watched, shown with a config: iterating, ending, withdrawing.

import assert from 'node:assert/strict'
import { Feed } from 'zkrecipes'
import { collectGarbage, promise, rejection, rejects, throws, until, untilCollected } from './world.mjs'

const texts = (found) => found && String(found.value)

/** A value on a client of its own, and somebody else who sets it. */
async function values(world) {
  const [mine, yours] = await Promise.all([world.connect(), world.connect()])
  return { client: mine, config: mine.config(world.path('value')), other: yours.config(world.path('value')) }
}

const unwatched = (world) => until(() => world.server.watchCount() === 0, 'nothing is watched any more')

promise('a loop is told the present state and every change, and break ends it', async (world) => {
  const { config, other } = await values(world)
  const told = []
  for await (const found of config.watch()) {
    told.push(texts(found))
    if (told.length === 4) break
    if (told.length === 3) await config.set('three')
    else await other.set(told.length === 1 ? 'one' : Buffer.from('two'))
  }
  assert.deepEqual(told, [null, 'one', 'two', 'three'])
  await unwatched(world)
}, { embeddedOnly: true })

promise('who reads slowly gets the latest', async (world) => {
  const { config, other } = await values(world)
  const feed = config.watch()
  assert.ok(feed instanceof Feed)
  assert.equal(feed[Symbol.asyncIterator](), feed)
  assert.deepEqual(await feed.next(), { value: null, done: false })
  for (const text of ['one', 'two', 'three']) await other.set(text)
  assert.deepEqual(await feed.next(), { value: { value: Buffer.from('three'), version: 2 }, done: false })
  assert.deepEqual(await feed.return('enough'), { value: 'enough', done: true })
  assert.deepEqual(await feed.next(), { value: undefined, done: true })
})

promise('several who ask at once are answered in order', async (world) => {
  const { config, other } = await values(world)
  const feed = config.watch()
  const asked = [feed.next(), feed.next(), feed.next(), feed.next()]
  assert.equal((await asked[0]).value, null)
  await other.set('one')
  assert.equal(texts((await asked[1]).value), 'one')
  await other.set('two')
  assert.equal(texts((await asked[2]).value), 'two')
  await feed.return()
  assert.deepEqual(await asked[3], { value: undefined, done: true }, 'who waits is told')
})

promise('a signal that aborts ends the loop without complaint', async (world) => {
  const { client, config } = await values(world)
  const controller = new AbortController()
  const told = []
  const looping = (async () => {
    for await (const found of config.watch({ signal: controller.signal })) told.push(found)
  })()
  await until(() => told.length === 1, 'it is told')
  controller.abort(new Error('enough'))
  await looping
  assert.deepEqual(told, [null])
  await unwatched(world)
  world.server.clearLog()
  for await (const found of config.watch({ signal: AbortSignal.abort() })) assert.fail(found)
  assert.equal(world.server.count('*', world.path('value')), 0, 'and one that is aborted already begins none')
  assert.equal(client.state, 'connected')
}, { embeddedOnly: true })

promise('a long-lived signal keeps no listener of feeds that have ended', async (world) => {
  const { config } = await values(world)
  const { signal } = new AbortController()
  const listeners = []
  signal.addEventListener = (...args) => listeners.push(args[1])
  signal.removeEventListener = (...args) => listeners.splice(listeners.indexOf(args[1]), 1)
  for (let round = 0; round < 3; round++) {
    for await (const found of config.watch({ signal })) if (found === null) break
  }
  assert.deepEqual(listeners, [])
})

promise('closing the client ends the loop, and so does leaving the scope of a feed', async (world) => {
  const { client, config } = await values(world)
  const told = []
  const looping = (async () => {
    for await (const found of config.watch()) told.push(found)
    return 'over'
  })()
  const scoped = config.watch()
  assert.equal((await scoped.next()).value, null)
  const asked = scoped.next()
  await scoped[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]()
  assert.equal((await asked).done, true)
  await until(() => told.length === 1, 'it is told')
  await client.close()
  assert.equal(await looping, 'over')
  assert.equal((await config.watch().next()).done, true)
})

promise('one that cannot go on rejects once and is over', async (world) => {
  const owner = await world.connect({ auth: { scheme: 'digest', credential: 'owner:secret' } })
  await owner.config(world.path('value')).set('mine')
  const feed = (await world.connect()).config(world.path('value')).watch()
  await rejects(feed.next(), 'DENIED')
  assert.equal((await feed.next()).done, true)
})

promise('a bad option is INVALID at once, and only the library makes feeds', async (world) => {
  const { config } = await values(world)
  assert.match(throws(() => config.watch({ sgnal: 1 }), 'INVALID').message, /sgnal/)
  assert.match(throws(() => config.watch({ signal: 1 }), 'INVALID').message, /signal/)
  throws(() => new Feed(), 'INVALID')
})

promise('a feed that nobody refers to watches nothing any more', async (world) => {
  const { config } = await values(world)
  await (async () => {
    const feed = config.watch()
    await feed.next()
    // Once more than there is: the watch is set.
    const asked = feed.next()
    await until(() => world.server.watchCount() > 0, 'it is watched')
    await config.set('one')
    await asked
  })()
  await untilCollected(() => world.server.watchCount() === 0, 'it watches nothing')
}, { embeddedOnly: true })

promise('a feed that is waited for stays, whoever refers to it', async (world) => {
  const { config, other } = await values(world)
  const told = (async () => {
    for await (const found of config.watch()) if (found) return texts(found)
  })()
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
  await other.set('one')
  assert.equal(await told, 'one')
})

promise('only who waits for the next item is kept alive', async (world) => {
  const idle = world.child('alive', world.path('value'), 'has a feed')
  assert.equal(await idle.exit, 0, idle.errors)
  const { config } = await values(world)
  await config.set('first')
  const child = world.child('alive', world.path('value'), 'waits for the next item')
  await child.said('first')
  // Time enough for one that nothing keeps alive to end.
  await new Promise((resolve) => setTimeout(resolve, 300))
  await config.set('second')
  assert.equal(await child.exit, 0, child.errors)
  assert.match(child.output, /second/)
})

promise('the values of a config are versioned', async (world) => {
  const { client, config, other } = await values(world)
  assert.equal(config.path, world.path('value'))
  assert.equal(config.cached, null)
  assert.equal(await config.get(), null)
  assert.equal(config.cached.value, null)
  assert.equal(await other.set('one'), 0)
  assert.equal(await config.set(new Uint8Array([50]), 0), 1)
  await rejects(other.set('late', { version: 0 }), 'BAD_VERSION')
  await rejects(client.config(world.path('none')).set('x', 3), 'NO_NODE')
  assert.deepEqual(await config.get(), { value: Buffer.from('2'), version: 1 })
  const { value, age } = config.cached
  assert.equal(texts(value), '2')
  assert.ok(age >= 0 && age < 20_000)
  for (const bad of [undefined, null, 7, {}]) await rejects(config.set(bad), 'INVALID')
  for (const version of [-1, 1.5, '1']) await rejects(config.set('x', version), 'INVALID')
  const reason = new Error('withdrawn')
  assert.equal(await rejection(config.set('x', { signal: AbortSignal.abort(reason) })), reason)
  assert.equal(await rejection(config.get({ signal: AbortSignal.abort(reason) })), reason)
})
