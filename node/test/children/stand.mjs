// Stands in an election, and exits when it is told to by a signal.
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'zkrecipes'

const [hosts, path, how] = process.argv.slice(2)
const client = await Client.connect(hosts, { sessionTimeout: 30_000 })
const election = client.election(path)
process.on('SIGUSR2', () => process.exit(0))
console.log('stands')

const hows = {
  'exits while it campaigns': () => election.campaign(),
  'exits while it leads': () => election.campaign(),
  'exits in a run': () => election.run(({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve))),
  'leads once': () =>
    election.run(async (leadership) => {
      console.log('leads')
      await leadership.acknowledge()
      election.cancel()
    }).then(() => console.log('over')),
  'closes its client in a term': () =>
    election.run(async () => {
      await client.close()
      // From here on nothing but the run keeps the process alive.
      await sleep(10)
    }).catch((error) => console.log(error.code)),
}
await hows[how]()
