'use strict'

const check = require('./check.cjs')
const { done, now } = require('./calls.cjs')
const { made } = require('./dispose.cjs')
const { invalid } = require('./errors.cjs')

/** A node's metadata: times as dates, ids as bigints. */
function statOf(stat) {
  return { ...stat, ctime: new Date(stat.ctime), mtime: new Date(stat.mtime) }
}

/** A node's content: `{ data, stat }`, which also comes apart as `[data, stat]`. */
class Content {
  constructor(data, stat) {
    this.data = data
    this.stat = stat
  }

  *[Symbol.iterator]() {
    yield this.data
    yield this.stat
  }
}

/** Plain node operations. */
class Nodes {
  #native

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use client.nodes')
    this.#native = native
  }

  /** Creates a node and returns its full path, which for a sequential one the server completes. */
  async create(path, data = '', mode = 'persistent') {
    check.text('path', path)
    const payload = check.bytes('data', data)
    check.text('mode', mode)
    return done(() => this.#native.create(path, payload, mode))
  }

  async get(path) {
    check.text('path', path)
    const { data, stat } = await done(() => this.#native.get(path))
    return new Content(data, statOf(stat))
  }

  async set(path, data, version) {
    check.text('path', path)
    const payload = check.bytes('data', data)
    check.version(version)
    return statOf(await done(() => this.#native.set(path, payload, version)))
  }

  async delete(path, version) {
    check.text('path', path)
    check.version(version)
    await done(() => this.#native.delete(path, version))
  }

  async exists(path) {
    check.text('path', path)
    const stat = await done(() => this.#native.exists(path))
    return stat === null ? null : statOf(stat)
  }

  /** The names of the children, sorted. */
  async children(path) {
    check.text('path', path)
    return done(() => this.#native.children(path))
  }

  /** Creates what is missing of the path. */
  async ensure(path) {
    check.text('path', path)
    await done(() => this.#native.ensure(path))
  }

  /** Deletes the node and all below it. */
  async deleteAll(path) {
    check.text('path', path)
    await done(() => this.#native.deleteAll(path))
  }

  /** Writes that happen all or not at all. */
  transaction() {
    return new Transaction(made, now(() => this.#native.transaction()))
  }
}

/** Writes that are collected, and sent together by `commit()`. */
class Transaction {
  #native

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use nodes.transaction() or held.guarded()')
    this.#native = native
  }

  create(path, data = '', mode = 'persistent') {
    check.text('path', path)
    const payload = check.bytes('data', data)
    check.text('mode', mode)
    now(() => this.#native.create(path, payload, mode))
    return this
  }

  set(path, data, version) {
    check.text('path', path)
    const payload = check.bytes('data', data)
    check.version(version)
    now(() => this.#native.set(path, payload, version))
    return this
  }

  delete(path, version) {
    check.text('path', path)
    check.version(version)
    now(() => this.#native.delete(path, version))
    return this
  }

  /** Makes the whole fail unless the node exists, with this version if one is given. */
  check(path, version) {
    check.text('path', path)
    check.version(version)
    now(() => this.#native.check(path, version))
    return this
  }

  async commit() {
    await done(() => this.#native.commit())
  }
}

module.exports = { Nodes, Transaction }
