'use strict'

const { AsyncResource } = require('node:async_hooks')
const { listen, stopListening } = require('./calls.cjs')
const check = require('./check.cjs')
const { deliver } = require('./errors.cjs')
const { call, callsOf } = require('./remote.cjs')

let stop, tell

// What is waited through may be released or withdrawn when nobody refers to it any more. So callbacks, which may refer to it,
// are its own; the addon tells them through a weak reference, and of what is garbage nobody listens to the waits.
const subscriptions = new FinalizationRegistry(stopListening)

/** Who wants to hear of the waits through one object. */
class Listeners {
  // What the addon waits through.
  #remote
  // Whoever can unsubscribe has the key alone, and does not keep what the callback refers to.
  #all = new Map()
  // The number under which the addon tells, as long as anybody listens.
  #number

  static {
    tell = (listeners, progress) => listeners.#tell(progress)
    stop = (listeners, key) => listeners.#stop(key)
  }

  constructor(remote) {
    this.#remote = remote
  }

  /** Answers what unsubscribes. */
  add(callback) {
    check.callable('callback', callback)
    const key = Symbol('onWait')
    this.#begin()
    this.#all.set(key, AsyncResource.bind(callback))
    return unsubscriber(new WeakRef(this), key)
  }

  #begin() {
    // It refuses where the client is closed, also if somebody listens already.
    const number = call(this.#remote, 'onWait')
    if (this.#number !== undefined) return call(this.#remote, 'offWait', number)
    this.#number = number
    listen(number, teller(new WeakRef(this)))
    subscriptions.register(this, number, this)
  }

  #tell(progress) {
    for (const [key, callback] of [...this.#all]) {
      // One that an earlier one has unsubscribed is not called any more.
      if (this.#all.has(key)) deliver('onWait', callback, progressOf(progress), callsOf(this.#remote).callbackTimes)
    }
  }

  #stop(key) {
    if (!this.#all.delete(key) || this.#all.size > 0) return
    // With nobody to tell, nothing is looked at.
    const number = this.#number
    this.#number = undefined
    subscriptions.unregister(this)
    stopListening(number)
    call(this.#remote, 'offWait', number)
  }
}

// Outside the class: a closure made in a method would keep `this` alive.
function teller(listeners) {
  return (progress) => {
    const waited = listeners.deref()
    if (waited) tell(waited, progress)
  }
}

function unsubscriber(listeners, key) {
  const unsubscribe = () => {
    const heard = listeners.deref()
    if (heard) stop(heard, key)
  }
  return unsubscribe
}

/** As the addon has it, with a date. */
function contenderOf(contender) {
  return { ...contender, since: new Date(contender.since) }
}

function progressOf({ path, waited, ahead = null, holder }) {
  return { path, waited, ahead, holder: holder ? contenderOf(holder) : null }
}

module.exports = { Listeners, contenderOf }
