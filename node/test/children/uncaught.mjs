// Forgets to catch.
import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2])
await client.lock(process.argv[3]).acquire()
client.lock('relative')
