'use strict'

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
  #letGo = false
  #watched = false
  #listeners = new Set()
  #loss
  #controller

  static {
    lose = (held, failure) => held.#lose(failure)
    leave = (held, bodyFailed) => held.#leave(bodyFailed)
    isReleased = (held) => held.#letGo || now(() => held.#native.isReleased())
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
    return !this.#letGo && now(() => this.#native.isHeld())
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
    const listener = { callback }
    if (this.#loss) {
      const loss = this.#loss
      let unsubscribed = false
      queueMicrotask(() => unsubscribed || deliver('onLost', callback, loss))
      return () => void (unsubscribed = true)
    }
    this.#watch()
    this.#listeners.add(listener)
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
    // At once, while the addon's own word for it is a thread away.
    this.#letGo = true
    if (wait) await done(() => this.#native.release())
    else now(() => this.#native.releaseInBackground())
  }

  async [asyncDispose]() {
    await this.#leave(false)
  }

  async #leave(bodyFailed) {
    this.#letGo = true
    await done(() => this.#native.leave(bodyFailed))
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
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const { callback } of listeners) deliver('onLost', callback, this.#loss)
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
