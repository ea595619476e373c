// One environment more: does what it is told, and tells what became of it.
import { parentPort, workerData } from 'node:worker_threads'
import { Client } from 'zkrecipes'

const client = await Client.connect(workerData.hosts, { sessionTimeout: workerData.sessionTimeout ?? 6000 })
const lock = client.lock(workerData.path)
if (workerData.task === 'contend') {
  for (let round = 0; round < 5; round++) {
    await lock.run((held) => parentPort.postMessage(held.fencingToken))
  }
  await client.close()
} else if (workerData.task === 'hold') {
  await lock.acquire()
  parentPort.postMessage('held')
  setInterval(() => {}, 1000)
} else if (workerData.task === 'hold and listen') {
  const held = await lock.acquire()
  held.onLost(() => {})
  parentPort.postMessage('held')
} else if (workerData.task === 'wait') {
  parentPort.postMessage('waiting')
  await lock.acquire()
} else if (workerData.task === 'leave') {
  await lock.acquire()
  client.unref()
}
