'use strict'

const check = require('./check.cjs')
const { asyncDispose, made } = require('./dispose.cjs')
const { Remote, attend, call, callsOf, cancel } = require('./remote.cjs')
const { inspect, shown } = require('./shown.cjs')

/**
 * What goes on changing, as an async iterator. Nothing is asked of the server while nobody waits for the next item, and only
 * such a wait keeps the process alive.
 */
class Feed extends Remote {
  #path
  #signal
  #convert
  #isOver = false
  // The addon is asked for one item at a time, in the order of the calls.
  #last = Promise.resolve()

  constructor(key, calls, native, path, signal, convert) {
    super(key, calls, native, 'a verb such as config.watch()')
    this.#path = path
    this.#signal = signal
    this.#convert = convert
  }

  /** What `console.log` shows. */
  [inspect](_depth, options, show) {
    return shown(this, options, show, { path: this.#path, isOver: this.#isOver })
  }

  async next() {
    const next = this.#last.then(() => this.#next())
    this.#last = next.catch(() => {})
    return next
  }

  /** Ends it: what `break` does, and what wakes a `next()` that waits. */
  async return(value) {
    this.#close()
    return { value, done: true }
  }

  async #next() {
    if (!this.#isOver && !this.#signal?.aborted) {
      try {
        const items = await attend(this, this.#signal, 'next', [])
        if (items.length > 0) return { value: this.#convert(items[0]), done: false }
      } catch (error) {
        // Whoever withdraws knows: the iteration is just over.
        if (!this.#isOver && !this.#signal?.aborted) throw error
      }
    }
    this.#close()
    return { value: undefined, done: true }
  }

  #close() {
    if (this.#isOver) return
    this.#isOver = true
    cancel(this)
    call(this, 'close')
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async [asyncDispose]() {
    this.#close()
  }
}

/** What a verb of the addon feeds; `convert` makes of an item what the user sees. */
function feed(remote, verb, options, convert, ...args) {
  const signal = check.signalOf(verb, options)
  // Of a node it is the first argument.
  const native = call(remote, verb, ...args)
  return new Feed(made, callsOf(remote), native, remote.path ?? args[0], signal, convert)
}

/** Items as the addon brings them. */
const asIs = (item) => item

module.exports = { Feed, asIs, feed }
