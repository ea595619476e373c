// Enters a round of one, and does nothing more, or what it is told.

import { Client } from 'zkrecipes'

const [, , hosts, path, how] = process.argv
const client = await Client.connect(hosts)
const barrier = client.doubleBarrier(path, 1)
await barrier.enter()
process.on('SIGUSR2', () => process.exit(7))
console.log('in')
if (how === 'leaves') await barrier.leave()
if (how === 'withdraws') barrier.withdraw()
if (how === 'closes') await client.close()
