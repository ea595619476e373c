// Numbers orders, whichever process takes them: every number is given once.
//
//   node examples/node/counter.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const orders = client.counter('/counters/orders')

const before = await orders.get()
const numbers = await Promise.all(['tea', 'coffee', 'milk'].map(() => orders.add(1)))
console.log(`${new Set(numbers).size} numbers, the last is ${(await orders.get()) - before} on`)

// In one step: nobody gets in between.
const reset = await orders.compareAndSet(await orders.get(), 0)
console.log(reset ? 'begun again' : 'somebody ordered in the meantime')

await client.close()
