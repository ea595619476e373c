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
  // --- generated from api: verbs of Names
  static { properties(this, 'path') }

  async lookup(name, options) {
    return ask(this, 'lookup', options, check.text('name', name))
  }

  async unbind(name, options) {
    await ask(this, 'unbind', options, check.text('name', name))
  }

  async list(options) {
    return ask(this, 'list', options)
  }

  watch(options) {
    return feed(this, 'watch', options, byName)
  }
  // --- end of generated

  /** `bind(name, data, ephemeral, options)`, or `bind(name, data, options)`. */
  async bind(name, data, ephemeral, options) {
    check.text('name', name)
    const payload = check.bytes('data', data)
    const { signal, ...given } = check.orOption('bind', 'ephemeral', ephemeral, options, ['ttl', 'signal'])
    const isEphemeral = check.flag('ephemeral', given.ephemeral) ?? false
    await declare(this, 'bind', { signal }, name, payload, isEphemeral, check.optionalMillis('ttl', given.ttl))
  }
}

module.exports = { Names, byName }
