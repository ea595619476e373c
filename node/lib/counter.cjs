'use strict'

// Generated from api/counter.toml by api/generate; do not edit.

const check = require('./check.cjs')
const { asIs, feed } = require('./feed.cjs')
const { Remote, ask, properties } = require('./remote.cjs')

class Counter extends Remote {
  static { properties(this, 'path') }

  async get(options) {
    return ask(this, 'get', options)
  }

  async add(n, options) {
    return ask(this, 'add', options, check.long('n', n))
  }

  async set(value, options) {
    await ask(this, 'set', options, check.long('value', value))
  }

  async compareAndSet(old, value, options) {
    return ask(this, 'compareAndSet', options, check.long('old', old), check.long('value', value))
  }

  watch(options) {
    return feed(this, 'watch', options, asIs)
  }
}

module.exports = { Counter }
