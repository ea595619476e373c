'use strict'

const check = require('./check.cjs')
const { Listeners } = require('./listeners.cjs')
const { Remote, ask, attend, call, callsOf, nativeOf, properties, wait } = require('./remote.cjs')
const { waitOptions } = require('./abort_signals.cjs')

// --- generated from api: class Barrier
class Barrier extends Remote {
  #listeners = new Listeners(this)

  static { properties(this, 'path') }

  async create(options) {
    await ask(this, 'create', options)
  }

  async remove(options) {
    await ask(this, 'remove', options)
  }

  async isUp(options) {
    return ask(this, 'isUp', options)
  }

  onWait(callback) {
    return this.#listeners.add(callback)
  }

  async wait(options) {
    await wait(this, 'wait', options)
  }
}
// --- end of generated

// One that nobody refers to any more is withdrawn by the addon.
const collected = new FinalizationRegistry((over) => over())

/** Lets so many begin together and end together. */
class DoubleBarrier extends Remote {
  // What is entered keeps the process alive, as what is held does.
  #over = () => {}

  // --- generated from api: verbs of DoubleBarrier
  #listeners = new Listeners(this)

  static { properties(this, 'path', 'parties', 'name', 'hasEntered') }

  onWait(callback) {
    return this.#listeners.add(callback)
  }
  // --- end of generated

  /** Waits until all are there. */
  async enter(options) {
    const { timeout, signal } = waitOptions('enter', options)
    await attend(this, signal, 'enter', [timeout], () => nativeOf(this).withdraw())
    this.#over = callsOf(this).keepAlive.begin()
    collected.register(this, this.#over)
  }

  /** Waits until all have left. */
  async leave(options) {
    const leaving = wait(this, 'leave', options)
    try {
      await leaving
    } finally {
      if (!this.hasEntered) this.#over()
    }
  }

  /** Gives the round up; nobody waits for us. */
  withdraw() {
    call(this, 'withdraw')
    this.#over()
  }

  /** Enters, works, leaves; gives the round up when the work fails. */
  async run(body, options) {
    check.callable('body', body)
    await this.enter(options)
    try {
      const result = await body()
      // It may have left by itself.
      if (this.hasEntered) await this.leave(options)
      return result
    } catch (error) {
      // The body failed, or the signal came before we could leave.
      try {
        if (this.hasEntered) this.withdraw()
      } catch {
        // Its client is closed, and the round is given up already.
      }
      throw error
    }
  }
}

module.exports = { Barrier, DoubleBarrier }
