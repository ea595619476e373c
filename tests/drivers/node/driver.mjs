// The scenario driver in JavaScript: commands by line on stdin, answers and events by line on stdout.
// tests/drivers/README.md is the protocol.

import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'
import { Backlog, Client, Semaphore, ZkRecipesError } from '../../../node/lib/index.js'
import { commits } from './commits.mjs'
import { WORDS, optionsOf } from './generated.mjs'
import { items, queues } from './queues.mjs'
import { services } from './services.mjs'
import { WatchedNode, leading, map, tellerOf, versioned } from './told.mjs'

v8.setFlagsFromString('--expose-gc')
const collectGarbage = vm.runInNewContext('gc')

const clients = new Map()
/** Of every recipe. */
const handles = new Map()
const running = new Map()

/** How to end the terms in progress. */
const terms = new Map()
/** Those of which `run` says that they are not healthy. */
const unhealthy = new Set()

/** What is followed. */
const feeds = new Map()

/** What was acquired through which handle; gone with the handle. */
const acquired = new WeakMap()

function keep(handle, held) {
  acquired.set(handle, [...(acquired.get(handle) ?? []), held].filter(({ isHeld }) => isHeld))
  return held.fencingToken
}

/** Also one that is held no more. */
const lastWon = (handle) => acquired.get(handle)?.at(-1)

function current(handle) {
  const held = acquired.get(handle)?.findLast(({ isHeld }) => isHeld)
  if (!held) throw new Unknown('nothing is held', 'NOT_HELD')
  return held
}

const say = (line) => process.stdout.write(`${line}\n`)

/** Absent = one. */
const count = (text) => (text === undefined ? undefined : Number(text))

/** Absent = for ever. */
const millis = (text) => (text === undefined || text === '-' ? undefined : Number(text))

const identities = (contenders) => contenders.map(({ identity, holds }) => identity + (holds ? '*' : ''))

/** Tells what a feed tells, until it ends by itself or is closed. */
async function follow(name, named, feed, told) {
  try {
    for await (const item of feed) say(['event', name, 'told', named, ...told(item)].join(' '))
    if (feeds.has(`${name} ${named}`)) say(`event ${name} ended ${named} closed`)
  } catch (error) {
    say(`event ${name} ended ${named} ${error.code}`)
  }
}

/** The arguments of a word that is described, from the front of what it says. */
function read(words, takes, of) {
  const values = []
  const options = {}
  for (const [name, kind] of takes) {
    if (kind === 'options') Object.assign(options, optionsOf(of, words))
    else if (kind === 'limit') options.timeout = millis(words.shift())
    else if (kind === 'version') options.version = count(words.shift())
    else if (kind === 'i64') values.push(BigInt(words.shift()))
    else if (kind === 'count') values.push(Number(words.shift()))
    else if (kind === 'partitions') values.push(partitionsOf(words.shift()))
    else if (kind === 'bool') values.push(words.shift() === name)
    else values.push(words.shift())
  }
  return { values, options }
}

/** Names, or how many. */
const partitionsOf = (text) => (/^\d+$/.test(text) ? Number(text) : text.split(','))

const pairs = (all) => Object.keys(all).sort().map((name) => `${name}=${all[name] ?? '-'}`).join(',') || '-'

const SAYS = {
  owners: pairs,
  weights: pairs,
  versioned,
  entries: map,
  bytes_or_none: (data) => String(data ?? 'none'),
}

/** What the words do that are described. */
const described = Object.fromEntries(Object.entries(WORDS).map(([word, { of, name, kind, takes, says }]) => [word,
  async (command, named, ...words) => {
    const { values, options } = read(words, takes, of)
    if (kind === 'new') {
      if (Object.keys(options).length > 0) values.push(options)
      return void handles.set(command.key(named), command.client[name](...values))
    }
    if (kind === 'question') return command.handle[name]
    if (kind === 'waits') values.push({ ...options, signal: command.signal })
    const said = await command.handle[name](...values)
    return (SAYS[says] ?? ((it) => it))(said)
  },
]))

