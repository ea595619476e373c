// Holds a lock until it is killed.
import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2], { sessionTimeout: 2000 })
await client.lock(process.argv[3]).acquire()
console.log('held')
setInterval(() => {}, 1000)
