'use strict'

// Calls of the addon, and the one function of this environment through which it answers.

const { isMainThread } = require('node:worker_threads')
const { KeepAlive } = require('./alive.cjs')
const { ZkRecipesError } = require('./errors.cjs')
const { load } = require('./native.cjs')

const addon = load()

/** Who waits for the outcome of which call, and who listens to which event. */
const receivers = new Map()

const loop = new addon.EventLoop((number, failure, value) => receivers.get(number)?.(failure, value), isMainThread)

/** The error that a verb of the addon threw or brought. */
function errorOf(thrown) {
  if (!(thrown instanceof Error)) return new ZkRecipesError(thrown)
  // A panic, or an argument of a type that lib/check.cjs should have caught.
  const message = `${thrown.message}; this is a bug of zkrecipes, please report it`
  return new ZkRecipesError({ code: 'INTERNAL', message }, { cause: thrown })
}

/** Runs a verb that answers at once. */
function now(verb) {
  try {
    return verb()
  } catch (thrown) {
    throw errorOf(thrown)
  }
}

/** The calls of clients that keep something. */
const keepers = new Set()

/** The calls of one client. Those under way, and what they brought and is still held, keep the process alive. */
class Calls {
  /** For what is held. */
  keepAlive = new KeepAlive()
  /** Hears how long the client's callbacks kept the event loop. */
  callbackTimes
  #underWay = new KeepAlive()
  #kept = new Set()

  /** Starts a verb that answers later; `outcome` never rejects, so that it can be looked at before it is thrown. */
  start(verb) {
    const number = now(verb)
    const over = this.#underWay.begin()
    const outcome = new Promise((resolve) => {
      receivers.set(number, (failure, value) => {
        receivers.delete(number)
        over()
        resolve({ failure, value })
      })
    })
    return { outcome, withdraw: () => loop.withdraw(number) }
  }

  /** Starts a verb and waits for its value. The error is made after the wait: its stack leads to the caller. */
  async done(verb) {
    const { failure, value } = await this.start(verb).outcome
    if (failure) throw new ZkRecipesError(failure)
    return value
  }

  /** From now on this cannot be collected, though nobody may refer to it. */
  keep(remote) {
    this.#kept.add(remote)
    keepers.add(this)
  }

  letGo(remote) {
    this.#kept.delete(remote)
    if (this.#kept.size === 0) keepers.delete(this)
  }

  ref() {
    this.keepAlive.ref()
    this.#underWay.ref()
  }

  unref() {
    this.keepAlive.unref()
    this.#underWay.unref()
  }

  /** The client is closed: nothing of it is in force any more. What is still under way is settled all the same. */
  end() {
    this.#kept.clear()
    keepers.delete(this)
    // A round that nobody has left is over, too.
    this.keepAlive.unref()
  }
}

/** Listens to the events of a subscription of the addon. */
function listen(number, receiver) {
  receivers.set(number, (_, value) => receiver(value))
}

function stopListening(number) {
  receivers.delete(number)
}

module.exports = { Calls, addon, listen, loop, now, stopListening }
