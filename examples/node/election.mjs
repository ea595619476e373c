// One of many leads, and everybody knows who. Start it twice, and end the one that leads:
//
//   node examples/node/election.mjs zk1:2181

import { once } from 'node:events'

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
// Of all who stand the one with the highest priority leads.
const election = client.election('/leader', '10.0.0.7:80', { priority: 1 })

// Leads term after term, and stands only while it is healthy. The work should end when its signal aborts: then somebody else may lead.
const healthy = () => process.memoryUsage().rss < 2 ** 31
const running = election.run(async (leadership) => {
  console.log('leading')
  await leadership.acknowledge('10.0.0.7:80, ready')
  // It may have ended before this listens.
  if (!leadership.signal.aborted) await once(leadership.signal, 'abort')
  console.log('leading no more')
}, { healthy })

for await (const leader of election.observe()) {
  console.log(leader ? `leader: ${leader.data}` : 'nobody leads')
  if (leader?.acknowledged) break
}

// Stops the run, or does the process, and nobody has to wait until its session expires.
election.cancel()
await running
await client.close()
