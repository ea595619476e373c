'use strict'

const check = require('./check.cjs')
const { made } = require('./dispose.cjs')
const { notHeld } = require('./errors.cjs')
const { Held, isReleased, leave, releaseOptions } = require('./held.cjs')
const { Waits } = require('./waits.cjs')

/** What a handle has acquired and who waits through it: shared by all that is acquired and released. */
class Kept {
  #path
  // The innermost last. The handle keeps what it acquired, as the addon's does: `lock.acquire()` … `lock.release()`
  // works without a variable for the Held, and its `onLost` callbacks live as long.
  #all = []
  #waits = new Waits()

  /** The path is for error texts. */
  constructor(path) {
    this.#path = path
  }

  /** Waits for what a verb of the addon acquires; null when an attempt got nothing. */
  async acquire(verb, signal) {
    const native = await this.#waits.wait(verb, signal, { path: this.#path, undo: (native) => native.releaseInBackground() })
    if (!native) return null
    this.#all = this.#all.filter((held) => held.isHeld)
    const held = new Held(made, native)
    this.#all.push(held)
    return held
  }

  /** Acquires, runs the body, and releases on any exit. */
  async run(body, verb, signal) {
    const held = await this.acquire(verb, signal)
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

  /** Waits for a verb of the addon that acquires nothing. */
  async wait(verb, signal) {
    return this.#waits.wait(verb, signal, { path: this.#path })
  }

  /** Wakes the waits in progress, never later ones. */
  cancel() {
    this.#waits.cancel()
  }

  async release(options) {
    releaseOptions(options)
    await this.current.release(options)
  }

  get isHeld() {
    return this.#innermost()?.isHeld ?? false
  }

  /** What was acquired last and not released. */
  get current() {
    const held = this.#innermost()
    if (!held) throw notHeld('nothing was acquired', this.#path)
    return held
  }

  /** The same, as long as it is held. */
  get standing() {
    const held = this.current
    if (!held.isHeld) throw notHeld('it was lost before', this.#path)
    return held
  }

  onLost(callback) {
    check.callable('callback', callback)
    return this.current.onLost(callback)
  }

  #innermost() {
    return this.#all.findLast((held) => !isReleased(held))
  }
}

module.exports = { Kept }
