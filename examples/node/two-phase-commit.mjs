// An order that the stock and the billing both take, or neither.
//
//   node examples/node/two-phase-commit.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')

async function site(name) {
  const commits = client.twoPhaseCommit('/commits/orders')
  await commits.join(name)
  return async () => {
    const proposal = await commits.next({ timeout: 60_000 })
    // From here on it must be possible, also after a crash.
    await proposal.voteCommit()
    const outcome = await proposal.outcome()
    await proposal.acknowledge()
    await commits.leave()
    return `${name}: ${outcome} ${proposal.payload}`
  }
}
const sites = await Promise.all(['stock', 'billing'].map(site))

const order = await client.twoPhaseCommit('/commits/orders').begin('order-17', ['stock', 'billing'], '3 chairs', 60_000)
const [outcome, ...done] = await Promise.all([order.outcome(), ...sites.map((work) => work())])
console.log(`decided: ${outcome}`)
for (const line of done) console.log(line)

await client.close()
