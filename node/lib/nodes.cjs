'use strict'

const check = require('./check.cjs')
const { feed } = require('./feed.cjs')
const { Remote, ask, call, make } = require('./remote.cjs')

/** A node's metadata: times as dates, ids as bigints. */
function statOf(stat) {
  return { ...stat, ctime: new Date(stat.ctime), mtime: new Date(stat.mtime) }
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

  async get(path, options) {
    return contentOf(await ask(this, 'get', options, check.text('path', path)))
  }

  async set(path, data, version, options) {
    check.text('path', path)
    const payload = check.bytes('data', data)
    const { signal, ...given } = check.orOption('set', 'version', version, options, ['signal'])
    return statOf(await ask(this, 'set', { signal }, path, payload, check.version(given.version)))
  }

  async delete(path, version, options) {
    check.text('path', path)
    const { signal, ...given } = check.orOption('delete', 'version', version, options, ['signal'])
    await ask(this, 'delete', { signal }, path, check.version(given.version))
  }

  async exists(path, options) {
    const stat = await ask(this, 'exists', options, check.text('path', path))
    return stat === null ? null : statOf(stat)
  }

  /** The names of the children, sorted. */
  async children(path, options) {
    return ask(this, 'children', options, check.text('path', path))
  }

  /** Creates what is missing of the path. */
  async ensure(path, options) {
    await ask(this, 'ensure', options, check.text('path', path))
  }

  /** Deletes the node and all below it. */
  async deleteAll(path, options) {
    await ask(this, 'deleteAll', options, check.text('path', path))
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

  set(path, data, version) {
    call(this, 'set', check.text('path', path), check.bytes('data', data), check.version(version))
    return this
  }

  delete(path, version) {
    call(this, 'delete', check.text('path', path), check.version(version))
    return this
  }

  /** Makes the whole fail unless the node exists, with this version if one is given. */
  check(path, version) {
    call(this, 'check', check.text('path', path), check.version(version))
    return this
  }

  /** Answers the path of what was created and the stat of what was set, in the order of the parts. */
  async commit(options) {
    const parts = await ask(this, 'commit', options)
    return parts.map((part) => (typeof part === 'object' && part !== null ? statOf(part) : part))
  }
}

module.exports = { Nodes, Transaction }
