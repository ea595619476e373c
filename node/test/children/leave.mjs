// Holds a lock, waits for another and is then left in the way that it is told, without letting go of anything.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Client } from 'zkrecipes'

const [hosts, path, way, taken] = process.argv.slice(2)
const client = await Client.connect(hosts, { sessionTimeout: 30_000 })
const held = await client.lock(path).acquire()
if (taken) void client.lock(taken).acquire()
console.log('held')

const ways = {
  'process.exit': () => process.exit(0),
  'process.reallyExit': () => process.reallyExit(0),
  'an uncaught error': () => setImmediate(() => { throw new Error('on purpose') }),
  'an unhandled rejection': () => void Promise.reject(new Error('on purpose')),
  'process.exit in a callback': () => {
    held.onLost(() => process.exit(0))
    return client.nodes.delete(held.node)
  },
  'a close that nobody waits for': () => {
    void client.close()
    process.exit(0)
  },
  'a release that nobody waits for': () => {
    void held.release()
    process.exit(0)
  },
  'the end of all that is to be done': () => client.unref(),
  'the end of a worker': async () => {
    client.unref()
    const worker = new Worker(new URL('./worker.mjs', import.meta.url), { workerData: { hosts, path: `${path}-worker`, task: 'hold', sessionTimeout: 30_000 } })
    await once(worker, 'message')
    process.exit(0)
  },
  'a signal with a handler': () => {
    process.on('SIGUSR2', () => process.exit(0))
    setInterval(() => {}, 1000)
  },
}
await ways[way]()
