// zkrecipes in Node: ours.mjs HOSTS SESSION_MS, with the built package in ZKR_BENCH_NODE.

import { createRequire } from 'node:module'
import { join } from 'node:path'

import { listed, lockVerbs, now, serve } from './line.mjs'

const begun = now()
const { Client, version } = createRequire(import.meta.url)(join(process.env.ZKR_BENCH_NODE, 'lib', 'index.cjs'))
const imported = now() - begun

const [hosts, sessionTimeout] = process.argv.slice(2)
const client = await Client.connect(hosts, { sessionTimeout: Number(sessionTimeout) })

// A waiter has a handle of its own, and keeps it.
const handles = new Map()
function handle(path, waiter = '') {
  const key = `${path} ${waiter}`
  if (!handles.has(key)) handles.set(key, client.lock(path))
  return handles.get(key)
}

const verbs = lockVerbs({
  acquire: (path, waiter) => handle(path, waiter).acquire(),
  release: (held) => held.release(),
  background: (held) => held.release({ wait: false }),
})

verbs.counter = async (order) => {
  const counter = client.counter(order.path)
  const both = []
  for (let left = order.number('ops'); left > 0; left--) {
    const begun = now()
    await counter.add(1)
    both.push(now() - begun)
  }
  return listed({ both })
}

await serve(verbs, `version=${version()} import=${imported}`)
