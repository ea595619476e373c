// What the Node face decides about semaphores: the forms of arguments, several acquisitions through one handle, withdrawing, garbage.

import assert from 'node:assert/strict'
import { AbortError, Held } from 'zkrecipes'
import { isPending, promise, rejection, rejects, throws, until, untilCollected, untilContenders } from './world.mjs'

promise('a semaphore gives so many permits and no more', async (world) => {
  const [one, two] = [await world.connect(), await world.connect()]
  const mine = one.semaphore(world.path(), 3)
  const yours = two.semaphore(world.path(), 3)
  assert.equal(mine.path, world.path())
  assert.equal(mine.permits, 3)
  const first = await mine.acquire(2)
  assert.ok(first instanceof Held)
  assert.equal(first.permits, 2)
  assert.equal(await yours.tryAcquire(2), null)
  const second = await yours.tryAcquire()
  assert.equal(second.permits, 1)
  await rejects(yours.acquire({ timeout: 50 }), 'TIMEOUT')
  await rejects(mine.acquire(1, { timeout: 0 }), 'TIMEOUT')
  const waiting = yours.acquire({ n: 2 })
  assert.ok(await isPending(waiting))
  await first.release()
  await (await waiting).release()
  await second.release()
  await until(async () => (await mine.holders()).length === 0, 'nobody holds')
})

promise('run holds permits during its body, as many at once as there are', async (world) => {
  const semaphore = (await world.connect()).semaphore(world.path(), 3)
  let inside = 0
  let most = 0
  await Promise.all(
    Array.from({ length: 9 }, () =>
      semaphore.run(async () => {
        most = Math.max(most, ++inside)
        await new Promise((resolve) => setTimeout(resolve, 5))
        inside--
      }),
    ),
  )
  assert.ok(most <= 3, `${most} were inside`)
  assert.equal(await semaphore.run((held) => held.permits, { n: 3, timeout: 5000 }), 3)
})

promise('aborting or cancelling the wait for permits leaves nothing', async (world) => {
  const [one, two] = [await world.connect(), await world.connect()]
  const held = await one.semaphore(world.path(), 1).acquire()
  const semaphore = two.semaphore(world.path(), 1)
  const reason = new Error('withdrawn')
  const controller = new AbortController()
  const withdrawn = rejection(semaphore.acquire(1, { signal: controller.signal }))
  const cancelled = rejection(semaphore.acquire())
  const queue = two.lock(`${world.path()}/locks`)
  await until(async () => (await queue.contenders()).length > 0, 'one queues')
  controller.abort(reason)
  assert.equal(await withdrawn, reason)
  semaphore.cancel()
  assert.ok((await cancelled) instanceof AbortError)
  await untilContenders(queue, 0)
  assert.equal((await semaphore.holders()).length, 1)
  await held.release()
})

promise('aborting at any moment of taking permits leaves none taken', async (world) => {
  const semaphore = (await world.connect()).semaphore(world.path(), 2)
  for (let pause = 0; pause < 60; pause += 2) {
    const controller = new AbortController()
    const taken = semaphore.acquire(2, { signal: controller.signal })
    for (let turn = 0; turn < pause; turn++) await new Promise(setImmediate)
    controller.abort()
    const held = await taken.catch((error) => assert.equal(error, controller.signal.reason))
    await held?.release()
  }
  await until(async () => (await semaphore.holders()).length === 0, 'no permit is left')
})

promise('permits that nobody refers to any more are given back', async (world) => {
  const [client, other] = [await world.connect(), (await world.connect()).semaphore(world.path(), 1)]
  await (async () => void (await client.semaphore(world.path(), 1).acquire()))()
  assert.equal((await other.holders()).length, 1)
  let free = false
  const waiting = other.acquire().then((held) => ((free = true), held))
  await untilCollected(() => free, 'the permit is free')
  await (await waiting).release()
})

promise('a number of permits that cannot be is INVALID and named', async (world) => {
  const client = await world.connect()
  const semaphore = client.semaphore(world.path(), 2)
  for (const permits of [undefined, null, 0, -1, 0.5, NaN, Infinity, 2 ** 31, '2', 2n, {}, []]) {
    assert.match(throws(() => client.semaphore(world.path(), permits), 'INVALID').message, /\bpermits\b/)
    assert.match((await rejects(semaphore.resize(permits), 'INVALID')).message, /\bpermits\b/)
  }
  for (const n of [null, 0, -1, 0.5, NaN, Infinity, 3, 2 ** 31, '1', 1n, true]) {
    assert.match((await rejects(semaphore.acquire(n), 'INVALID')).message, /\bn\b/)
    assert.match((await rejects(semaphore.acquire(n, { timeout: 0 }), 'INVALID')).message, /\bn\b/)
    assert.match((await rejects(semaphore.acquire({ n }), 'INVALID')).message, /\bn\b/)
    assert.match((await rejects(semaphore.tryAcquire(n), 'INVALID')).message, /\bn\b/)
    assert.match((await rejects(semaphore.run(() => assert.fail('it ran'), { n }), 'INVALID')).message, /\bn\b/)
  }
  assert.match((await rejects(semaphore.acquire({}, { timeout: 0 }), 'INVALID')).message, /\bn\b/)
  for (const options of [{ timeout: -1 }, { timeout: 'soon' }]) {
    assert.match((await rejects(semaphore.acquire(options), 'INVALID')).message, /\btimeout\b/)
    assert.match((await rejects(semaphore.acquire(1, options), 'INVALID')).message, /\btimeout\b/)
  }
  assert.match((await rejects(semaphore.acquire({ colour: 1 }), 'INVALID')).message, /\bcolour\b/)
  assert.match((await rejects(semaphore.acquire(1, { n: 1 }), 'INVALID')).message, /\bn\b/)
  assert.deepEqual(await semaphore.holders(), [])
})
