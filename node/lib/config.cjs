'use strict'

// Generated from api/config.toml by api/generate; do not edit.

const check = require('./check.cjs')
const { asIs, feed } = require('./feed.cjs')
const { Remote, ask, properties } = require('./remote.cjs')

class Config extends Remote {
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

  watch(options) {
    return feed(this, 'watch', options, asIs)
  }
}

module.exports = { Config }
