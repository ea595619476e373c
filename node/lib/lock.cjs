'use strict'

const { invalid, kindOf } = require('./errors.cjs')
const { Handle, currentOf, join, pathOf, standing } = require('./handle.cjs')
const { Remote, make, nativeOf, properties } = require('./remote.cjs')

/** A mutual exclusion lock, or one side of a read/write lock. */
class Lock extends Handle {
  get path() {
    return pathOf(this)
  }

  /** From writing to reading, of what was acquired last. */
  async downgrade(options) {
    return currentOf(this).downgrade(options)
  }
}

/** Readers share, writers exclude everybody. */
class ReadWriteLock extends Remote {
  #read = make(Lock, this, 'read')
  #write = make(Lock, this, 'write')

  static { properties(this, 'path') }

  constructor(...remote) {
    super(...remote)
    join(this.#write, this.#read)
  }

  get read() {
    return this.#read
  }

  get write() {
    return this.#write
  }
}

/** Several locks as one: all or none. */
class MultiLock extends Handle {
  static { properties(this, 'paths') }

  /** In the order of the paths; `fencingToken` is the first. */
  get fencingTokens() {
    return standing(this).fencingTokens
  }
}

/** What the addon takes for `client.multiLock`. */
function nativesOf(locks) {
  if (!Array.isArray(locks)) throw invalid('locks', `must be an array of locks, not ${kindOf(locks)}`)
  // Array.from visits holes too.
  return Array.from(locks, (lock) => {
    const native = lock instanceof Lock ? nativeOf(lock) : undefined
    if (!native) throw invalid('locks', `must be locks of client.lock(path), not ${kindOf(lock)}`)
    return native
  })
}

module.exports = { Lock, MultiLock, ReadWriteLock, nativesOf }
