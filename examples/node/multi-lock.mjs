// Takes several locks at once: all or none, and never two programs that wait for each other:
//
//   node examples/node/multi-lock.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const both = client.multiLock([client.lock('/accounts/alice'), client.lock('/accounts/bob')])

await both.run(async (held) => {
  console.log(`transferring, with fencing tokens ${held.fencingTokens}`)
})

await client.close()
