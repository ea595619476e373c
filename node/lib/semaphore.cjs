'use strict'

const check = require('./check.cjs')
const { done, now } = require('./calls.cjs')
const { made } = require('./dispose.cjs')
const { invalid } = require('./errors.cjs')
const { Kept } = require('./kept.cjs')
const { contendersOf, revocationOf } = require('./lock.cjs')
const { waitOptions } = require('./waits.cjs')

/** At most so many permits at once. */
class Semaphore {
  #native
  #kept

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use client.semaphore(path, permits)')
    this.#native = native
    this.#kept = new Kept(now(() => native.path()))
  }

  get path() {
    return now(() => this.#native.path())
  }

  /** How many permits there are, as far as this handle knows. */
  get permits() {
    return now(() => this.#native.permits())
  }

  /** Waits for `n` permits at once: `acquire(n, options)`, or `acquire(options)`. */
  async acquire(n, options) {
    const wanted = check.isOptions(n, options)
      ? permitOptions('acquire', n)
      : { ...waitOptions('acquire', options), n: permitsOf(n) }
    return this.#kept.acquire(() => this.#native.acquire(wanted.n, wanted.timeout), wanted.signal)
  }

  /** One attempt: null when that many are not free. */
  async tryAcquire(n) {
    const wanted = permitsOf(n)
    return this.#kept.acquire(() => this.#native.tryAcquire(wanted))
  }

  /** Holds permits while the body runs, and releases them on any exit. */
  async run(body, options) {
    check.callable('body', body)
    const { n, timeout, signal } = permitOptions('run', options)
    return this.#kept.run(body, () => this.#native.acquire(n, timeout), signal)
  }

  cancel() {
    this.#kept.cancel()
  }

  /** Releases the acquisition made last. */
  async release(options) {
    await this.#kept.release(options)
  }

  get isHeld() {
    return this.#kept.isHeld
  }

  get fencingToken() {
    return this.#kept.standing.fencingToken
  }

  async verify() {
    await this.#kept.current.verify()
  }

  guarded() {
    return this.#kept.current.guarded()
  }

  onLost(callback) {
    return this.#kept.onLost(callback)
  }

  /** Who holds permits, one entry each. */
  async holders() {
    return contendersOf(await done(() => this.#native.holders()))
  }

  /** Who holds permits, one entry each, and then who waits for some, in order. */
  async contenders() {
    return contendersOf(await done(() => this.#native.contenders()))
  }

  /** Asks everybody who holds, or the contender of that node; deletes the nodes of who has not let go in time. */
  async revoke(contender, options) {
    const wanted = revocationOf(contender, options)
    return this.#kept.wait(() => this.#native.revoke(wanted.contender, wanted.forceAfter), wanted.signal)
  }

  /** Changes how many permits there are, for everybody. */
  async resize(permits) {
    check.count('permits', permits)
    await done(() => this.#native.resize(permits))
  }
}

/** How many permits are wanted: one unless told. */
function permitsOf(n) {
  return n === undefined ? 1 : check.count('n', n)
}

function permitOptions(verb, options) {
  const { n, ...waiting } = check.options(verb, options, ['n', 'timeout', 'signal'])
  return { ...waitOptions(verb, waiting), n: permitsOf(n) }
}

module.exports = { Semaphore }
