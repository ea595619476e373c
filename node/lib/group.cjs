'use strict'

const check = require('./check.cjs')
const { feed } = require('./feed.cjs')
const { byName } = require('./names.cjs')
const { Remote, ask, callsOf, declare, leave, properties, wait } = require('./remote.cjs')

/** Members that know each other by name. */
class Group extends Remote {
  // --- generated from api: verbs of Group
  static { properties(this, 'path') }

  async update(data, options) {
    await ask(this, 'update', options, check.bytes('data', data))
  }

  async members(options) {
    return byName(await ask(this, 'members', options))
  }

  async waitFor(n, options) {
    return byName(await wait(this, 'waitFor', options, check.count('n', n)))
  }

  watch(options) {
    return feed(this, 'watch', options, eventOf)
  }
  // --- end of generated

  /** Becomes a member, until it leaves or the client is closed. */
  async join(name, data, options) {
    check.text('name', name)
    const payload = check.bytes('data', data === undefined ? '' : data, 'join(name, data, options)')
    await declare(this, 'join', options, name, payload)
    // The addon's group is the membership: it must not be collected although nobody has the handle in a variable.
    callsOf(this).keep(this)
  }

  async leave(options) {
    await leave(this, options)
  }
}

function eventOf({ type, members, name, data }) {
  if (members) return { type, members: byName(members) }
  return data === undefined ? { type, name } : { type, name, data }
}

module.exports = { Group }
