'use strict'

const { AsyncResource } = require('node:async_hooks')
const check = require('./check.cjs')
const { listen, now, stopListening } = require('./calls.cjs')
const { deliver, timed } = require('./errors.cjs')

// A Held that nobody refers to any more is released by the addon. So what the addon calls must not keep it alive: it knows
// its events by weak references, and the subscription ends with them.
const subscriptions = new FinalizationRegistry(stopListening)

/** What may happen to an acquisition, once: callbacks and a signal hear of it, also those who ask later. */
class OneTimeEvent {
  #name
  #arm
  #reasonFor
  #times
  #isArmed = false
  #reason
  #listeners = new Set()
  #controller

  /**
   * `arm` is called, with this, when the first wants to hear of it; `reasonFor` makes the signal's reason of what the addon brings;
   * `times` hears how long the callbacks took.
   */
  constructor(name, arm, reasonFor, times) {
    this.#name = name
    this.#arm = arm
    this.#reasonFor = reasonFor
    this.#times = times
  }

  /**
   * The addon brings it under this number. `afterwards` is called when everybody has been told, or when nobody is there to be
   * told any more; it must not refer to what this event belongs to.
   */
  comesAs(number, afterwards) {
    listen(number, receiver(new WeakRef(this), number, afterwards))
    subscriptions.register(this, number)
  }

  /** Calls back when it happens, at once if it has. */
  on(callback) {
    check.callable('callback', callback)
    // An object of its own, so that the same function given twice is called twice.
    const listener = { callback: AsyncResource.bind(callback) }
    this.#listeners.add(listener)
    if (this.#reason) queueMicrotask(() => this.#tell())
    else this.#watch()
    const unsubscribe = () => void this.#listeners.delete(listener)
    return unsubscribe
  }

  get signal() {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
      else this.#watch()
    }
    return this.#controller.signal
  }

  happen(news) {
    this.#reason = this.#reasonFor(news)
    if (this.#controller) timed(this.#times, (reason) => this.#controller.abort(reason), this.#reason)
    this.#tell()
  }

  #watch() {
    if (this.#isArmed) return
    this.#isArmed = true
    now(() => this.#arm(this))
  }

  #tell() {
    for (const listener of [...this.#listeners]) {
      // One that an earlier one has unsubscribed is not called any more, and none is called twice.
      if (this.#listeners.delete(listener)) deliver(this.#name, listener.callback, this.#reason, this.#times)
    }
  }
}

// Outside the class: a closure made in a method would keep `this` alive.
function receiver(event, number, afterwards = () => {}) {
  return (news) => {
    stopListening(number)
    event.deref()?.happen(news)
    // Not sooner: the process may end as soon as nothing keeps it alive.
    afterwards()
  }
}

module.exports = { OneTimeEvent }
