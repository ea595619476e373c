// The main thread never loads the library. Node lets go of an addon when the last environment that loaded it ends, and the
// addon's threads must survive that.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const [hosts, path] = process.argv.slice(2)
for (let round = 0; round < 2; round++) {
  const worker = new Worker(new URL('./worker.mjs', import.meta.url), { workerData: { hosts, path, task: 'hold' } })
  await once(worker, 'message')
  console.log('acquired')
  await worker.terminate()
  await sleep(100)
  console.log('ended')
}
