// The scenario driver in JavaScript: commands by line on stdin, answers and events by line on stdout.
// tests/drivers/README.md is the protocol.

import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'
import { Client, Semaphore, ZkRecipesError } from '../../../node/lib/index.js'

v8.setFlagsFromString('--expose-gc')
const collectGarbage = vm.runInNewContext('gc')

const clients = new Map()
const locks = new Map()
const running = new Map()

/** What was acquired through which handle; gone with the handle. */
const acquired = new WeakMap()

function keep(lock, held) {
  acquired.set(lock, [...(acquired.get(lock) ?? []), held].filter(({ isHeld }) => isHeld))
  return held.fencingToken
}

function current(lock) {
  const held = acquired.get(lock)?.findLast(({ isHeld }) => isHeld)
  if (!held) throw new Unknown('nothing is held', 'NOT_HELD')
  return held
}

const say = (line) => process.stdout.write(`${line}\n`)

/** Absent = one. */
const count = (text) => (text === undefined ? undefined : Number(text))

/** Absent = for ever. */
const millis = (text) => (text === undefined || text === '-' ? undefined : Number(text))

const verbs = {
  async connect({ name }, hosts, ...settings) {
    const names = { session_timeout: 'sessionTimeout', connect_timeout: 'connectTimeout', identity: 'identity' }
    const options = {}
    for (const setting of settings) {
      const [key, value] = setting.split('=', 2)
      options[names[key] ?? key] = key === 'identity' ? value : Number(value)
    }
    clients.set(name, await Client.connect(hosts, options))
  },
  close: ({ client }, timeout) => client.close({ timeout: millis(timeout) }),
  state: ({ client }) => client.state,
  session: ({ client }) => client.sessionId,
  lease: ({ client }) => Math.floor(client.leaseRemaining),
  'watch-state': ({ client, name }) => void client.onState((state) => say(`event ${name} state ${state}`)),
  lock({ client, key }, name, path, ...settings) {
    const options = {}
    for (const setting of settings) {
      if (setting === 'reentrant') options.reentrant = true
      else if (setting.startsWith('handoff=')) options.localHandoff = Number(setting.slice('handoff='.length))
      else throw new Unknown(`${setting} is no setting of a lock`)
    }
    locks.set(key(name), client.lock(path, options))
  },
  rwlock({ client, key }, name, path) {
    const { read, write } = client.readWriteLock(path)
    locks.set(key(`${name}.read`), read)
    locks.set(key(`${name}.write`), write)
  },
  multilock({ client, key }, name, ...names) {
    locks.set(key(name), client.multiLock(names.map((name) => locks.get(key(name)))))
  },
  semaphore({ client, key }, name, path, permits) {
    locks.set(key(name), client.semaphore(path, Number(permits)))
  },
  async acquire({ lock, signal }, _, timeout, n) {
    const options = { timeout: millis(timeout), signal }
    return keep(lock, await (lock instanceof Semaphore ? lock.acquire(count(n), options) : lock.acquire(options)))
  },
  async try({ lock }, _, n) {
    const held = await lock.tryAcquire(count(n))
    return held ? keep(lock, held) : 'none'
  },
  release: ({ lock }, _, nowait) => lock.release({ wait: nowait !== 'nowait' }),
  verify: ({ lock }) => lock.verify(),
  cancel: ({ lock }) => lock.cancel(),
  held: ({ lock }) => lock.isHeld,
  token: ({ lock }) => lock.fencingToken,
  passes: ({ lock }) => current(lock).passes,
  tokens: ({ lock }) => current(lock).fencingTokens,
  'watch-lost': ({ lock, name }, handle) => void lock.onLost((error) => say(`event ${name} lost ${handle} ${error.reason}`)),
  contenders: async ({ lock }) => (await lock.contenders()).map(({ identity, holds }) => identity + (holds ? '*' : '')),
  holders: async ({ lock }) => (await lock.holders()).map(({ identity }) => identity),
  resize: ({ lock }, _, permits) => lock.resize(Number(permits)),
  revoke({ lock, signal }, _, node, forceAfter) {
    return lock.revoke({ contender: node === '-' ? undefined : node, forceAfter: millis(forceAfter), signal })
  },
  'watch-revoke': ({ lock, name }, handle) => void current(lock).onRevoke(() => say(`event ${name} revoked ${handle}`)),
  sequencer: ({ lock }) => current(lock).sequencer,
  'check-sequencer': ({ client }, sequencer) => client.checkSequencer(sequencer),
  'watch-sequencer': ({ client, signal }, sequencer) => client.watchSequencer(sequencer, { signal }),
  async free({ key }, name) {
    locks.delete(key(name))
    // Whoever lets go of a handle in earnest waits for the collector; a test cannot. A few turns, because what was awaited
    // just now is still on its way out.
    for (let round = 0; round < 5; round++) {
      await turn()
      collectGarbage()
    }
  },
  'guarded-set': ({ lock }, _, path, data) => lock.guarded().set(path, data).commit(),
  'guarded-create': ({ lock }, _, path, data) => lock.guarded().create(path, data).commit(),
  create: async ({ client }, path, data) => void (await client.nodes.create(path, data)),
  set: async ({ client }, path, data) => void (await client.nodes.set(path, data)),
  delete: ({ client }, path) => client.nodes.delete(path),
  get: async ({ client }, path) => String((await client.nodes.get(path)).data),
  exists: async ({ client }, path) => (await client.nodes.exists(path)) !== null,
  children: ({ client }, path) => client.nodes.children(path),
}

const needsLock = new Set([
  'acquire', 'try', 'release', 'verify', 'cancel', 'held', 'token', 'tokens', 'passes', 'watch-lost', 'contenders', 'holders', 'resize',
  'revoke', 'watch-revoke', 'sequencer', 'guarded-set', 'guarded-create',
])

class Unknown extends Error {
  constructor(message, code = 'INVALID') {
    super(message)
    this.code = code
  }
}

async function perform(name, verb, args, signal) {
  const client = clients.get(name)
  if (!client && verb !== 'connect') throw new Unknown(`${name} has not connected`)
  const key = (handle) => `${name} ${handle}`
  // Only for verbs of the lock: `free` must not keep in its frame what it sets free.
  const lock = needsLock.has(verb) ? locks.get(key(args[0])) : undefined
  if (!lock && needsLock.has(verb)) throw new Unknown(`${args[0]} has not been made`)
  if (!Object.hasOwn(verbs, verb)) throw new Unknown(`${verb} is no verb`)
  return verbs[verb]({ name, client, lock, key, signal }, ...args)
}

async function answer(seq, name, verb, args) {
  const controller = new AbortController()
  running.set(seq, controller)
  try {
    const value = await perform(name, verb, args, controller.signal)
    const values = value === undefined ? [] : [value].flat()
    say([seq, 'ok', ...values].join(' '))
  } catch (error) {
    const withdrawn = error.name === 'AbortError'
    if (!withdrawn && !(error instanceof ZkRecipesError || error instanceof Unknown)) console.error(error)
    say(`${seq} error ${withdrawn ? 'CANCELLED' : (error.code ?? 'INTERNAL')}${error.reason ? ` ${error.reason}` : ''}`)
    console.error(`${seq} ${verb}: ${error.message}`)
  } finally {
    running.delete(seq)
  }
}

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const [seq, name, verb, ...args] = line.split(' ')
  if (seq === 'quit') process.exit(0)
  if (verb === 'withdraw') {
    running.get(args[0])?.abort()
    say(`${seq} ok`)
  } else void answer(seq, name, verb, args)
})
lines.on('close', () => process.exit(0))
