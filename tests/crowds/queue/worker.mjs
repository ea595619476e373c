// A worker at a queue in Node; ../README.md says what a worker does.

import { once } from 'node:events'
import { connect } from 'node:net'
import { Client } from '../../../node/lib/index.js'

const BATCH = 100
const SIZE = 100

const [hosts, path, session, bound, role, ...rest] = process.argv.slice(2)

const client = await Client.connect(hosts, { sessionTimeout: Number(session), connectTimeout: 60_000 })

async function produce(first, last) {
  const queue = client.queue(path, { maxItems: Number(bound) })
  for (; first < last; first += BATCH) {
    const items = []
    for (let number = first; number < Math.min(first + BATCH, last); number++) items.push(String(number).padEnd(SIZE))
    await queue.putMany(items)
  }
}

async function get(queue) {
  return queue.get()
}

async function claim(queue, counter) {
  const item = await queue.claim()
  await item.ackWith(client.nodes.transaction().set(counter, ''))
  return item.data
}

async function consume(take, register) {
  for (;;) {
    try {
      register.write(`${Number(String(await take()))}\n`)
    } catch (error) {
      if (error.code === 'CLOSED') return
      if (error.code === 'CONNECTION_LOST') register.write('?\n')
      else if (error.code !== 'NOT_HELD') throw error
    }
  }
}

if (role === 'put') {
  await produce(Number(rest[0]), Number(rest[1]))
  await client.close()
} else {
  const [calls, port, counter] = rest
  const register = connect(Number(port), '127.0.0.1')
  await once(register, 'connect')
  const queue = client.queue(path)
  const take = role === 'claim' ? () => claim(queue, counter) : () => get(queue)
  const consumers = Array.from({ length: Number(calls) }, () => consume(take, register))
  for await (const _ of process.stdin) continue
  await client.close()
  await Promise.all(consumers)
  register.end()
}
