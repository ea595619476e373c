// Takes a lock three ways. Run it with a connect string, or without for a server inside this process:
//
//   node examples/node/lock.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const lock = client.lock('/locks/report')

// Held for as long as the body runs, and released on any exit.
await lock.run(async (held) => {
  console.log(`working, with fencing token ${held.fencingToken}`)
})

// By hand, waiting for five seconds at most.
const held = await lock.acquire({ timeout: 5000 })
try {
  held.onLost((error) => console.log(`stop working: ${error.message}`))
  await client.nodes.ensure('/reports')
  await held.guarded().create('/reports/entry-', 'written while holding', 'persistent_sequential').commit()
  console.log(`still held: ${held.isHeld}`)
} finally {
  await held.release()
}

// Only if it is free.
const free = await lock.tryAcquire()
console.log(free ? 'it was free' : 'somebody else holds it')
await free?.release()

await client.close()
