// Three members compute step after step, and nobody begins one before all have done the last.
//
//   node examples/node/double-barrier.mjs zk1:2181

import { Client } from 'zkrecipes'

const clients = await Promise.all([1, 2, 3].map(() => Client.connect(process.argv[2] ?? 'embedded:')))
const computed = []

async function member(client, name) {
  const barrier = client.doubleBarrier('/barriers/step', 3, name)
  for (const step of ['one', 'two']) await barrier.run(() => computed.push(step))
}
await Promise.all(clients.map((client, at) => member(client, `member-${at}`)))
console.log(`computed ${computed.join(' ')}`)

await Promise.all(clients.map((client) => client.close()))
