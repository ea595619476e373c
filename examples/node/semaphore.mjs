// At most three exports at once, whichever process makes them:
//
//   node examples/node/semaphore.mjs zk1:2181

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const semaphore = client.semaphore('/limits/exports', 3)

let inside = 0
let most = 0
async function exportOne() {
  most = Math.max(most, ++inside)
  await sleep(5)
  inside--
}
await Promise.all(Array.from({ length: 9 }, () => semaphore.run(exportOne)))
console.log(most <= 3 ? 'at most 3 at once' : `${most} at once?`)

// A large one counts for two.
const held = await semaphore.acquire(2, { timeout: 5000 })
console.log(`${held.permits} permits held by ${(await semaphore.holders()).length} entries`)
await held.release()

await client.close()
