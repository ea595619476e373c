// Follows the children of a node, over reconnections and new sessions.
//
//   node examples/node/watch.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
await client.nodes.ensure('/watched')

let count = 0
for await (const names of client.nodes.watch('/watched', 'children', { signal: AbortSignal.timeout(10_000) })) {
  console.log(names?.length ? `there is ${names}` : 'there is nobody')
  if (++count === 1) await client.nodes.create('/watched/first')
  else if (count === 2) await client.nodes.delete('/watched/first')
  else break
}

await client.close()