const verbs = {
  ...described,
  async connect({ name }, hosts, ...settings) {
    clients.set(name, await Client.connect(hosts, optionsOf('client', settings)))
  },
  close: ({ client }, timeout) => client.close({ timeout: millis(timeout) }),
  'update-hosts': ({ client }, hosts) => client.updateHosts(hosts),
  state: ({ client }) => client.state,
  session: ({ client }) => client.sessionId,
  lease: ({ client }) => Math.floor(client.leaseRemaining),
  waiting: ({ client }) => client.metrics.waiting,
  skipped: ({ client }) => pairs(client.skipped),
  'watch-state': ({ client, name }) => void client.onState((state) => say(`event ${name} state ${state}`)),
  lock({ client, key }, name, path, ...settings) {
    handles.set(key(name), client.lock(path, optionsOf('lock', settings)))
  },
  rwlock({ client, key }, name, path) {
    const { read, write } = client.readWriteLock(path)
    handles.set(key(`${name}.read`), read)
    handles.set(key(`${name}.write`), write)
  },
  multilock({ client, key }, name, ...names) {
    handles.set(key(name), client.multiLock(names.map((name) => handles.get(key(name)))))
  },
  semaphore({ client, key }, name, path, permits) {
    handles.set(key(name), client.semaphore(path, Number(permits)))
  },
  election({ client, key }, name, path, ...settings) {
    const { data, ...options } = optionsOf('election', settings)
    handles.set(key(name), client.election(path, data, options))
  },
  campaign: async ({ handle, signal }, _, timeout) => keep(handle, await handle.campaign({ timeout: millis(timeout), signal })),
  resign: ({ handle }, _, nowait) => handle.resign({ wait: nowait !== 'nowait' }),
  leads: ({ handle }) => handle.isLeader,
  acknowledge: ({ handle, signal }, _, data) => lastWon(handle).acknowledge(data, { signal }),
  leader: async ({ handle, signal }) => leading(await handle.leader({ signal })),
  candidates: async ({ handle }) => identities(await handle.candidates()),
  run({ handle, name, key, signal }, named) {
    const term = async (leadership) => {
      const ended = new Promise((resolve, reject) => {
        leadership.signal.addEventListener('abort', resolve)
        if (leadership.signal.aborted) resolve()
        terms.set(key(named), (fails) => (fails ? reject(new Error('told to fail')) : resolve()))
      })
      say(`event ${name} term ${named} ${leadership.epoch}`)
      await ended.finally(() => say(`event ${name} over ${named} ${leadership.epoch}`))
    }
    return handle.run(term, { signal, healthy: () => !unhealthy.has(key(named)) })
  },
  'set-healthy'({ key }, named, healthy) {
    if (healthy === 'yes') unhealthy.delete(key(named))
    else unhealthy.add(key(named))
  },
  transfer: ({ handle, signal }, _, to) => handle.transfer(to, { signal }),
  'end-term'({ key }, named, fail) {
    const end = terms.get(key(named))
    if (!end) throw new Unknown(`${named} leads no term`)
    terms.delete(key(named))
    end(fail === 'fail')
  },
  async 'next-partition'({ handle, name, signal }, named, timeout) {
    const won = await handle.next({ timeout: millis(timeout), signal })
    const partition = won.name
    won.onRevoke(() => say(`event ${name} revoked ${named} ${partition}`))
    won.onLost((error) => say(`event ${name} lost ${named} ${partition} ${error.reason}`))
    acquired.set(handle, (acquired.get(handle) ?? new Map()).set(partition, won))
    return partition
  },
  async 'config-update'({ handle, signal }, _, suffix) {
    const { value, version } = await handle.update((before) => `${before ?? ''}${suffix}`, { signal })
    return `${version} ${value}`
  },
  'bind-ttl': ({ handle, signal }, _, of, data, ttl) => handle.bind(of, data, { ttl: Number(ttl), signal }),
  'has-partition': ({ handle }, _, partition) => acquired.get(handle).get(partition).isHeld,
  'release-partition': ({ handle }, _, partition) => acquired.get(handle).get(partition).release(),
  ...queues(handles),
  ...commits(handles),
  ...services(handles),
  'watch-node'({ client, key }, name, path, kind) {
    // Looks at the kind, as the feed does that follows.
    void client.nodes.watch(path, kind).return()
    handles.set(key(name), new WatchedNode(client, path, kind))
  },
  follow({ handle, name, key }, named) {
    const feed = handle.watch?.() ?? handle.observe()
    feeds.set(key(named), feed)
    void follow(name, named, feed, tellerOf(handle))
  },
  async unfollow({ key }, named) {
    const feed = feeds.get(key(named))
    feeds.delete(key(named))
    await feed.return()
  },
  async acquire({ handle, signal }, _, timeout, n) {
    const options = { timeout: millis(timeout), signal }
    return keep(handle, await (handle instanceof Semaphore ? handle.acquire(count(n), options) : handle.acquire(options)))
  },
  async try({ handle }, _, n) {
    const held = await handle.tryAcquire(count(n))
    return held ? keep(handle, held) : 'none'
  },
  release: ({ handle }, _, nowait) => handle.release({ wait: nowait !== 'nowait' }),
  async downgrade({ handle, key, signal }, named) {
    return keep(handles.get(key(named.replace('.write', '.read'))), await handle.downgrade({ signal }))
  },
  verify: ({ handle }) => handle.verify(),
  cancel: ({ handle }) => handle.cancel(),
  held: ({ handle }) => handle.isHeld,
  token: ({ handle }) => handle.fencingToken,
  passes: ({ handle }) => current(handle).passes,
  tokens: ({ handle }) => current(handle).fencingTokens,
  'watch-lost': ({ handle, name }, named) => void handle.onLost((error) => say(`event ${name} lost ${named} ${error.reason}`)),
  contenders: async ({ handle }) => identities(await handle.contenders()),
  holders: async ({ handle }) => (await handle.holders()).map(({ identity }) => identity),
  resize: ({ handle }, _, permits) => handle.resize(Number(permits)),
  revoke({ handle, signal }, _, node, forceAfter) {
    return handle.revoke({ contender: node === '-' ? undefined : node, forceAfter: millis(forceAfter), signal })
  },
  'watch-revoke': ({ handle, name }, named) => void current(handle).onRevoke(() => say(`event ${name} revoked ${named}`)),
  sequencer: ({ handle }) => current(handle).sequencer,
  'check-sequencer': ({ client }, sequencer) => client.checkSequencer(sequencer),
  'watch-sequencer': ({ client, signal }, sequencer) => client.watchSequencer(sequencer, { signal }),
  async free({ key }, name) {
    handles.delete(key(name))
    // Whoever lets go of a handle in earnest waits for the collector; a test cannot. A few turns, because what was awaited
    // just now is still on its way out.
    for (let round = 0; round < 5; round++) {
      await turn()
      collectGarbage()
    }
  },
  'guarded-set': ({ handle }, _, path, data) => handle.guarded().set(path, data).commit(),
  'guarded-create': ({ handle }, _, path, data) => handle.guarded().create(path, data).commit(),
  create: async ({ client }, path, data) => void (await client.nodes.create(path, data)),
  set: async ({ client }, path, data) => void (await client.nodes.set(path, data)),
  delete: ({ client }, path) => client.nodes.delete(path),
  get: async ({ client }, path) => String((await client.nodes.get(path)).data),
  exists: async ({ client }, path) => (await client.nodes.exists(path)) !== null,
  children: ({ client }, path) => client.nodes.children(path),
  ephemerals: ({ client }, path) => client.nodes.ephemerals(path),
}

class Unknown extends Error {
  constructor(message, code = 'INVALID') {
    super(message)
    this.code = code
  }
}

async function perform(name, verb, args, signal) {
  const client = clients.get(name)
  if (!client && verb !== 'connect') throw new Unknown(`${name} has not connected`)
  const key = (named) => `${name} ${named}`
  if (!Object.hasOwn(verbs, verb)) throw new Unknown(`${verb} is no verb`)
  const command = {
    name, client, key, signal,
    // Looked up by the verb that asks for it: `free` must not keep in its frame what it sets free.
    get handle() {
      const handle = handles.get(key(args[0]))
      if (!handle) throw new Unknown(`${args[0]} has not been made`)
      return handle
    },
  }
  const speaksOfAnItem = Object.hasOwn(items, verb) && command.handle instanceof Backlog
  return (speaksOfAnItem ? items : verbs)[verb](command, ...args)
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
