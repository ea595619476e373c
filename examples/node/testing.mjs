// Tests what a program does when its session expires, against a server inside the test:
//
//   node examples/node/testing.mjs

import { once } from 'node:events'
import { Client } from 'zkrecipes'
import { EmbeddedServer } from 'zkrecipes/testing'

const server = EmbeddedServer.start()
const client = await Client.connect(server.connectString)
const held = await client.lock('/locks/report').acquire()

// The create is carried out, its answer never arrives.
server.inject('drop_after create* path=/locks/other/**')
await client.lock('/locks/other').run(() => {})

server.expire(client.sessionId)
if (!held.signal.aborted) await once(held.signal, 'abort')
console.log(`the lock was lost: ${held.signal.reason.reason}`)
console.log(`${server.count('create*', '/locks/**')} creates`)

await client.close()
server.shutdown()
