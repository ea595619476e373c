'use strict'

const { AsyncResource } = require('node:async_hooks')
const { listen, stopListening } = require('./calls.cjs')
const check = require('./check.cjs')
const { made } = require('./dispose.cjs')
const { deliver, notHeld } = require('./errors.cjs')
const { Held, isReleased, leave, releaseOptions } = require('./held.cjs')
const { Remote, ask, attend, call, callsOf, cancel, make } = require('./remote.cjs')
const { waitOptions } = require('./waits.cjs')

let handleOf, keep, standing, stopHearing, tellWait

// What a handle holds is released when nobody refers to it any more. So its callbacks, which may refer to it, are its own; the
// addon tells them through a weak reference, and of a handle that is garbage nobody listens to the waits.
const subscriptions = new FinalizationRegistry(stopListening)

/** Everything that can be acquired. */
class Handle extends Remote {
  // The addon has the verbs of all recipes once, too.
  #handle = make(Remote, this, 'handle')
  // The innermost last. The handle keeps what it acquired, as the addon's does: `lock.acquire()` … `lock.release()`
  // works without a variable for the Held, and its `onLost` callbacks live as long.
  #all = []
  // Who wants to hear of its waits, and the number under which the addon tells them as long as anybody does. Whoever can
  // unsubscribe has the key alone, and does not keep what the callback refers to.
  #listeners = new Map()
  #waits

  static {
    handleOf = (recipe) => recipe.#handle
    keep = (handle, held) => {
      handle.#all = handle.#all.filter((kept) => kept.isHeld)
      handle.#all.push(held)
      return held
    }
    standing = (handle) => handle.#standing
    tellWait = (handle, progress) => handle.#tellWait(progress)
    stopHearing = (handle, key) => handle.#stopHearing(key)
  }

  async acquire(options) {
    return acquire(this, waitOptions('acquire', options))
  }

  /** One attempt: null when it is not to be had. */
  async tryAcquire(options) {
    return attempt(this, check.options('tryAcquire', options, ['signal']))
  }

  /** Holds while the body runs, and releases on any exit. */
  async run(body, options) {
    return run(this, body, waitOptions('run', options))
  }

  /** Wakes the waits in progress on this handle, never later ones. */
  cancel() {
    cancel(this.#handle)
  }

  async release(options) {
    releaseOptions(options)
    await this.#current.release(options)
  }

  get isHeld() {
    return this.#innermost()?.isHeld ?? false
  }

  get fencingToken() {
    return this.#standing.fencingToken
  }

  async verify(options) {
    await this.#current.verify(options)
  }

  guarded() {
    return this.#current.guarded()
  }

  /** Calls back while an acquire through this handle waits: for whom, and how long already. */
  onWait(callback) {
    check.callable('callback', callback)
    const key = Symbol('onWait')
    this.#hearWaits()
    this.#listeners.set(key, AsyncResource.bind(callback))
    return unsubscriber(new WeakRef(this), key)
  }

  onLost(callback) {
    check.callable('callback', callback)
    return this.#current.onLost(callback)
  }

  onRevoke(callback) {
    check.callable('callback', callback)
    return this.#current.onRevoke(callback)
  }

  /** Who holds and who waits, in order. */
  async contenders(options) {
    return contendersOf(await ask(this.#handle, 'contenders', options))
  }

  /** Asks whoever holds, or the contender of that node, to let go; deletes what was asked when it has not gone in time. */
  async revoke(contender, options) {
    const wanted = revocation(contender, options)
    return attend(this.#handle, wanted.signal, 'revoke', [wanted.contender, wanted.forceAfter])
  }

  #hearWaits() {
    // It refuses where the client is closed, also if somebody listens already.
    const number = call(this.#handle, 'onWait')
    if (this.#waits !== undefined) return call(this.#handle, 'offWait', number)
    this.#waits = number
    listen(number, teller(new WeakRef(this)))
    subscriptions.register(this, number, this)
  }

  #tellWait(progress) {
    for (const [key, callback] of [...this.#listeners]) {
      // One that an earlier one has unsubscribed is not called any more.
      if (this.#listeners.has(key)) deliver('onWait', callback, progressOf(progress), callsOf(this).callbackTimes)
    }
  }

  #stopHearing(key) {
    if (!this.#listeners.delete(key) || this.#listeners.size > 0) return
    // With nobody to tell, it is not looked who holds.
    const number = this.#waits
    this.#waits = undefined
    subscriptions.unregister(this)
    stopListening(number)
    call(this.#handle, 'offWait', number)
  }

  #innermost() {
    return this.#all.findLast((held) => !isReleased(held))
  }

  /** What was acquired last and not released. */
  get #current() {
    const held = this.#innermost()
    if (!held) throw notHeld('nothing was acquired', pathOf(this))
    return held
  }

  /** The same, as long as it is held. */
  get #standing() {
    const held = this.#current
    if (!held.isHeld) throw notHeld('it was lost before', pathOf(this))
    return held
  }
}

// Outside the class: a closure made in a method would keep `this` alive.
function teller(handle) {
  return (progress) => {
    const waited = handle.deref()
    if (waited) tellWait(waited, progress)
  }
}

function unsubscriber(handle, key) {
  return () => {
    const heard = handle.deref()
    if (heard) stopHearing(heard, key)
  }
}

function pathOf(handle) {
  return call(handleOf(handle), 'path')
}

/** Waits for what the addon's verb acquires. */
async function acquire(handle, { timeout, signal, n }, Type = Held) {
  return attempt(handle, { signal, n }, Type, 'acquire', timeout)
}

/** The same without waiting; null when there is nothing to be had. */
async function attempt(handle, { signal, n }, Type = Held, verb = 'tryAcquire', ...timeout) {
  const native = await attend(handleOf(handle), check.signal(signal), verb, [...timeout, n], (native) => native.releaseInBackground())
  return native && keep(handle, new Type(made, callsOf(handle), native))
}

async function run(handle, body, wanted) {
  check.callable('body', body)
  const held = await acquire(handle, wanted)
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

/** As the addon has them, with dates. */
function contendersOf(contenders) {
  return contenders.map(contenderOf)
}

function contenderOf(contender) {
  return { ...contender, since: new Date(contender.since) }
}

function progressOf({ path, waited, ahead = null, holder }) {
  return { path, waited, ahead, holder: holder ? contenderOf(holder) : null }
}

/** The arguments of `revoke(contender, options)` or `revoke(options)`. */
function revocation(contender, options) {
  const given = check.orOption('revoke', 'contender', nodeOf(contender), options, ['forceAfter', 'signal'])
  return {
    contender: check.optionalText('contender', nodeOf(given.contender)),
    forceAfter: check.millis('forceAfter', given.forceAfter),
    signal: check.signal(given.signal),
  }
}

/** Of one of `contenders()`, its node; anything else as it is. */
function nodeOf(contender) {
  const isContender = typeof contender === 'object' && contender !== null && 'node' in contender
  return isContender ? contender.node : (contender ?? undefined)
}

module.exports = { Handle, acquire, attempt, contendersOf, keep, pathOf, run, standing }
