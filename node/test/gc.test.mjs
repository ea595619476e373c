import assert from 'node:assert/strict'
import { onLog } from 'zkrecipes'
import { collectGarbage, promise, untilCollected, untilContenders } from './world.mjs'

promise('a lock and its Held that nobody refers to are released, and the log says so', async (world) => {
  const client = await world.connect()
  const observer = await world.lock()
  const told = []
  const off = onLog(({ event, fields }) => event === 'collected' && told.push(fields.path), { level: 'warn' })
  await client.lock(world.path()).acquire()
  await untilCollected(async () => (await observer.contenders()).length === 0, 'it is released')
  await untilCollected(() => told.includes(world.path()), 'it is told')
  off()
})

promise('callbacks and signals that refer to their Held do not keep it', async (world) => {
  const client = await world.connect()
  const observer = await world.lock()
  await (async () => {
    const lock = client.lock(world.path())
    const held = await lock.acquire()
    held.onLost(() => assert.fail(`${lock.path} ${held.path}: a release is no loss`))
    held.signal.addEventListener('abort', () => assert.fail(held.path))
  })()
  await untilCollected(async () => (await observer.contenders()).length === 0, 'it is released')
})

promise('callbacks of waits that refer to their lock do not keep it', async (world) => {
  const client = await world.connect()
  const observer = await world.lock()
  const off = await (async () => {
    const lock = client.lock(world.path())
    await lock.acquire()
    return lock.onWait(() => assert.fail(`${lock.path}: nobody waits`))
  })()
  await untilCollected(async () => (await observer.contenders()).length === 0, 'it is released')
  off()
})

promise('callbacks of waits are told though nobody but the wait refers to the lock', async (world) => {
  const [client, observer] = [await world.connect(), await world.lock()]
  const held = await observer.acquire()
  let told = 0
  const waiting = (() => {
    const lock = client.lock(world.path())
    lock.onWait(() => told++)
    return lock.acquire()
  })()
  await untilCollected(() => told > 0, 'it is told')
  await held.release()
  await (await waiting).release()
})

// What garbage collection will be told of a handle is kept until then: who listens to each wait of a handle that lives as long
// as the process must not leave something behind each time.
promise('who listens again and again leaves nothing behind', async (world) => {
  const lock = await world.lock()
  const listenOften = async () => {
    for (let round = 0; round < 20_000; round++) lock.onWait(() => {})()
    // What Node itself remembers of the callbacks goes a little later.
    for (let turn = 0; turn < 5; turn++) {
      await new Promise(setImmediate)
      collectGarbage()
    }
    return process.memoryUsage().heapUsed
  }
  // The first rounds fill what Node keeps anyway.
  await listenOften()
  const before = await listenOften()
  const grown = (await listenOften()) - before
  assert.ok(grown < 500_000, `${grown} bytes`)
})

promise('a Held that is referred to, or whose lock is, stays', async (world) => {
  const client = await world.connect()
  const [byHeld, byLock] = [world.path('held'), world.path('lock')]
  const held = await client.lock(byHeld).acquire()
  const lock = client.lock(byLock)
  await lock.acquire()
  let lost = 0
  lock.onLost(() => lost++)
  let collected = false
  const registry = new FinalizationRegistry(() => (collected = true))
  registry.register({})
  await untilCollected(() => collected, 'garbage is collected')
  assert.ok(registry)
  assert.equal(held.isHeld, true)
  assert.equal(lock.isHeld, true)
  const other = await world.connect()
  const [contender] = await lock.contenders()
  await other.nodes.delete(`${byLock}/${contender.node}`)
  await untilCollected(() => lost === 1, 'the callback of the lock is called')
  await held.release()
})

promise('a client that nobody refers to ends its session', async (world) => {
  const sessions = world.server.sessions().length
  await (async () => {
    const { Client } = await import('zkrecipes')
    await Client.connect(world.hosts)
  })()
  await untilCollected(() => world.server.sessions().length === sessions, 'the session ends')
}, { embeddedOnly: true })

promise('many acquisitions in a row leave nothing behind on either side', async (world) => {
  const lock = await world.lock()
  for (let round = 0; round < 200; round++) await lock.run((held) => held.signal.aborted)
  await untilContenders(lock, 0)
})
