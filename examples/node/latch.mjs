// A report that is made when all parts have been imported, whoever imports them.
//
//   node examples/node/latch.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const parts = ['north', 'south', 'west']
const imports = client.latch('/latches/imports', parts.length)
// It may be open from the last time.
await imports.reset(parts.length)

const importing = parts.map(async (part) => console.log(`${part} is in, ${await imports.countDown()} are left`))
await Promise.all([imports.wait({ timeout: 30_000 }), ...importing])
console.log('all parts are in: the report can be made')

await client.close()
