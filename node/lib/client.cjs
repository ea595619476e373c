'use strict'

const { AsyncResource } = require('node:async_hooks')
const { DoubleBarrier } = require('./barrier.cjs')
const check = require('./check.cjs')
const { Calls, addon, listen, loop, now, stopListening } = require('./calls.cjs')
const { TwoPhaseCommit } = require('./commit.cjs')
const { asyncDispose, made } = require('./dispose.cjs')
const { deliver } = require('./errors.cjs')
const { Lock, MultiLock, ReadWriteLock, nativesOf } = require('./lock.cjs')
const { snapshot } = require('./metrics.cjs')
const { Nodes } = require('./nodes.cjs')
const { clientOptions, lockOptions } = require('./options.cjs')
const { Remote, ask, call, callsOf, make, nativeOf, own, properties, wait } = require('./remote.cjs')
const { inspect, shown } = require('./shown.cjs')
const { Waits } = require('./abort_signals.cjs')
// --- generated from api: recipes of the client
const { Barrier } = require('./barrier.cjs')
const { Config } = require('./config.cjs')
const { Counter } = require('./counter.cjs')
const { Discovery } = require('./discovery.cjs')
const { Election } = require('./election.cjs')
const { Group } = require('./group.cjs')
const { Latch } = require('./latch.cjs')
const { Names } = require('./names.cjs')
const { Partitioner } = require('./partitioner.cjs')
const { DelayQueue, PriorityQueue, Queue } = require('./queue.cjs')
const { Semaphore } = require('./semaphore.cjs')
const { counterOptions, electionOptions, groupOptions, partitionerOptions, queueOptions } = require('./options.cjs')
// --- end of generated

// Somebody who listens wants to hear, whether or not they keep the client in a variable: until the client is closed.
const listenedTo = new Set()

// The addon knows a client by a weak reference, so that one that is dropped without `close()` can be collected.
const subscriptions = new FinalizationRegistry(stopListening)

let changed

/** One session with ZooKeeper, shared by any number of recipes. */
class Client extends Remote {
  #hosts
  #nodes
  #listeners = new Set()
  #watched = false

  static {
    properties(this, 'state', 'sessionId', 'sessionTimeout', 'leaseRemaining')
    changed = (client, state) => client.#changed(state)
  }

  constructor(key, calls, native, hosts) {
    super(key, calls, native, 'await Client.connect(hosts, options)')
    this.#hosts = hosts || 'ZKRECIPES_HOSTS'
    calls.callbackTimes = now(() => native.callbackTimes())
  }

  static async connect(hosts, options) {
    // Nothing given is a question to the environment, which the core answers.
    const where = hosts === undefined || hosts === null ? '' : check.text('hosts', hosts)
    const { signal, ...settings } = clientOptions('connect', options)
    const calls = new Calls()
    const verb = () => addon.connect(loop, where, settings)
    // One that comes after the caller has withdrawn is closed.
    const native = await new Waits(calls).wait(verb, signal, { undo: (native) => native.close(Infinity) })
    return new Client(made, calls, native, where)
  }

  /** What `console.log` shows. */
  [inspect](_depth, options, show) {
    return shown(this, options, show, { hosts: this.#hosts })
  }

  /** Has other servers tried from now on; a connection with one of them stays. */
  updateHosts(hosts) {
    call(this, 'updateHosts', check.text('hosts', hosts))
    this.#hosts = hosts || 'ZKRECIPES_HOSTS'
  }

  /** Ends the session: waiters get CLOSED, holders are released, background deletions are awaited. TIMEOUT: no server confirmed. */
  async close(options) {
    const timeout = check.millis('timeout', check.options('close', options, ['timeout']).timeout)
    // Not one of this client's calls: an `unref()` says that what it holds need not be waited for, but whoever closes waits.
    const native = nativeOf(own(this))
    try {
      await new Calls().done(() => native.close(timeout))
    } finally {
      // Also when no server has confirmed it: nothing of this client is worth waiting for any more.
      callsOf(this).end()
    }
  }

  async [asyncDispose]() {
    await this.close()
  }

  version() {
    return version()
  }

  /** Undoes `unref()`. */
  ref() {
    callsOf(this).ref()
    return this
  }

  /** From now on the process may end although this client holds something or waits. */
  unref() {
    callsOf(this).unref()
    return this
  }

  /** What this client has done and seen since it connected, and how it stands. */
  get metrics() {
    return snapshot(call(this, 'metrics'), call(this, 'prometheus'))
  }

  /** The nodes that recipes went on without, by path, and why. */
  get skipped() {
    return call(this, 'skipped')
  }

  /** Calls back with every new state. */
  onState(callback) {
    check.callable('callback', callback)
    call(this, 'checkOpen')
    // An object of its own, so that the same function given twice is called twice.
    const listener = { callback: AsyncResource.bind(callback) }
    this.#watch()
    this.#listeners.add(listener)
    listenedTo.add(this)
    const unsubscribe = () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) listenedTo.delete(this)
    }
    return unsubscribe
  }

