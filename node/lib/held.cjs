'use strict'

const check = require('./check.cjs')
const { now } = require('./calls.cjs')
const { asyncDispose } = require('./dispose.cjs')
const { ZkRecipesError } = require('./errors.cjs')
const { Transaction } = require('./nodes.cjs')
const { OneTimeEvent } = require('./one_time_event.cjs')
const { Remote, ask, attend, call, callsOf, make, nativeOf, properties } = require('./remote.cjs')

// One that nobody refers to any more is released, and the log says so.
const collected = new FinalizationRegistry(({ over, native }) => {
  over()
  native.collected()
})

let giveUp, joins, leave, isReleased

/** One acquisition. */
class Held extends Remote {
  #over
  #loss
  #revocation
  #join

  static {
    properties(this, 'fencingTokens')
    leave = (held, bodyFailed) => held.#letGo(() => nativeOf(held).leave(bodyFailed))
    giveUp = (held, verb) => held.#letGo(verb)
    /** Of a writer's: `join` makes an object of what a downgrade leads to. */
    joins = (held, join) => {
      held.#join = join
      return held
    }
    isReleased = (held) => call(held, 'isReleased')
  }

  constructor(key, calls, native, origin = 'lock.acquire()') {
    super(key, calls, native, origin)
    this.#over = calls.keepAlive.begin()
    collected.register(this, { over: this.#over, native })
    this.#loss = new OneTimeEvent('onLost', () => native.watch(), (failure) => new ZkRecipesError(failure), calls.callbackTimes)
    this.#loss.comesAs(now(() => native.onLost()), this.#over)
    const askable = (revocation) => revocation.comesAs(native.onRevoke())
    this.#revocation = new OneTimeEvent('onRevoke', askable, () => asked(native.path()), calls.callbackTimes)
  }

  // --- generated from api: verbs of Held
  static { properties(this, 'isHeld', 'fencingToken', 'path', 'name', 'node', 'sequencer', 'passes', 'permits') }

  async verify(options) {
    await ask(this, 'verify', options)
  }
  // --- end of generated

  guarded() {
    return make(Transaction, this, 'guarded')
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
    check.callable('callback', callback)
    call(this, 'checkOpen')
    return this.#revocation.on(callback)
  }

  /** Aborts when somebody asks for it. */
  get revokeSignal() {
    return this.#revocation.signal
  }

  async release(options) {
    if (releaseOptions(options)) return this.#letGo(() => nativeOf(this).release())
    this.#over()
    call(this, 'releaseInBackground')
  }

  /** From writing to reading, for what the `write` side of a read/write lock acquired. */
  async downgrade(options) {
    const signal = check.signalOf('downgrade', options)
    try {
      return this.#join(await attend(this, signal, 'downgrade', [], (native) => native.releaseInBackground()))
    } finally {
      // Also where it was withdrawn, or had failed, when write had been given back.
      if (call(this, 'isReleased')) this.#over()
    }
  }

  async [asyncDispose]() {
    await leave(this, false)
  }

  /** It is held no longer, whatever comes of the call that gives it back; that keeps the process alive for itself. */
  async #letGo(verb) {
    const outcome = verb && callsOf(this).done(verb)
    this.#over()
    await outcome
  }
}

/** Why a `revokeSignal` aborts. */
function asked(path, why = 'somebody asks for what is held') {
  const message = `${why}; finish and release it (${path})`
  return new ZkRecipesError({ code: 'CANCELLED', message, path })
}

/** Whether to wait for the confirmation. */
function releaseOptions(options) {
  return check.flag('wait', check.options('release', options, ['wait']).wait) ?? true
}

module.exports = { Held, asked, giveUp, isReleased, joins, leave, releaseOptions }
