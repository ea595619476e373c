// node-zookeeper-client with the lock recipe of ZooKeeper's documentation, which it has not: peer.mjs HOSTS SESSION_MS, with
// the installed package in ZKR_BENCH_PEER.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { lockVerbs, now, serve } from './line.mjs'

const begun = now()
const require = createRequire(join(process.env.ZKR_BENCH_PEER, 'package.json'))
const zookeeper = require('node-zookeeper-client')
const imported = now() - begun
const { version } = require('node-zookeeper-client/package.json')

const [hosts, sessionTimeout] = process.argv.slice(2)
const client = zookeeper.createClient(hosts, { sessionTimeout: Number(sessionTimeout) })
await new Promise((resolve) => {
  client.once('connected', resolve)
  client.connect()
})

const create = promisify(client.create.bind(client))
const children = promisify((path, done) => client.getChildren(path, (error, names) => done(error, names)))
const remove = promisify((path, done) => client.remove(path, -1, done))
const mkdirp = promisify(client.mkdirp.bind(client))

/** Settles once the node has gone; at once if it is not there. */
function gone(path) {
  return new Promise((resolve, reject) => {
    client.exists(
      path,
      () => resolve(),
      (error, stat) => {
        if (error) reject(error)
        else if (!stat) resolve()
      },
    )
  })
}

const made = new Set()

async function acquire(path) {
  if (!made.has(path)) {
    await mkdirp(path)
    made.add(path)
  }
  const node = await create(`${path}/lock-`, Buffer.from('bench'), null, zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL)
  const name = node.slice(path.length + 1)
  for (;;) {
    const names = (await children(path)).sort()
    const at = names.indexOf(name)
    if (at === 0) return node
    await gone(`${path}/${names[at - 1]}`)
  }
}

await serve(lockVerbs({ acquire, release: remove }), `version=${version} import=${imported}`)
