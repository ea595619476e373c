'use strict'

const check = require('./check.cjs')
const { made } = require('./dispose.cjs')
const { notHeld } = require('./errors.cjs')
const { Held, isReleased, joins, leave, releaseOptions } = require('./held.cjs')
const { Listeners, contenderOf } = require('./listeners.cjs')
const { Remote, ask, attend, call, callsOf, cancel, make } = require('./remote.cjs')
const { waitOptions } = require('./abort_signals.cjs')

let currentOf, handleOf, join, keep, standing

/** Everything that can be acquired. */
class Handle extends Remote {
  // The addon has the verbs of all recipes once, too.
  #handle = make(Remote, this, 'handle')
  // The innermost last. The handle keeps what it acquired, as the addon's does: `lock.acquire()` … `lock.release()`
  // works without a variable for the Held, and its `onLost` callbacks live as long.
  #all = []
  #listeners = new Listeners(this.#handle)
  // Of the writers' side of a read/write lock, the readers' side, which a downgrade leads to.
  #readers

  static {
    handleOf = (recipe) => recipe.#handle
    keep = (handle, held) => {
      handle.#all = handle.#all.filter((kept) => kept.isHeld)
      handle.#all.push(held)
      const readers = handle.#readers
      return readers ? joins(held, (native) => keep(readers, new Held(made, callsOf(readers), native))) : held
    }
    currentOf = (handle) => handle.#current
    join = (writers, readers) => (writers.#readers = readers)
    standing = (handle) => handle.#standing
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
    return this.#listeners.add(callback)
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

module.exports = { Handle, acquire, attempt, contendersOf, currentOf, join, keep, nodeOf, pathOf, run, standing }
