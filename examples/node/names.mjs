// A register of services: each binds its address for as long as it runs, and whoever needs one looks it up.
//
//   node examples/node/names.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const services = client.names('/services')
await services.bind('billing', '10.0.0.7:443', { ephemeral: true })

const address = await services.lookup('billing')
console.log(address ? `billing is at ${address}` : 'nobody bills')
for (const name of await services.list()) console.log(name)

await client.close()
