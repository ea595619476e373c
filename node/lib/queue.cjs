'use strict'

const check = require('./check.cjs')
const { asyncDispose, made } = require('./dispose.cjs')
const { AbortError, described, invalid, kindOf } = require('./errors.cjs')
const { giveUp, leave } = require('./held.cjs')
const { itemOf, nativeItem, settle } = require('./item.cjs')
const { Listeners } = require('./listeners.cjs')
const { say } = require('./log.cjs')
const { Remote, ask, attend, bring, call, callsOf, cancel, make } = require('./remote.cjs')
const { listen, stopListening, waitOptions } = require('./abort_signals.cjs')

let claim, stopsOf

/** Items that wait to be taken: what all queues have, and the dead letters of one. */
class Backlog extends Remote {
  // The addon has the verbs of all queues once, too.
  #backlog = make(Remote, this, 'backlog')
  /** How to end the loops and the work in progress. */
  #stops = new Set()
  #dead

  // --- generated from api: verbs of Backlog
  #listeners = new Listeners(this.#backlog)

  get path() {
    return call(this.#backlog, 'path')
  }

  onWait(callback) {
    return this.#listeners.add(callback)
  }

  async peek(options) {
    return ask(this.#backlog, 'peek', options)
  }

  async len(options) {
    return ask(this.#backlog, 'len', options)
  }

  async stats(options) {
    return ask(this.#backlog, 'stats', options)
  }

  async items(options) {
    return ask(this.#backlog, 'items', options)
  }

  async purge(olderThan, options) {
    return ask(this.#backlog, 'purge', options, check.duration('olderThan', olderThan))
  }
  // --- end of generated

  async replay(id, options) {
    // A letter that was looked for and not found is not all of them.
    if (arguments.length === 0 || check.isOptions(id, options)) return ask(this.#backlog, 'replay', id)
    return ask(this.#backlog, 'replayOne', options, check.text('id', id))
  }

  static {
    claim = (backlog, signal, timeout) => backlog.#claim(signal, timeout)
    stopsOf = (backlog) => backlog.#stops
  }

  /** Takes the next item: at most once, for it is removed before it is here. */
  async get(options) {
    const { timeout, signal } = waitOptions('get', options)
    return this.#get(signal, timeout)
  }

  /** One attempt: null when there is none. */
  async tryGet(options) {
    return unlessTimeout(this.#get(check.signalOf('tryGet', options), 0))
  }

  /** Claims the next item: at least once, for it stays until it is acknowledged. */
  async claim(options) {
    const { timeout, signal } = waitOptions('claim', options)
    return this.#claim(signal, timeout)
  }

  /** One attempt: null when there is none. */
  async tryClaim(options) {
    return unlessTimeout(this.#claim(check.signalOf('tryClaim', options), 0))
  }

  /** Waits for the first, and takes the next ones along that are there already. */
  async claimMany(n, options) {
    const { timeout, signal } = waitOptions('claimMany', options)
    const giveBack = (all) => {
      for (const native of all) {
        try {
          native.releaseInBackground()
        } catch {
          // What is lost needs not go back.
        }
      }
    }
    const all = await attend(this.#backlog, signal, 'claimMany', [check.count('n', n), timeout], giveBack)
    return all.map((native) => itemOf(this, native))
  }

  /** Several at once, each as by its `ack`. */
  async ackMany(items, options) {
    if (!Array.isArray(items)) throw invalid('items', `must be an array of items that were claimed, not ${kindOf(items)}`)
    const natives = Array.from(items, (item, at) => nativeItem(item, `items[${at}]`))
    try {
      await ask(this.#backlog, 'ackMany', options, natives)
    } finally {
      // What is done keeps the process no longer, also if another one failed.
      await Promise.all(items.map((item) => item.isHeld || giveUp(item)))
    }
  }

  /** The items that were claimed too often. */
  get dead() {
    this.#dead ??= new DeadLetters(made, callsOf(this), call(this.#backlog, 'dead'), 'queue.dead')
    return this.#dead
  }

  /** Ends the waits, the loops and the work in progress on this handle, never later ones. */
  cancel() {
    for (const stop of [...this.#stops]) stop()
    cancel(this.#backlog)
    cancel(this)
  }

  /** Claims one after the other; what was not settled is given back. */
  [Symbol.asyncIterator]() {
    return new Claims(this)
  }

  /** Works on items as they come: done when the work succeeds, given back when it fails. */
  async process(work, options) {
    check.callable('work', work)
    const { concurrency, signal } = check.options('process', options, ['concurrency', 'signal'])
    // Each claims for itself.
    const workers = check.integer('concurrency', concurrency === undefined ? 1 : concurrency, 1, 10_000)
    await consume(this, work, workers, check.signal(signal))
  }

  async #get(signal, timeout) {
    const got = await attend(this.#backlog, signal, 'get', [timeout], (got) => got.putBack())
    return got.handOver()
  }

  async #claim(signal, timeout) {
    const native = await attend(this.#backlog, signal, 'claim', [timeout], (native) => native.releaseInBackground())
    return itemOf(this, native)
  }
}

/** The dead letters of a queue. */
class DeadLetters extends Backlog {
  /** All in order, with what is known of their end. */
  async items(options) {
    const letters = await ask(this, 'deadLetters', options)
    return letters.map(({ id, data, reason, attempts, diedAt, problem }) => (
      { id, data, reason: reason ?? null, attempts, diedAt: new Date(diedAt), problem: problem ?? null }
    ))
  }
}

/** First in, first out. */
class Queue extends Backlog {
  async put(data, options) {
    const { timeout, signal, key } = putOptions(options)
    await bring(this, signal, 'putOne', [check.bytes('data', data, 'put(data, options)'), key, timeout])
  }

  /** In as few transactions as carry them. */
  async putMany(items, options) {
    const { timeout, signal } = waitOptions('putMany', options)
    await bring(this, signal, 'put', [payloads(items), timeout])
  }
}

/** The lowest priority first, and in order within one. */
class PriorityQueue extends Backlog {
  async put(data, priority, options) {
    const { timeout, signal, key } = putOptions(options)
    const payload = check.bytes('data', data, 'put(data, priority, options)')
    if (priority === undefined) throw invalid('priority', 'must be an integer; lower ones come first')
    await bring(this, signal, 'put', [payload, check.integer('priority', priority, -(2 ** 31), 2 ** 31 - 1), key, timeout])
  }
}

/** Items that are taken when they are due. */
class DelayQueue extends Backlog {
  async put(data, delay, options) {
    const { timeout, signal, key } = putOptions(options)
    const payload = check.bytes('data', data, 'put(data, delay, options)')
    await bring(this, signal, 'put', [payload, check.duration('delay', delay), key, timeout])
  }
}

function putOptions(options) {
  const { key, timeout, signal } = check.options('put', options, ['timeout', 'signal', 'key'])
  return { timeout: check.millis('timeout', timeout), signal: check.signal(signal), key: check.optionalText('key', key) }
}

function payloads(items) {
  if (!Array.isArray(items)) throw invalid('items', `must be an array of payloads, not ${kindOf(items)}`)
  // Array.from visits holes too.
  return Array.from(items, (item, at) => check.bytes(`items[${at}]`, item))
}

/** Null where a single attempt found nothing. */
async function unlessTimeout(attempt) {
  try {
    return await attempt
  } catch (error) {
    if (error.code !== 'TIMEOUT') throw error
    return null
  }
}

// Outside of what it stops: a queue that is in use must not keep a loop that nobody goes on with, and its item.
const stopOf = (ending) => () => ending.abort()

/** One loop over a queue. */
class Claims {
  #queue
  #item
  #ending = new AbortController()
  #stop = stopOf(this.#ending)
  // One claim at a time, in the order of the calls.
  #last = Promise.resolve()

  constructor(queue) {
    this.#queue = queue
    stopsOf(queue).add(this.#stop)
  }

  async next() {
    const next = this.#last.then(() => this.#next())
    this.#last = next.catch(() => {})
    return next
  }

  /** What `break` and an error in the loop do. */
  async return(value) {
    this.#end()
    await this.#last
    await this.#giveBack()
    return { value, done: true }
  }

  async [asyncDispose]() {
    await this.return()
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async #next() {
    await this.#giveBack()
    const { signal } = this.#ending
    try {
      if (!signal.aborted) {
        this.#item = await claim(this.#queue, signal, Infinity)
        return { value: this.#item, done: false }
      }
    } catch (error) {
      // Closed or cancelled, it is just over.
      const isOver = signal.aborted || error instanceof AbortError || error.code === 'CLOSED'
      if (!isOver) {
        this.#end()
        throw error
      }
    }
    this.#end()
    return { value: undefined, done: true }
  }

  #end() {
    stopsOf(this.#queue).delete(this.#stop)
    this.#ending.abort()
  }

  async #giveBack() {
    const item = this.#item
    this.#item = undefined
    if (item) await settle(item, true)
  }
}

/** One call of `queue.process`, until it is stopped or trying again cannot help. */
async function consume(queue, work, workers, signal) {
  if (signal?.aborted) throw signal.reason
  const ending = new AbortController()
  const stop = stopOf(ending)
  stopsOf(queue).add(stop)
  if (signal) listen(signal, stop)
  let failure
  const worker = async () => {
    try {
      while (!ending.signal.aborted) {
        const item = await claim(queue, ending.signal, Infinity)
        // It may have been stopped since the claim was answered.
        if (ending.signal.aborted) await leave(item, true)
        else await serve(queue, item, work, ending.signal, signal)
      }
    } catch (error) {
      if (!ending.signal.aborted) failure ??= { error }
      stop()
    }
  }
  await Promise.all(Array.from({ length: workers }, worker))
  stopsOf(queue).delete(stop)
  if (signal) stopListening(signal, stop)
  if (signal?.aborted) throw signal.reason
  if (failure) throw failure.error
}

/** Works on one item. Neither its failure nor a loss ends the work on others. */
async function serve(queue, item, work, ending, signal) {
  let failed = false
  let failure
  try {
    await work(item)
  } catch (error) {
    failed = true
    failure = error
  }
  const isLost = !item.isHeld && item.signal.aborted
  const isWithdrawn = failed && ending.aborted && isAbort(failure, signal)
  // The loss is told by its own record.
  if (failed && !isWithdrawn && !(isLost && failure === item.signal.reason)) tellFailed(queue, item, failure)
  // What was ended with everything else has not failed, and what is lost is not ours to give back.
  const settling = failed && (isWithdrawn || isLost) ? leave(item, true) : settle(item, failed, failure)
  const settled = settling.catch((error) => {
    if (error?.code !== 'LOST') tellFailed(queue, item, error)
  })
  await untilOver(settled, item, ending)
}

/** Whether work was ended by a signal, the one of `process` or one of its own, as what takes a signal says it. */
function isAbort(failure, signal) {
  if (signal?.aborted && failure === signal.reason) return true
  try {
    return failure?.name === 'AbortError'
  } catch {
    return false
  }
}

/** Once all is to end, an answer is not waited for after the item is lost: without a server none comes. */
async function untilOver(settled, item, ending) {
  let forget = () => {}
  let look
  const isLost = new Promise((resolve) => {
    look = () => {
      forget = item.onLost(resolve)
    }
  })
  if (ending.aborted) look()
  else listen(ending, look)
  try {
    await Promise.race([settled, isLost])
  } finally {
    stopListening(ending, look)
    forget()
  }
}

/** By the name of its node: what has been put may be a secret. */
function tellFailed(queue, item, failure) {
  const fields = { queue: queue.path, item: item.node.slice(item.node.lastIndexOf('/') + 1), attempt: item.attempts, error: described(failure) }
  say('warn', 'item_failed', `the work on ${fields.item} of ${fields.queue}, attempt ${fields.attempt}, failed: ${fields.error}`, fields)
}

module.exports = { Backlog, DeadLetters, DelayQueue, PriorityQueue, Queue }
