import assert from 'node:assert/strict'
import { promise, untilCollected, untilContenders } from './world.mjs'

promise('a lock and its Held that nobody refers to are released', async (world) => {
  const client = await world.connect()
  const observer = await world.lock()
  await client.lock(world.path()).acquire()
  await untilCollected(async () => (await observer.contenders()).length === 0, 'it is released')
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
