// Candidates in Node; elections.py starts them.

import { once } from 'node:events'
import { connect } from 'node:net'
import { Client } from '../../node/lib/index.js'

const [hosts, path, name, count, port, session] = process.argv.slice(2)

/** Tells the resource that somebody leads; false if it refuses. */
async function act(resource, epoch, candidate) {
  resource.write(`${epoch} ${candidate}\n`)
  const [answer] = await once(resource, 'data')
  return String(answer) === 'ok\n'
}

const client = await Client.connect(hosts, { sessionTimeout: Number(session), connectTimeout: 60_000 })

async function stand(candidate) {
  const election = client.election(path, candidate)
  await election.run(async (leadership) => {
    const resource = connect(Number(port), '127.0.0.1')
    try {
      await leadership.acknowledge(candidate)
      const acts = 1 + Number(leadership.epoch % 5n)
      for (let done = 0; done < acts && leadership.isHeld; done++) {
        if (!(await act(resource, leadership.epoch, candidate))) break
      }
    } finally {
      resource.destroy()
    }
  })
}

const candidates = Array.from({ length: Number(count) }, (_, number) =>
  stand(`${name}-${number + 1}`).catch((error) => {
    if (error.code !== 'CLOSED') throw error
  }),
)
for await (const _ of process.stdin) continue
await client.close()
await Promise.all(candidates)
