// Who is there: workers that know each other by name.
//
//   node examples/node/group.mjs zk1:2181
//   node examples/node/group.mjs zk1:2181 list        lists the members for ever

import { Client } from 'zkrecipes'

const [mine, other] = await Promise.all([1, 2].map(() => Client.connect(process.argv[2] ?? 'embedded:')))
const workers = mine.group('/workers')

if (process.argv[3] === 'list') {
  for await (const { type } of workers.watch()) console.log(type, Object.keys(await workers.members()))
}

await workers.join('worker-1', 'idle')

for await (const event of workers.watch()) {
  if (event.type === 'snapshot') {
    console.log(`at first: ${Object.keys(event.members)}`)
    await other.group('/workers').join('worker-2', 'idle')
  } else if (event.type === 'joined') {
    console.log(`${event.name} joined, and is ${event.data}`)
    // A member that goes, or crashes, leaves.
    await other.close()
  } else if (event.type === 'left') {
    console.log(`${event.name} left`)
    break
  }
}

await mine.close()
