// Regions that are copied by whoever is there: start it several times, and stop one.
//
//   node examples/node/partitioner.mjs zk1:2181

import { once } from 'node:events'
import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const regions = client.partitioner('/examples/regions', ['eu', 'us', 'asia'])

const begun = new AbortController()

/** Works on one region until it is to move. */
async function copy(region) {
  console.log(`copying ${region.name} with token ${region.fencingToken}`)
  begun.abort()
  await once(region.revokeSignal, 'abort')
  console.log(`${region.name} is to move`)
}

// A service leaves when it is told to stop. This one leaves a second after it has got something to do.
begun.signal.addEventListener('abort', () => setTimeout(() => regions.leave(), 1000))
await regions.run(copy)
await client.close()
