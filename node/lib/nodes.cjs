'use strict'

const check = require('./check.cjs')
const { made } = require('./dispose.cjs')
const { asIs, feed } = require('./feed.cjs')
const { Remote, ask, attend, call, callsOf, make, properties } = require('./remote.cjs')

/** A node's metadata: times as dates, ids as bigints. */
function statOf(stat) {
  return { ...stat, ctime: new Date(stat.ctime), mtime: new Date(stat.mtime) }
}

function statIfAny(stat) {
  return stat === null ? null : statOf(stat)
}

/** A node's content: `[data, stat]`, whose parts have names too. */
class Content extends Array {
  /** What `map` and the like make of it is a plain array. */
  static get [Symbol.species]() {
    return Array
  }

  get data() {
    return this[0]
  }

  get stat() {
    return this[1]
  }
}

function contentOf({ data, stat }) {
  return Content.of(data, statOf(stat))
}

/** Of each part of a transaction, the path of what was created and the stat of what was set. */
function resultsOf(parts) {
  return parts.map((part) => (typeof part === 'object' && part !== null ? statOf(part) : part))
}

/** What kind of node to create, and how many milliseconds it may stand unused. */
function modeOf({ mode = 'persistent', ttl }) {
  return [check.text('mode', mode), check.optionalMillis('ttl', ttl)]
}

/** What a feed of a kind tells, of what the addon brings. */
const STATES = {
  data: ({ node }) => node && contentOf(node),
  children: ({ children }) => children,
  subtree: ({ subtree }) => Object.fromEntries(subtree.map((found) => [found.path, contentOf(found)])),
}

/** Plain node operations. */
class Nodes extends Remote {
  constructor(key, calls, native) {
    super(key, calls, native, 'client.nodes')
  }

  /** Creates a node and returns its full path, which for a sequential one the server completes. */
  async create(path, data, mode, options) {
    check.text('path', path)
    const payload = check.bytes('data', data === undefined ? '' : data)
    const { signal, ...given } = check.orOption('create', 'mode', mode, options, ['ttl', 'signal'])
    return ask(this, 'create', { signal }, path, payload, ...modeOf(given))
  }

  // --- generated from api: verbs of Nodes
  async get(path, options) {
    return contentOf(await ask(this, 'get', options, check.text('path', path)))
  }

  async set(path, data, version, options) {
    const args = [check.text('path', path), check.bytes('data', data)]
    const given = check.orOption('set', 'version', version, options, ['signal'])
    return statOf(await ask(this, 'set', { signal: given.signal }, ...args, check.version(given.version)))
  }

  async delete(path, version, options) {
    const args = [check.text('path', path)]
    const given = check.orOption('delete', 'version', version, options, ['signal'])
    await ask(this, 'delete', { signal: given.signal }, ...args, check.version(given.version))
  }

  async exists(path, options) {
    return statIfAny(await ask(this, 'exists', options, check.text('path', path)))
  }

  async children(path, options) {
    return ask(this, 'children', options, check.text('path', path))
  }

  async ephemerals(path, options) {
    return ask(this, 'ephemerals', options, check.text('path', path))
  }

  async ensure(path, options) {
    await ask(this, 'ensure', options, check.text('path', path))
  }

  async deleteAll(path, options) {
    await ask(this, 'deleteAll', options, check.text('path', path))
  }
  // --- end of generated

  /** Replaces the data by what `change` makes of it, if nobody has set it meanwhile, else once more. */
  async update(path, change, options) {
    check.callable('change', change)
    for (;;) {
      const { data, stat } = await this.get(path, options)
      const changed = check.bytes('what change returned', await change(data))
      try {
        return await this.set(path, changed, { ...options, version: stat.version })
      } catch (error) {
        if (error.code !== 'BAD_VERSION') throw error
      }
    }
  }

  /** Keeps a node and all that is below it. */
  async cache(path, options) {
    const signal = check.signalOf('cache', options)
    const kept = await attend(this, signal, 'cache', [check.text('path', path)], (kept) => kept.withdraw())
    return new NodeCache(made, callsOf(this), kept.handOver(), 'client.nodes.cache(path)')
  }

  /** The state now and whenever it has changed: `watch(path, kind, options)`, or `watch(path, options)`. */
  watch(path, kind, options) {
    check.text('path', path)
    const { signal, ...given } = check.orOption('watch', 'kind', kind, options, ['signal'])
    const wanted = check.optionalText('kind', given.kind) ?? 'data'
    return feed(this, 'watch', { signal }, STATES[wanted], path, wanted)
  }

  /** Writes that happen all or not at all. */
  transaction() {
    return make(Transaction, this, 'transaction')
  }
}

/** A node and all that is below it. */
class NodeCache extends Remote {
  // --- generated from api: verbs of NodeCache
  static { properties(this, 'path') }

  changes(options) {
    return feed(this, 'changes', options, asIs)
  }
  // --- end of generated

  static { properties(this, 'age') }

  /** What is known of a node. */
  get(path) {
    const found = call(this, 'get', check.text('path', path))
    return found === null ? null : contentOf(found)
  }

  /** The names of the children of a node. */
  children(path) {
    return call(this, 'children', check.text('path', path))
  }
}

/** Writes that are collected, and sent together by `commit()`. */
class Transaction extends Remote {
  constructor(key, calls, native) {
    super(key, calls, native, 'nodes.transaction() or held.guarded()')
  }

  create(path, data = '', mode, options) {
    const given = check.orOption('create', 'mode', mode, options, ['ttl'])
    call(this, 'create', check.text('path', path), check.bytes('data', data), ...modeOf(given))
    return this
  }

  // --- generated from api: verbs of Transaction
  set(path, data, version) {
    call(this, 'set', check.text('path', path), check.bytes('data', data), check.version(version))
    return this
  }

  delete(path, version) {
    call(this, 'delete', check.text('path', path), check.version(version))
    return this
  }

  check(path, version) {
    call(this, 'check', check.text('path', path), check.version(version))
    return this
  }

  async commit(options) {
    return resultsOf(await ask(this, 'commit', options))
  }
  // --- end of generated
}

module.exports = { NodeCache, Nodes, Transaction }
