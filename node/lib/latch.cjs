'use strict'

// Generated from api/latch.toml by api/generate; do not edit.

const check = require('./check.cjs')
const { Remote, ask, properties, wait } = require('./remote.cjs')

class Latch extends Remote {
  static { properties(this, 'path') }

  async countDown(n = 1, options) {
    return ask(this, 'countDown', options, check.count('n', n))
  }

  async remaining(options) {
    return ask(this, 'remaining', options)
  }

  async reset(count, options) {
    await ask(this, 'reset', options, check.count('count', count))
  }

  async wait(options) {
    await wait(this, 'wait', options)
  }
}

module.exports = { Latch }
