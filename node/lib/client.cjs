'use strict'

const { AsyncResource } = require('node:async_hooks')
const check = require('./check.cjs')
const { addon, done, listen, loop, now, stopListening } = require('./calls.cjs')
const { asyncDispose, made } = require('./dispose.cjs')
const { deliver, invalid, kindOf } = require('./errors.cjs')
const { Lock, MultiLock, ReadWriteLock, nativesOf } = require('./lock.cjs')
const { Nodes } = require('./nodes.cjs')
const { Semaphore } = require('./semaphore.cjs')
const { withdrawable } = require('./waits.cjs')

// Somebody who listens wants to hear, whether or not they keep the client in a variable: until the client is closed.
const listenedTo = new Set()

// The addon knows a client by a weak reference, so that one that is dropped without `close()` can be collected.
const subscriptions = new FinalizationRegistry(stopListening)

let changed

/** One session with ZooKeeper, shared by any number of recipes. */
class Client {
  #native
  #nodes
  #listeners = new Set()
  #watched = false

  static {
    changed = (client, state) => client.#changed(state)
  }

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use await Client.connect(hosts, options)')
    this.#native = native
  }

  static async connect(hosts, options) {
    // Nothing given is a question to the environment, which the core answers.
    const where = hosts === undefined || hosts === null ? '' : check.text('hosts', hosts)
    const settings = connectOptions(options)
    const client = new Client(made, await done(() => addon.connect(loop, where, settings)))
    if ((where || process.env.ZKRECIPES_HOSTS).startsWith('embedded:')) warnOfEmbedded()
    return client
  }

  /** Ends the session: waiters get CLOSED, holders are released, background deletions are awaited. */
  async close(options) {
    const timeout = check.millis('timeout', check.options('close', options, ['timeout']).timeout)
    await done(() => this.#native.close(timeout))
  }

  async [asyncDispose]() {
    await this.close()
  }

  get state() {
    return now(() => this.#native.state())
  }

  get sessionId() {
    return now(() => this.#native.sessionId())
  }

  /** Milliseconds, as negotiated with the server. */
  get sessionTimeout() {
    return now(() => this.#native.sessionTimeout())
  }

  /** How many milliseconds the server certainly still honours this session; 0 while nothing is held. */
  get leaseRemaining() {
    return now(() => this.#native.leaseRemaining())
  }

  version() {
    return version()
  }

  /** Calls back with every new state. */
  onState(callback) {
    check.callable('callback', callback)
    // An object of its own, so that the same function given twice is called twice.
    const listener = { callback: AsyncResource.bind(callback) }
    this.#watch()
    this.#listeners.add(listener)
    listenedTo.add(this)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) listenedTo.delete(this)
    }
  }

  lock(path, options) {
    check.text('path', path)
    const { reentrant, localHandoff } = check.options('lock', options, ['reentrant', 'localHandoff'])
    check.flag('reentrant', reentrant)
    check.integer('localHandoff', localHandoff, 0, 2 ** 32 - 1)
    return new Lock(made, now(() => this.#native.lock(path, { reentrant, localHandoff })))
  }

  readWriteLock(path) {
    check.text('path', path)
    return new ReadWriteLock(made, now(() => this.#native.readWriteLock(path)))
  }

  /** Several locks of this client as one: all or none. */
  multiLock(locks) {
    const natives = nativesOf(locks)
    return new MultiLock(made, now(() => this.#native.multiLock(natives)))
  }

  semaphore(path, permits) {
    check.text('path', path)
    check.count('permits', permits)
    return new Semaphore(made, now(() => this.#native.semaphore(path, permits)))
  }

  /** Whether the acquisition that a sequencer names still stands. */
  async checkSequencer(sequencer) {
    check.text('sequencer', sequencer)
    return done(() => this.#native.checkSequencer(sequencer))
  }

  /** Resolves when the acquisition that a sequencer names no longer stands. */
  async watchSequencer(sequencer, options) {
    check.text('sequencer', sequencer)
    const signal = check.signal(check.options('watchSequencer', options, ['signal']).signal)
    await withdrawable(() => this.#native.watchSequencer(sequencer), signal)
  }

  get nodes() {
    this.#nodes ??= new Nodes(made, now(() => this.#native.nodes()))
    return this.#nodes
  }

  #watch() {
    if (this.#watched) return
    this.#watched = true
    const number = now(() => this.#native.onState())
    listen(number, watcher(new WeakRef(this)))
    subscriptions.register(this, number)
  }

  #changed(state) {
    if (state === 'closed') listenedTo.delete(this)
    for (const listener of [...this.#listeners]) {
      // One that an earlier one has unsubscribed is not called any more.
      if (this.#listeners.has(listener)) deliver('onState', listener.callback, state)
    }
  }
}

// Outside the class: a closure made in a method would keep `this` alive.
function watcher(client) {
  return (state) => {
    const watched = client.deref()
    if (watched) changed(watched, state)
  }
}

let warned = false

function warnOfEmbedded() {
  if (warned) return
  warned = true
  process.emitWarning(
    'embedded: is an in-memory server inside this process, for development and tests; its data is gone when the process ends',
    'ZkRecipesWarning',
  )
}

const OPTIONS = [
  'sessionTimeout', 'connectTimeout', 'identity', 'auth', 'acl', 'tls', 'sasl', 'naming', 'retry', 'lease', 'readOnly',
]

/** Checks names and types, and brings shorthands into the one form that the addon takes. */
function connectOptions(given) {
  const options = check.options('connect', given, OPTIONS)
  return {
    sessionTimeout: check.optionalMillis('sessionTimeout', options.sessionTimeout),
    connectTimeout: check.optionalMillis('connectTimeout', options.connectTimeout),
    identity: check.optionalText('identity', options.identity),
    auth: options.auth === undefined ? undefined : [options.auth].flat().map(credential),
    acl: accessList(options.acl),
    tls: group('tls', options.tls, { ca: check.optionalText, cert: check.optionalText, key: check.optionalText, verifyHostname: check.flag }),
    sasl: group('sasl', options.sasl, { user: check.text, password: check.text }),
    naming: check.optionalText('naming', options.naming),
    retry: group('retry', options.retry, { base: check.optionalMillis, max: check.optionalMillis, giveUpAfter: check.optionalMillis }),
    lease: check.optionalText('lease', options.lease),
    readOnly: check.flag('readOnly', options.readOnly),
  }
}

function credential(auth) {
  return group('auth', auth, { scheme: check.text, credential: (name, value) => Buffer.from(check.bytes(name, value)) }, true)
}

function accessList(acl) {
  if (acl === undefined || typeof acl === 'string') return acl
  if (!Array.isArray(acl)) throw invalid('acl', `must be 'open', 'creator' or an array of entries, not ${kindOf(acl)}`)
  return acl.map((entry) => group('acl', entry, { scheme: check.text, id: check.text, permissions: check.text }, true))
}

/** An option that is an object of its own. */
function group(name, value, checks, required = false) {
  if (value === undefined && !required) return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(name, `must be an object with ${Object.keys(checks).join(', ')}, not ${kindOf(value)}`)
  }
  check.options(name, value, Object.keys(checks))
  return Object.fromEntries(Object.entries(checks).map(([key, checked]) => [key, checked(`${name}.${key}`, value[key])]))
}

/** The version of the library. */
function version() {
  return now(() => addon.version())
}

module.exports = { Client, version }
