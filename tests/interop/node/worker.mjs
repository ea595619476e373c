// The Node worker of the crowd; ../README.md says what a worker is.

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { Client } from '../../../node/lib/index.js'

const [name, hosts, naming, kind, path, counter, log, seconds, stay] = process.argv.slice(2)
const now = () => process.hrtime.bigint()

/** Counts up, with nothing but the recipe to keep others from doing the same. */
async function work(token) {
  const enter = now()
  writeFileSync(counter, `${Number(readFileSync(counter, 'utf8')) + 1}\n`)
  if (stay > 0) await setTimeout(Number(stay))
  appendFileSync(log, `${name} ${token} ${enter} ${now()}\n`)
}

const client = await Client.connect(hosts, { naming })
const permits = kind.split(':')[1]
const recipe = permits ? client.semaphore(path, Number(permits)) : client.lock(path)
process.stdout.write('ready\n')
for await (const _ of process.stdin) continue
const end = now() + BigInt(seconds) * 1_000_000_000n
do await recipe.run((held) => work(held.fencingToken))
while (now() < end)
await client.close()
