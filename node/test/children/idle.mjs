// Holds, listens, and has nothing left to do.
import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2])
client.onState(() => {})
const held = await client.lock(`/zkrecipes-node-idle-${process.pid}`).acquire()
held.onLost(() => {})
console.log(held.signal.aborted ? 'lost' : 'held')
