// Nobody passes before the barrier is lifted.
//
//   node examples/node/barrier.mjs zk1:2181

import { Client } from 'zkrecipes'

const [mine, other] = await Promise.all([1, 2].map(() => Client.connect(process.argv[2] ?? 'embedded:')))
const barrier = mine.barrier('/barriers/import')
await barrier.create()

const waiting = other.barrier('/barriers/import').wait({ timeout: 60_000 })
console.log(`up: ${await barrier.isUp()}`)
await barrier.remove()
await waiting
console.log('on we go')

await Promise.all([mine.close(), other.close()])
