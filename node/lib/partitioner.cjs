'use strict'

const check = require('./check.cjs')
const { made } = require('./dispose.cjs')
const { described, timed } = require('./errors.cjs')
const { feed } = require('./feed.cjs')
const { Held, leave } = require('./held.cjs')
const { Remote, ask, attend, call, callsOf, cancel, nativeOf, properties } = require('./remote.cjs')
const { listen, stopListening, waitOptions } = require('./abort_signals.cjs')

/** One member of those who share partitions. */
class Partitioner extends Remote {
  /** The loops and runs in progress, each of which ends by its controller. */
  #endings = new Set()

  // --- generated from api: verbs of Partitioner
  static { properties(this, 'path', 'name') }

  async leave(options) {
    await ask(this, 'leave', options)
  }

  async owners(options) {
    return ownersOf(await ask(this, 'owners', options))
  }

  watch(options) {
    return feed(this, 'watch', options, ownersOf)
  }

  async members(options) {
    return weightsOf(await ask(this, 'members', options))
  }
  // --- end of generated

  /** Waits for the next partition that this member wins. */
  async next(options) {
    const { timeout, signal } = waitOptions('next', options)
    return this.#next(signal, timeout)
  }

  /** Ends the waits, the loops and the runs in progress, never later ones. */
  cancel() {
    cancel(this)
    for (const ending of this.#endings) ending.abort()
  }

  /** Gives one partition after the other, until it leaves. */
  async *[Symbol.asyncIterator]() {
    const ending = this.#begin()
    try {
      for (let partition; (partition = await this.#unlessOver(ending.signal)); ) yield partition
    } finally {
      this.#endings.delete(ending)
    }
  }

  /** Works on all that it wins, until it leaves or is told to. */
  async run(work, options) {
    check.callable('work', work)
    const signal = check.signalOf('run', options)
    if (signal?.aborted) throw signal.reason
    const working = new Set()
    const ending = this.#begin()
    const stop = () => ending.abort()
    if (signal) listen(signal, stop)
    try {
      for (let partition; (partition = await this.#unlessOver(ending.signal)); ) {
        const one = this.#serve(work, partition).finally(() => working.delete(one))
        working.add(one)
      }
    } finally {
      this.#endings.delete(ending)
      // Its work is asked to come to an end, and has the time for draining. It may have left.
      await this.leave().catch(() => {})
      await Promise.all(working)
      if (signal) stopListening(signal, stop)
    }
    if (signal?.aborted) throw signal.reason
  }

  #begin() {
    const ending = new AbortController()
    this.#endings.add(ending)
    return ending
  }

  async #next(signal, timeout) {
    const native = await attend(this, signal, 'next', [timeout], (native) => native.releaseInBackground())
    return new Held(made, callsOf(this), native, 'partitioner.next()')
  }

  /** Nothing when this member has left, or the loop is to end, which may be told while nobody waits. */
  async #unlessOver(ending) {
    if (ending.aborted) return
    try {
      return await this.#next(ending, Infinity)
    } catch (error) {
      if (!ending.aborted && error.code !== 'CANCELLED' && error.code !== 'CLOSED') throw error
    }
  }

  async #serve(work, partition) {
    try {
      await timed(callsOf(this).callbackTimes, work, partition)
    } catch (error) {
      // What fails because the partition is gone does not fail.
      if (partition.isHeld) call(this, 'failed', nativeOf(partition), described(error))
    }
    // Unconfirmed, it goes on in the background; lost or released, there is nothing to do.
    await leave(partition, true).catch(() => {})
  }
}

/** Object.fromEntries has no trouble with a name such as `__proto__`. */
function weightsOf(list) {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]))
}

/** The same, with null for a partition that nobody has. */
function ownersOf(list) {
  return Object.fromEntries(list.map(({ name, value }) => [name, value ?? null]))
}

module.exports = { Partitioner }
