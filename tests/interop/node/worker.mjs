// The Node worker of the crowd; ../README.md says what a worker is.

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { Client } from '../../../node/lib/index.js'

const [name, hosts, naming, kind, path, counter, log, seconds] = process.argv.slice(2)
const now = () => process.hrtime.bigint()

/** Counts up, with nothing but the recipe to keep others from doing the same. */
function work(token) {
  const enter = now()
  writeFileSync(counter, `${Number(readFileSync(counter, 'utf8')) + 1}\n`)
  appendFileSync(log, `${name} ${token} ${enter} ${now()}\n`)
}

const client = await Client.connect(hosts, { naming })
const permits = kind.split(':')[1]
const recipe = permits ? client.semaphore(path, Number(permits)) : client.lock(path)
const end = now() + BigInt(seconds) * 1_000_000_000n
while (now() < end) await recipe.run((held) => work(held.fencingToken))
await client.close()
