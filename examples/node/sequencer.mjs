// A holder passes on the name of its acquisition, and whoever gets it can ask whether it still stands:
//
//   node examples/node/sequencer.mjs zk1:2181

import { Client } from 'zkrecipes'

const hosts = process.argv[2] ?? 'embedded:'
const holder = await Client.connect(hosts)
const storage = await Client.connect(hosts)

const held = await holder.lock('/locks/report').acquire()
const request = { data: 'a report', sequencer: held.sequencer }

console.log(`valid: ${await storage.checkSequencer(request.sequencer)}`)
const over = storage.watchSequencer(request.sequencer, { signal: AbortSignal.timeout(10_000) })
await held.release()
await over
console.log('the holder has let go')
console.log(`valid: ${await storage.checkSequencer(request.sequencer)}`)

await Promise.all([holder.close(), storage.close()])
