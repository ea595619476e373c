// Leaves in the middle of everything.
import { Client } from 'zkrecipes'

// Which of these calls the close is faster than does not matter here.
process.on('unhandledRejection', () => {})

const [hosts, taken, free] = process.argv.slice(2)
const client = await Client.connect(hosts)
const held = await client.lock(free).acquire()
held.onLost(() => {})
client.onState(() => {})
void client.lock(taken).acquire()
void client.lock(taken).run(() => {})
void held.verify()
void client.nodes.get('/')
void Client.connect(hosts)
void client.close()
setTimeout(() => process.exit(3), Math.random() * 20)
