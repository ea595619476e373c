'use strict'

const check = require('./check.cjs')
const { asIs, feed } = require('./feed.cjs')
const { Remote, ask, call, properties } = require('./remote.cjs')

/** A value that many follow. */
class Config extends Remote {
  static { properties(this, 'path') }

  /** Null if nobody has set it. */
  async get(options) {
    return ask(this, 'get', options)
  }

  /** Answers the new version: `set(value, version, options)`, or `set(value, options)`. */
  async set(value, version, options) {
    const payload = check.bytes('value', value)
    const { signal, ...given } = check.orOption('set', 'version', version, options, ['signal'])
    return ask(this, 'set', { signal }, payload, check.version(given.version))
  }

  /** Answers the version, 0; refused if somebody has set a value. */
  async create(value, options) {
    return ask(this, 'create', options, check.bytes('value', value))
  }

  /** The value now and whenever it has changed, null where there is none. */
  watch(options) {
    return feed(this, 'watch', options, asIs)
  }

  /** What was known last, without asking anybody. */
  get cached() {
    return call(this, 'cached')
  }
}

module.exports = { Config }
