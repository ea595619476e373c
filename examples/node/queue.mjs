// Work for several workers: what crashes or fails is done by the next one.
//
//   node examples/node/queue.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const queue = client.queue('/queues/mail', { maxAttempts: 1 })
await queue.putMany(['to ann', 'to nobody'])
// A request that is made again, after whatever failed, puts nothing twice.
for (let tries = 0; tries < 2; tries++) await queue.put('to bob', { key: 'request-1042' })

await queue.process(async (item) => {
  if (String(item.data) === 'to nobody') throw new Error('no such address')
  console.log(`sent ${item.data}`)
  if (String(item.data) === 'to bob') queue.cancel()
})
for (const { data, reason } of await queue.dead.items()) console.log(`not sent: ${data}, ${reason}`)

// Or by hand, with the effect in one transaction with the end of the work.
await queue.put('the bill')
const item = await queue.claim({ timeout: 5000 })
await item.ackWith(item.guarded().create('/bill', item.data))
console.log(`billed: ${(await client.nodes.get('/bill')).data}`)

await client.close()
