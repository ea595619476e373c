'use strict'

const check = require('./check.cjs')
const { done, now, start } = require('./calls.cjs')
const { made } = require('./dispose.cjs')
const { AbortError, ZkRecipesError, invalid, notHeld } = require('./errors.cjs')
const { Held, isReleased, leave, releaseOptions } = require('./held.cjs')

/** A mutual exclusion lock. */
class Lock {
  #native
  // The innermost last. The handle keeps what it acquired, as the addon's does: `lock.acquire()` … `lock.release()`
  // works without a variable for the Held, and its `onLost` callbacks live as long.
  #kept = []
  #waits = new Set()

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use client.lock(path)')
    this.#native = native
  }

  get path() {
    return now(() => this.#native.path())
  }

  /** Waits until the lock is ours. */
  async acquire(options) {
    const { timeout, signal } = waiting('acquire', options)
    return this.#wait(() => this.#native.acquire(timeout), signal)
  }

  /** One attempt: null when somebody else holds it. */
  async tryAcquire() {
    return this.#wait(() => this.#native.tryAcquire())
  }

  /** Holds the lock while the body runs, and releases it on any exit. */
  async run(body, options) {
    check.callable('body', body)
    const { timeout, signal } = waiting('run', options)
    const held = await this.#wait(() => this.#native.acquire(timeout), signal)
    let result
    try {
      result = await body(held)
    } catch (error) {
      // The body's own error is never masked.
      await leave(held, true).catch(() => {})
      throw error
    }
    await leave(held, false)
    return result
  }

  /** Wakes the waits in progress on this handle, never later ones. */
  cancel() {
    for (const withdraw of [...this.#waits]) withdraw()
  }

  async release(options) {
    releaseOptions(options)
    await this.#current().release(options)
  }

  get isHeld() {
    return this.#innermost()?.isHeld ?? false
  }

  get fencingToken() {
    const held = this.#current()
    if (!held.isHeld) throw notHeld('it was lost before', this.path)
    return held.fencingToken
  }

  async verify() {
    await this.#current().verify()
  }

  guarded() {
    return this.#current().guarded()
  }

  onLost(callback) {
    check.callable('callback', callback)
    return this.#current().onLost(callback)
  }

  /** Who holds the lock and who waits for it, in order. */
  async contenders() {
    const contenders = await done(() => this.#native.contenders())
    return contenders.map((contender) => ({ ...contender, since: new Date(contender.since) }))
  }

  #innermost() {
    return this.#kept.findLast((held) => !isReleased(held))
  }

  #current() {
    const held = this.#innermost()
    if (!held) throw notHeld('nothing was acquired', this.path)
    return held
  }

  async #wait(verb, signal) {
    if (signal?.aborted) throw signal.reason
    const call = start(verb)
    let withdrawn
    const withdraw = (by) => {
      withdrawn ??= by
      call.withdraw()
    }
    const aborted = () => withdraw('signal')
    const cancelled = () => withdraw('cancel')
    if (signal) listen(signal, aborted)
    this.#waits.add(cancelled)
    const { failure, value } = await call.outcome
    if (signal) stopListening(signal, aborted)
    this.#waits.delete(cancelled)
    if (withdrawn) {
      // It may have been ours already when the caller withdrew.
      if (value) abandon(value)
      throw withdrawn === 'signal' ? signal.reason : new AbortError(this.path)
    }
    if (failure) throw new ZkRecipesError(failure)
    if (!value) return null
    this.#kept = this.#kept.filter((held) => held.isHeld)
    const held = new Held(made, value)
    this.#kept.push(held)
    return held
  }
}

// One listener for all the waits that share a signal: a service passes the signal of its shutdown to every call, and Node warns
// from eleven listeners on.
const aborts = new WeakMap()

function listen(signal, aborted) {
  let waits = aborts.get(signal)
  if (!waits) {
    const all = new Set()
    waits = { all, tell: () => [...all].forEach((each) => each()) }
    aborts.set(signal, waits)
  }
  if (waits.all.size === 0) signal.addEventListener('abort', waits.tell)
  waits.all.add(aborted)
}

function stopListening(signal, aborted) {
  const waits = aborts.get(signal)
  waits.all.delete(aborted)
  if (waits.all.size === 0) signal.removeEventListener('abort', waits.tell)
}

/** The options of every verb that waits. */
function waiting(verb, options) {
  const { timeout, signal } = check.options(verb, options, ['timeout', 'signal'])
  return { timeout: check.millis('timeout', timeout), signal: check.signal(signal) }
}

function abandon(native) {
  try {
    native.releaseInBackground()
  } catch {
    // Lost in the meantime: there is nothing left to release.
  }
}

module.exports = { Lock }
