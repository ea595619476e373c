// A worker of the demo in Node: takes the lock, works inside for a moment, gives it back, until told to stop.

import { appendFileSync, existsSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'zkrecipes'

const [hosts, path, identity, home, sessionMs] = process.argv.slice(2)
const file = (name) => join(home, name)

function note(what, token) {
  appendFileSync(file('journal'), `${what} ${identity} ${token} ${process.hrtime.bigint()}\n`)
}

const client = await Client.connect(hosts, { identity, sessionTimeout: Number(sessionMs) })
const lock = client.lock(path)
while (!existsSync(file('stop'))) {
  await lock.run(async (held) => {
    if (existsSync(file('stop'))) return
    try {
      writeFileSync(file('inside'), identity, { flag: 'wx' })
    } catch {
      note('collision', held.fencingToken)
      return
    }
    note('enter', held.fencingToken)
    const counter = Number(readFileSync(file('counter'), 'utf8'))
    await sleep(60 + Math.random() * 120)
    // At once: whoever is killed meanwhile leaves the old value.
    writeFileSync(file('counter.new'), String(counter + 1))
    renameSync(file('counter.new'), file('counter'))
    note('leave', held.fencingToken)
    unlinkSync(file('inside'))
  })
}
await client.close()
