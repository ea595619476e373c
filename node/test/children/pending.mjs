// Waits for a lock, and does nothing else.
import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2])
const held = await client.lock(process.argv[3]).acquire()
console.log('acquired')
await held.release()
