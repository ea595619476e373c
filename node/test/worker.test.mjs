import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { promise, untilContenders } from './world.mjs'

const script = new URL('./children/worker.mjs', import.meta.url)

function work(world, task, path = world.path()) {
  return new Worker(script, { workerData: { hosts: world.hosts, path, task } })
}

promise('several workers contend, each in an environment of its own', async (world) => {
  const lock = await world.lock()
  const tokens = []
  const workers = Array.from({ length: 4 }, () => work(world, 'contend'))
  for (const worker of workers) worker.on('message', (token) => tokens.push(token))
  for (const [code] of await Promise.all(workers.map((worker) => once(worker, 'exit')))) assert.equal(code, 0)
  assert.equal(tokens.length, 20)
  assert.equal(new Set(tokens).size, 20)
  await untilContenders(lock, 0)
})

promise('what a worker holds when it is terminated is released', async (world) => {
  const lock = await world.lock()
  const worker = work(world, 'hold')
  await once(worker, 'message')
  await worker.terminate()
  await (await lock.acquire({ timeout: 4000 })).release()
})

promise('a worker that is terminated while it waits leaves nothing', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  const worker = work(world, 'wait')
  await untilContenders(lock, 2)
  await worker.terminate()
  await untilContenders(lock, 1)
  await held.release()
})

promise('an acquisition that arrives as its worker is terminated is released', async (world) => {
  const lock = await world.lock()
  for (let round = 0; round < 10; round++) {
    const held = await lock.acquire({ timeout: 20_000 })
    const worker = work(world, 'wait')
    await untilContenders(lock, 2)
    await Promise.all([held.release(), worker.terminate()])
    await (await lock.acquire({ timeout: 20_000 })).release()
  }
  await untilContenders(lock, 0)
})

promise('a worker that leaves without closing anything exits by itself', async (world) => {
  const lock = await world.lock()
  const [code] = await once(work(world, 'leave'), 'exit')
  assert.equal(code, 0)
  await (await lock.acquire({ timeout: 4000 })).release()
})
