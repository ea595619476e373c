'use strict'

const check = require('./check.cjs')
const { done, now } = require('./calls.cjs')
const { made } = require('./dispose.cjs')
const { invalid, notHeld } = require('./errors.cjs')
const { Held, isReleased, leave, releaseOptions } = require('./held.cjs')
const { Waits, waitOptions } = require('./waits.cjs')

/** A mutual exclusion lock. */
class Lock {
  #native
  // The innermost last. The handle keeps what it acquired, as the addon's does: `lock.acquire()` … `lock.release()`
  // works without a variable for the Held, and its `onLost` callbacks live as long.
  #kept = []
  #waits = new Waits()

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use client.lock(path)')
    this.#native = native
  }

  get path() {
    return now(() => this.#native.path())
  }

  /** Waits until the lock is ours. */
  async acquire(options) {
    const { timeout, signal } = waitOptions('acquire', options)
    return this.#wait(() => this.#native.acquire(timeout), signal)
  }

  /** One attempt: null when somebody else holds it. */
  async tryAcquire() {
    return this.#wait(() => this.#native.tryAcquire())
  }

  /** Holds the lock while the body runs, and releases it on any exit. */
  async run(body, options) {
    check.callable('body', body)
    const { timeout, signal } = waitOptions('run', options)
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
    this.#waits.cancel()
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
    const native = await this.#waits.wait(verb, signal, { path: this.path, undo: (native) => native.releaseInBackground() })
    if (!native) return null
    this.#kept = this.#kept.filter((held) => held.isHeld)
    const held = new Held(made, native)
    this.#kept.push(held)
    return held
  }
}

module.exports = { Lock }