  lock(path, options) {
    return make(Lock, this, 'lock', check.text('path', path), lockOptions('lock', options))
  }

  readWriteLock(path) {
    return make(ReadWriteLock, this, 'readWriteLock', check.text('path', path))
  }

  /** Several locks of this client as one: all or none. */
  multiLock(locks) {
    return make(MultiLock, this, 'multiLock', nativesOf(locks))
  }

  // --- generated from api: factories
  barrier(path) {
    return make(Barrier, this, 'barrier', check.text('path', path))
  }

  config(path) {
    return make(Config, this, 'config', check.text('path', path))
  }

  counter(path, options) {
    return make(Counter, this, 'counter', check.text('path', path), counterOptions('counter', options))
  }

  delayQueue(path, options) {
    return make(DelayQueue, this, 'delayQueue', check.text('path', path), queueOptions('delayQueue', options))
  }

  discovery(path) {
    return make(Discovery, this, 'discovery', check.text('path', path))
  }

  election(path, data = '', options) {
    return make(Election, this, 'election', check.text('path', path), check.bytes('data', data, 'election(path, data, options)'), electionOptions('election', options))
  }

  group(path, options) {
    return make(Group, this, 'group', check.text('path', path), groupOptions('group', options))
  }

  latch(path, count) {
    return make(Latch, this, 'latch', check.text('path', path), check.count('count', count))
  }

  names(path) {
    return make(Names, this, 'names', check.text('path', path))
  }

  partitioner(path, partitions, options) {
    return make(Partitioner, this, 'partitioner', check.text('path', path), check.partitions('partitions', partitions), partitionerOptions('partitioner', options))
  }

  priorityQueue(path, options) {
    return make(PriorityQueue, this, 'priorityQueue', check.text('path', path), queueOptions('priorityQueue', options))
  }

  queue(path, options) {
    return make(Queue, this, 'queue', check.text('path', path), queueOptions('queue', options))
  }

  semaphore(path, permits) {
    return make(Semaphore, this, 'semaphore', check.text('path', path), check.count('permits', permits))
  }
  // --- end of generated

  doubleBarrier(path, parties, name) {
    const options = check.isOptions(parties, name)
      ? check.options('doubleBarrier', parties, ['parties', 'name'])
      : { parties, ...check.orOption('doubleBarrier', 'name', name, undefined, []) }
    const all = check.count('parties', options.parties)
    return make(DoubleBarrier, this, 'doubleBarrier', check.text('path', path), all, check.optionalText('name', options.name))
  }

  twoPhaseCommit(path, mode) {
    const options = check.orOption('twoPhaseCommit', 'mode', mode, undefined, [])
    return make(TwoPhaseCommit, this, 'twoPhaseCommit', check.text('path', path), check.optionalText('mode', options.mode))
  }

  // --- generated from api: verbs of Client
  async checkSequencer(sequencer, options) {
    return ask(this, 'checkSequencer', options, check.text('sequencer', sequencer))
  }

  async watchSequencer(sequencer, options) {
    await wait(this, 'watchSequencer', options, check.text('sequencer', sequencer))
  }
  async whoami(options) {
    return ask(this, 'whoami', options)
  }
  // --- end of generated

  get nodes() {
    this.#nodes ??= make(Nodes, this, 'nodes')
    return this.#nodes
  }

  #watch() {
    if (this.#watched) return
    this.#watched = true
    const number = call(this, 'onState')
    listen(number, watcher(new WeakRef(this)))
    subscriptions.register(this, number)
  }

  #changed(state) {
    if (state === 'closed') listenedTo.delete(this)
    for (const listener of [...this.#listeners]) {
      // One that an earlier one has unsubscribed is not called any more.
      if (this.#listeners.has(listener)) deliver('onState', listener.callback, state, callsOf(this).callbackTimes)
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

/** The version of the library. */
function version() {
  return now(() => addon.version())
}

module.exports = { Client, version }
