'use strict'

const check = require('./check.cjs')
const { feed } = require('./feed.cjs')
const { Remote, ask, declare, properties } = require('./remote.cjs')

/** An object by name; what Object.fromEntries makes has no trouble with a name such as `__proto__`. */
function byName(list) {
  return Object.fromEntries(list.map(({ name, data }) => [name, data]))
}

/** Names below a path, and what they stand for. */
class Names extends Remote {
  static { properties(this, 'path') }

  /** `bind(name, data, ephemeral, options)`, or `bind(name, data, options)`. */
  async bind(name, data, ephemeral, options) {
    check.text('name', name)
    const payload = check.bytes('data', data)
    const { signal, ...given } = check.orOption('bind', 'ephemeral', ephemeral, options, ['signal'])
    await declare(this, 'bind', { signal }, name, payload, check.flag('ephemeral', given.ephemeral) ?? false)
  }

  /** Null if it is not bound. */
  async lookup(name, options) {
    return ask(this, 'lookup', options, check.text('name', name))
  }

  async unbind(name, options) {
    await ask(this, 'unbind', options, check.text('name', name))
  }

  /** Sorted. */
  async list(options) {
    return ask(this, 'list', options)
  }

  /** All names and what they stand for, now and whenever that has changed. */
  watch(options) {
    return feed(this, 'watch', options, byName)
  }
}

module.exports = { Names, byName }
