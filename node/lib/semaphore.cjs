'use strict'

const check = require('./check.cjs')
const { Handle, acquire, attempt, contendersOf, pathOf, run } = require('./handle.cjs')
const { ask, properties } = require('./remote.cjs')

/** At most so many permits at once. */
class Semaphore extends Handle {
  // --- generated from api: verbs of Semaphore
  static { properties(this, 'permits') }

  async holders(options) {
    return contendersOf(await ask(this, 'holders', options))
  }

  async resize(permits, options) {
    await ask(this, 'resize', options, check.count('permits', permits))
  }
  // --- end of generated

  get path() {
    return pathOf(this)
  }

  /** Waits for `n` permits at once: `acquire(n, options)`, or `acquire(options)`. */
  async acquire(n, options) {
    return acquire(this, wanted(check.orOption('acquire', 'n', n, options, ['timeout', 'signal'])))
  }

  /** One attempt: null when that many are not free. */
  async tryAcquire(n, options) {
    return attempt(this, wanted(check.orOption('tryAcquire', 'n', n, options, ['signal'])))
  }

  /** Holds permits while the body runs, and releases them on any exit. */
  async run(body, options) {
    return run(this, body, wanted(check.options('run', options, ['n', 'timeout', 'signal'])))
  }
}

/** How many permits are wanted, one unless told, and for how long. */
function wanted({ n = 1, timeout, signal }) {
  return { n: check.count('n', n), timeout: check.millis('timeout', timeout), signal: check.signal(signal) }
}

module.exports = { Semaphore }
