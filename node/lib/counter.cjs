'use strict'

const check = require('./check.cjs')
const { Remote, ask, properties } = require('./remote.cjs')

/** A number that many count on. */
class Counter extends Remote {
  static { properties(this, 'path') }

  async get(options) {
    return ask(this, 'get', options)
  }

  /** Answers the new value. */
  async add(n, options) {
    return ask(this, 'add', options, check.long('n', n))
  }

  /** Answers whether the value was `old`, and is `value` now. */
  async compareAndSet(old, value, options) {
    return ask(this, 'compareAndSet', options, check.long('old', old), check.long('new', value))
  }
}

module.exports = { Counter }
