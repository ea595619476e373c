'use strict'

// Waiting for one's turn, which the caller may withdraw from: by a signal, or by `cancel()` on the handle.

const check = require('./check.cjs')
const { AbortError, ZkRecipesError } = require('./errors.cjs')

/** The waits in progress on one handle. */
class Waits {
  #calls
  #withdrawals = new Set()

  constructor(calls) {
    this.#calls = calls
  }

  /**
   * Waits for the outcome of a verb. What it brings although the caller has withdrawn is given to `undo`: it may have been ours
   * already.
   */
  async wait(verb, signal, { path, undo = () => {} } = {}) {
    if (signal?.aborted) throw signal.reason
    const call = this.#calls.start(verb)
    let withdrawn
    const withdraw = (by) => {
      withdrawn ??= by
      call.withdraw()
    }
    const aborted = () => withdraw('signal')
    const cancelled = () => withdraw('cancel')
    if (signal) listen(signal, aborted)
    this.#withdrawals.add(cancelled)
    const { failure, value } = await call.outcome
    if (signal) stopListening(signal, aborted)
    this.#withdrawals.delete(cancelled)
    if (withdrawn) {
      if (value) attempt(() => undo(value))
      throw withdrawn === 'signal' ? signal.reason : new AbortError(path)
    }
    if (failure) throw new ZkRecipesError(failure)
    return value
  }

  /** Ends the waits in progress, never later ones. */
  cancel() {
    for (const withdraw of [...this.#withdrawals]) withdraw()
  }
}

// One listener for all the waits that share a signal: a service passes the signal of its shutdown to every call, and Node warns
// from eleven listeners on.
const aborts = new WeakMap()

function listen(signal, aborted) {
  let waits = aborts.get(signal)
  if (!waits) {
    const all = new Set()
    waits = { all, tell: () => [...all].forEach((each) => each()) }
    aborts.set(signal, waits)
  }
  if (waits.all.size === 0) signal.addEventListener('abort', waits.tell)
  waits.all.add(aborted)
}

function stopListening(signal, aborted) {
  const waits = aborts.get(signal)
  waits.all.delete(aborted)
  if (waits.all.size === 0) signal.removeEventListener('abort', waits.tell)
}

function attempt(undo) {
  try {
    undo()
  } catch {
    // Lost in the meantime: there is nothing left to give back.
  }
}

/** The options of every verb that waits. */
function waitOptions(verb, options) {
  const { timeout, signal } = check.options(verb, options, ['timeout', 'signal'])
  return { timeout: check.millis('timeout', timeout), signal: check.signal(signal) }
}

module.exports = { Waits, listen, stopListening, waitOptions }
