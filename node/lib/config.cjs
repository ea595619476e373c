'use strict'

const check = require('./check.cjs')
const { asIs, feed } = require('./feed.cjs')
const { Remote, ask, properties } = require('./remote.cjs')

/** A value that many follow. */
class Config extends Remote {
  // --- generated from api: verbs of Config
  static { properties(this, 'path', 'cached') }

  async get(options) {
    return ask(this, 'get', options)
  }

  async set(value, version, options) {
    const args = [check.bytes('value', value)]
    const given = check.orOption('set', 'version', version, options, ['signal'])
    return ask(this, 'set', { signal: given.signal }, ...args, check.version(given.version))
  }

  async create(value, options) {
    return ask(this, 'create', options, check.bytes('value', value))
  }

  async compareAndSet(value, version, options) {
    const args = [check.bytes('value', value)]
    const given = check.orOption('compareAndSet', 'version', version, options, ['signal'])
    return ask(this, 'compareAndSet', { signal: given.signal }, ...args, check.version(given.version))
  }

  watch(options) {
    return feed(this, 'watch', options, asIs)
  }
  // --- end of generated

  /** Replaces the value by what `change` makes of it, if nobody has set it meanwhile, else once more. */
  async update(change, options) {
    check.callable('change', change)
    for (;;) {
      const before = await this.get(options)
      const made = check.bytes('what change returned', await change(before?.value ?? null))
      // What the caller changes while the request is under way is not what was set.
      const value = Buffer.from(made)
      const version = await ask(this, 'setAfter', options, value, before?.version)
      if (version !== null) return { value, version }
    }
  }
}

module.exports = { Config }
