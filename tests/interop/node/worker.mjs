// The Node worker of the crowd; ../README.md says what a worker is.

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '../../../node/lib/index.js'

const [name, hosts, path, folder, seconds] = process.argv.slice(2)
const now = () => process.hrtime.bigint()

/** Counts up, with nothing but the lock to keep others from doing the same. */
function work(token) {
  const enter = now()
  const counter = join(folder, 'counter')
  writeFileSync(counter, `${Number(readFileSync(counter, 'utf8')) + 1}\n`)
  appendFileSync(join(folder, 'log'), `${name} ${token} ${enter} ${now()}\n`)
}

const client = await Client.connect(hosts)
const lock = client.lock(path)
const end = now() + BigInt(seconds) * 1_000_000_000n
while (now() < end) await lock.run((held) => work(held.fencingToken))
await client.close()
