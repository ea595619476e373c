// Tests what a program does when its session expires, against a server inside the test:
//
//   node examples/node/testing.mjs

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'zkrecipes'
import { EmbeddedServer } from 'zkrecipes/testing'

const server = EmbeddedServer.start()
const client = await Client.connect(server.connectString)

// The create is carried out, its answer never arrives.
server.inject('drop_after create* path=/locks/report/**')

try {
  await client.lock('/locks/report').run(async (held) => {
    server.expire(client.sessionId)
    // The work, which is stopped by the loss.
    await sleep(60_000, undefined, { signal: held.signal })
  })
} catch (error) {
  console.log(`the work was stopped, and the lock was lost: ${error.cause.reason}`)
}
console.log(`${server.count('create*', '/locks/**')} creates`)

await client.close()
server.shutdown()
