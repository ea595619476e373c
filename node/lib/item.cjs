'use strict'

const { asyncDispose, made } = require('./dispose.cjs')
const { invalid, kindOf } = require('./errors.cjs')
const { Held, giveUp, releaseOptions } = require('./held.cjs')
const { Transaction } = require('./nodes.cjs')
const { Remote, ask, call, callsOf, nativeOf } = require('./remote.cjs')

let settle

/** An item that was claimed: a Held, until it is settled. */
class Item extends Held {
  // The claim as an item; what is inherited asks it as something that is held.
  #item

  static {
    settle = (item, failed) => item.#settle(failed)
  }

  constructor(key, calls, native) {
    super(key, calls, key === made ? native.held() : undefined, 'queue.claim()')
    this.#item = new Remote(made, calls, native)
  }

  /** What was put. */
  get data() {
    return call(this.#item, 'data')
  }

  /** How often it was claimed, this time included. */
  get attempts() {
    return call(this.#item, 'attempts')
  }

  /** It is done, and leaves the queue. */
  async ack(options) {
    await this.#finish('ack', options)
  }

  /** The same, in one transaction with these writes. */
  async ackWith(writes, options) {
    if (!(writes instanceof Transaction)) {
      throw invalid('writes', `must be a transaction of item.guarded() or nodes.transaction(), not ${kindOf(writes)}`)
    }
    await this.#finish('ackWith', options, nativeOf(writes))
  }

  /** Gives it back to its old place. */
  async nack(options) {
    if (!releaseOptions(options)) return super.release(options)
    await giveUp(this, () => nativeOf(this.#item).nack())
  }

  /** The same: what was claimed is released undone. */
  async release(options) {
    await this.nack(options)
  }

  /** What was not settled is given back. */
  async [asyncDispose]() {
    await settle(this, true)
  }

  /** Refused writes leave it claimed. */
  async #finish(verb, options, ...args) {
    await ask(this.#item, verb, options, ...args)
    await giveUp(this)
  }

  /** The end of whatever worked on it: done, or given back if that failed; in silence if it was settled before. */
  async #settle(failed) {
    await giveUp(this, () => nativeOf(this.#item).leave(failed))
  }
}

/** What a claim brings. */
const itemOf = (remote, native) => new Item(made, callsOf(remote), native)

module.exports = { Item, itemOf, settle }
