'use strict'

const check = require('./check.cjs')
const { asyncDispose, made } = require('./dispose.cjs')
const { invalid, kindOf } = require('./errors.cjs')
const { Held, giveUp } = require('./held.cjs')
const { Transaction } = require('./nodes.cjs')
const { Remote, ask, call, callsOf, nativeOf } = require('./remote.cjs')

let claimOf, settle

/** An item that was claimed: a Held, until it is settled. */
class Item extends Held {
  // The claim as an item; what is inherited asks it as something that is held.
  #item

  static {
    settle = (item, failed, error) => item.#settle(failed, error)
    claimOf = (item) => nativeOf(item.#item)
  }

  constructor(key, calls, native) {
    super(key, calls, key === made ? native.held() : undefined, 'queue.claim()')
    this.#item = new Remote(made, calls, native)
  }

  // --- generated from api: verbs of Item
  get data() {
    return call(this.#item, 'data')
  }

  get attempts() {
    return call(this.#item, 'attempts')
  }
  // --- end of generated

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

  /** The work has failed: it is given back, and steps aside for the others. */
  async nack(options) {
    const { delay, reason, wait } = check.options('nack', options, ['delay', 'reason', 'wait'])
    const told = [check.optionalMillis('delay', delay), check.optionalText('reason', reason)]
    const waits = check.flag('wait', wait) ?? true
    const done = giveUp(this, () => nativeOf(this.#item).nack(...told))
    if (waits) await done
    else done.catch(() => {})
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
  async #settle(failed, error) {
    await giveUp(this, () => nativeOf(this.#item).leave(failed, error === undefined ? undefined : said(error)))
  }
}

/** What is kept of an error that work has ended with. */
function said(error) {
  try {
    return String(error)
  } catch {
    return 'an error that says nothing'
  }
}

/** What a claim brings. */
const itemOf = (remote, native) => new Item(made, callsOf(remote), native)

/** What the addon has of an item that somebody gives as `argument`. */
function nativeItem(item, argument) {
  if (!(item instanceof Item)) throw invalid(argument, `must be an item that was claimed, not ${kindOf(item)}`)
  return claimOf(item)
}

module.exports = { Item, itemOf, nativeItem, settle }
