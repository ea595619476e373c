// Asks the holder of a lock to let go, and takes it away if that does not happen in time:
//
//   node examples/node/revocation.mjs zk1:2181

import { once } from 'node:events'
import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')

async function patient() {
  const held = await client.lock('/locks/batch').acquire()
  return async () => {
    // A second AbortSignal, beside `held.signal`, which tells of a loss.
    if (!held.revokeSignal.aborted) await once(held.revokeSignal, 'abort')
    console.log('asked to let go')
    await held.release()
  }
}

const working = (await patient())()
const lock = client.lock('/locks/batch')
await lock.revoke({ forceAfter: 10_000 })
await lock.run(() => console.log('the impatient one has it'))
await working

await client.close()
