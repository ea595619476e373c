'use strict'

const check = require('./check.cjs')
const { done, now } = require('./calls.cjs')
const { made } = require('./dispose.cjs')
const { invalid, kindOf } = require('./errors.cjs')
const { Kept } = require('./kept.cjs')
const { waitOptions } = require('./waits.cjs')

/** One of `contenders()`, or its node. */
function nodeOf(contender) {
  const isContender = typeof contender === 'object' && contender !== null && 'node' in contender
  return isContender ? contender.node : (contender ?? undefined)
}

/** The arguments of `revoke(contender, options)` or `revoke(options)`, as the addon takes them. */
function revocationOf(contender, options) {
  const isOptions = check.isOptions(contender, options) && !('node' in contender)
  const given = isOptions
    ? check.options('revoke', contender, ['contender', 'forceAfter', 'signal'])
    : { ...check.options('revoke', options, ['forceAfter', 'signal']), contender }
  return {
    contender: check.optionalText('contender', nodeOf(given.contender)),
    forceAfter: check.millis('forceAfter', given.forceAfter),
    signal: check.signal(given.signal),
  }
}

/** As the addon has them, with dates. */
function contendersOf(contenders) {
  return contenders.map((contender) => ({ ...contender, since: new Date(contender.since) }))
}

let nativeOf

/** A mutual exclusion lock, or one side of a read/write lock. */
class Lock {
  #native
  #kept

  static {
    nativeOf = (lock) => {
      if (!(typeof lock === 'object' && lock !== null && #native in lock)) {
        throw invalid('locks', `must be locks of client.lock(path), not ${kindOf(lock)}`)
      }
      return lock.#native
    }
  }

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use client.lock(path)')
    this.#native = native
    this.#kept = new Kept(now(() => native.path()))
  }

  get path() {
    return now(() => this.#native.path())
  }

  /** Waits until the lock is ours. */
  async acquire(options) {
    const { timeout, signal } = waitOptions('acquire', options)
    return this.#kept.acquire(() => this.#native.acquire(timeout), signal)
  }

  /** One attempt: null when somebody else holds it. */
  async tryAcquire() {
    return this.#kept.acquire(() => this.#native.tryAcquire())
  }

  /** Holds the lock while the body runs, and releases it on any exit. */
  async run(body, options) {
    check.callable('body', body)
    const { timeout, signal } = waitOptions('run', options)
    return this.#kept.run(body, () => this.#native.acquire(timeout), signal)
  }

  /** Wakes the waits in progress on this handle, never later ones. */
  cancel() {
    this.#kept.cancel()
  }

  async release(options) {
    await this.#kept.release(options)
  }

  get isHeld() {
    return this.#kept.isHeld
  }

  get fencingToken() {
    return this.#kept.standing.fencingToken
  }

  async verify() {
    await this.#kept.current.verify()
  }

  guarded() {
    return this.#kept.current.guarded()
  }

  onLost(callback) {
    return this.#kept.onLost(callback)
  }

  /** Who holds the lock and who waits for it, in order. */
  async contenders() {
    return contendersOf(await done(() => this.#native.contenders()))
  }

  /** Asks whoever holds, or the contender of that node, to let go; deletes its node when it has not in time. */
  async revoke(contender, options) {
    const wanted = revocationOf(contender, options)
    return this.#kept.wait(() => this.#native.revoke(wanted.contender, wanted.forceAfter), wanted.signal)
  }
}

/** Readers share, writers exclude everybody. */
class ReadWriteLock {
  #native
  #read
  #write

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use client.readWriteLock(path)')
    this.#native = native
    this.#read = new Lock(made, now(() => native.read()))
    this.#write = new Lock(made, now(() => native.write()))
  }

  get path() {
    return now(() => this.#native.path())
  }

  get read() {
    return this.#read
  }

  get write() {
    return this.#write
  }
}

/** Several locks as one: all or none. */
class MultiLock {
  #native
  #kept

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use client.multiLock(locks)')
    this.#native = native
    this.#kept = new Kept(this.paths.join(' '))
  }

  /** In the order in which they are acquired, and in which the tokens come. */
  get paths() {
    return now(() => this.#native.paths())
  }

  /** Waits until all are ours. */
  async acquire(options) {
    const { timeout, signal } = waitOptions('acquire', options)
    return this.#kept.acquire(() => this.#native.acquire(timeout), signal)
  }

  /** One attempt: null when somebody else holds one of them. */
  async tryAcquire() {
    return this.#kept.acquire(() => this.#native.tryAcquire())
  }

  /** Holds all of them while the body runs, and releases them on any exit. */
  async run(body, options) {
    check.callable('body', body)
    const { timeout, signal } = waitOptions('run', options)
    return this.#kept.run(body, () => this.#native.acquire(timeout), signal)
  }

  cancel() {
    this.#kept.cancel()
  }

  async release(options) {
    await this.#kept.release(options)
  }

  get isHeld() {
    return this.#kept.isHeld
  }

  /** The first of the tokens. */
  get fencingToken() {
    return this.#kept.standing.fencingToken
  }

  get fencingTokens() {
    return this.#kept.standing.fencingTokens
  }

  async verify() {
    await this.#kept.current.verify()
  }

  guarded() {
    return this.#kept.current.guarded()
  }

  onLost(callback) {
    return this.#kept.onLost(callback)
  }

  /** Who holds the locks and who waits for them, in the order of the paths. */
  async contenders() {
    return contendersOf(await done(() => this.#native.contenders()))
  }

  /** Asks whoever holds any of the locks, or the contender of that node; deletes its node when it has not let go in time. */
  async revoke(contender, options) {
    const wanted = revocationOf(contender, options)
    return this.#kept.wait(() => this.#native.revoke(wanted.contender, wanted.forceAfter), wanted.signal)
  }
}

/** What the addon takes for `client.multiLock`. */
function nativesOf(locks) {
  if (!Array.isArray(locks)) throw invalid('locks', `must be an array of locks, not ${kindOf(locks)}`)
  // Array.from visits holes too.
  return Array.from(locks, nativeOf)
}

module.exports = { Lock, MultiLock, ReadWriteLock, contendersOf, nativesOf, revocationOf }
