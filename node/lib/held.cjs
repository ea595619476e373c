'use strict'

const { AsyncResource } = require('node:async_hooks')
const check = require('./check.cjs')
const { done, listen, now, stopListening } = require('./calls.cjs')
const { asyncDispose, made } = require('./dispose.cjs')
const { ZkRecipesError, deliver, invalid } = require('./errors.cjs')
const { Transaction } = require('./nodes.cjs')

// A Held that nobody refers to any more is released by the addon. So what the addon calls must not keep it alive: it
// knows it by a weak reference, and the subscription ends with it.
const subscriptions = new FinalizationRegistry(stopListening)

let lose, leave, isReleased

/** One acquisition. */
class Held {
  #native
  #watched = false
  #listeners = new Set()
  #loss
  #controller

  static {
    lose = (held, failure) => held.#lose(failure)
    leave = (held, bodyFailed) => done(() => held.#native.leave(bodyFailed))
    isReleased = (held) => now(() => held.#native.isReleased())
  }

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use lock.acquire()')
    this.#native = native
  }

  get path() {
    return now(() => this.#native.path())
  }

  /** The full path of the node that stands for this acquisition. */
  get node() {
    return now(() => this.#native.node())
  }

  get fencingToken() {
    return now(() => this.#native.fencingToken())
  }

  get isHeld() {
    return now(() => this.#native.isHeld())
  }

  get sequencer() {
    return now(() => this.#native.sequencer())
  }

  async verify() {
    await done(() => this.#native.verify())
  }

  guarded() {
    return new Transaction(made, now(() => this.#native.guarded()))
  }

  /** Calls back once with the LOST error when it is lost, at once if it already is, never for a release. */
  onLost(callback) {
    check.callable('callback', callback)
    // An object of its own, so that the same function given twice is called twice.
    const listener = { callback: AsyncResource.bind(callback) }
    this.#listeners.add(listener)
    if (this.#loss) queueMicrotask(() => this.#tell())
    else this.#watch()
    return () => void this.#listeners.delete(listener)
  }

  /** Aborts when it is lost, with the LOST error for a reason; never on release. */
  get signal() {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#loss) this.#controller.abort(this.#loss)
      else this.#watch()
    }
    return this.#controller.signal
  }

  async release(options) {
    const wait = releaseOptions(options)
    if (wait) await done(() => this.#native.release())
    else now(() => this.#native.releaseInBackground())
  }

  async [asyncDispose]() {
    await leave(this, false)
  }

  #watch() {
    if (this.#watched) return
    this.#watched = true
    const number = now(() => this.#native.onLost())
    listen(number, loser(new WeakRef(this), number))
    subscriptions.register(this, number)
  }

  #lose(failure) {
    this.#loss = new ZkRecipesError(failure)
    this.#controller?.abort(this.#loss)
    this.#tell()
  }

  #tell() {
    for (const listener of [...this.#listeners]) {
      // One that an earlier one has unsubscribed is not called any more, and none is called twice.
      if (this.#listeners.delete(listener)) deliver('onLost', listener.callback, this.#loss)
    }
  }
}

/** Whether to wait for the confirmation. */
function releaseOptions(options) {
  return check.flag('wait', check.options('release', options, ['wait']).wait) ?? true
}

// Outside the class: a closure made in a method would keep `this` alive.
function loser(held, number) {
  return (failure) => {
    stopListening(number)
    const lost = held.deref()
    if (lost) lose(lost, failure)
  }
}

module.exports = { Held, isReleased, leave, releaseOptions }
