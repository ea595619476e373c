'use strict'

const check = require('./check.cjs')
const { done, now } = require('./calls.cjs')
const { asyncDispose, made } = require('./dispose.cjs')
const { ZkRecipesError, invalid } = require('./errors.cjs')
const { Transaction } = require('./nodes.cjs')
const { Occasion } = require('./occasion.cjs')

let leave, isReleased

/** One acquisition. */
class Held {
  #native
  #loss
  #revocation

  static {
    leave = (held, bodyFailed) => done(() => held.#native.leave(bodyFailed))
    isReleased = (held) => now(() => held.#native.isReleased())
  }

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use lock.acquire()')
    this.#native = native
    this.#loss = new Occasion('onLost', () => native.onLost(), (failure) => new ZkRecipesError(failure))
    this.#revocation = new Occasion('onRevoke', () => native.onRevoke(), () => asked(native.path()))
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

  /** The tokens of all that is held together, in the order of their paths: several for a multi-lock. */
  get fencingTokens() {
    return now(() => this.#native.fencingTokens())
  }

  /** How often the turn was passed on in memory since it was won: rises while the token stays. */
  get passes() {
    return now(() => this.#native.passes())
  }

  /** How many nodes stand for this acquisition: the permits of a semaphore, the locks of a multi-lock. */
  get permits() {
    return now(() => this.#native.permits())
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
    return this.#loss.on(callback)
  }

  /** Aborts when it is lost, with the LOST error for a reason; never on release. */
  get signal() {
    return this.#loss.signal
  }

  /** Calls back once when somebody asks for it, at once if that has happened: finish, then release. */
  onRevoke(callback) {
    return this.#revocation.on(callback)
  }

  /** Aborts when somebody asks for it. */
  get revokeSignal() {
    return this.#revocation.signal
  }

  async release(options) {
    const wait = releaseOptions(options)
    if (wait) await done(() => this.#native.release())
    else now(() => this.#native.releaseInBackground())
  }

  async [asyncDispose]() {
    await leave(this, false)
  }
}

/** Why a `revokeSignal` aborts. */
function asked(path) {
  const message = `somebody asks for what is held; finish and release it (${path})`
  return new ZkRecipesError({ code: 'CANCELLED', message, path })
}

/** Whether to wait for the confirmation. */
function releaseOptions(options) {
  return check.flag('wait', check.options('release', options, ['wait']).wait) ?? true
}

module.exports = { Held, isReleased, leave, releaseOptions }
