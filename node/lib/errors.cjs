'use strict'

const { performance } = require('node:perf_hooks')
const { inspect, types: { isNativeError } } = require('node:util')

/** Every error of the library; `code` is the name in the error table. */
class ZkRecipesError extends Error {
  constructor({ code, message, retryable = false, path, reason, put }, options) {
    super(message, options)
    this.code = code
    this.retryable = retryable
    // Only where there is one, so that a printed error shows what is known and nothing else.
    if (path !== undefined) this.path = path
    if (reason !== undefined) this.reason = reason
    if (put !== undefined) this.put = put
  }
}

/** A wait that `cancel()` ended, under the name and code that Node's own aborted calls have. */
class AbortError extends ZkRecipesError {
  constructor(path) {
    super({ code: 'ABORT_ERR', message: 'the wait was cancelled; nothing is held and nothing is left waiting', retryable: true, path })
  }
}

// On the prototype, as the built-in classes have it.
for (const type of [ZkRecipesError, AbortError]) {
  Object.defineProperty(type.prototype, 'name', { value: type.name, configurable: true, writable: true })
}

/** The error for an argument that cannot be used. */
function invalid(argument, problem, options) {
  return new ZkRecipesError({ code: 'INVALID', message: `invalid ${argument}: ${problem}` }, options)
}

/** The error for using what is not held. */
function notHeld(why, path) {
  return new ZkRecipesError({ code: 'NOT_HELD', message: `not held: ${why}; acquire first (${path})`, path })
}

/** What an argument is, for an error text: its kind, never its content, which may be a secret or huge. */
function kindOf(value) {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return /^[aeiou]/.test(typeof value) ? `an ${typeof value}` : `a ${typeof value}`
}

function warn(text) {
  process.emitWarning(text, 'ZkRecipesWarning')
}

/** Reports what a callback of the user threw: it stops nothing, and it is not swallowed. */
function report(callback, error) {
  warn(`the ${callback} callback threw: ${described(error)}`)
}

/** Whatever was thrown: perhaps no error, an error of another realm, or something that refuses to become a string. */
function described(thrown) {
  try {
    return isNativeError(thrown) && typeof thrown.stack === 'string' ? thrown.stack : inspect(thrown)
  } catch {
    return kindOf(thrown)
  }
}

/** Calls a callback of the user; `times` is told how long the event loop was kept, unless nobody wants to know. */
function deliver(name, callback, value, times) {
  try {
    const result = times ? timed(times, callback, value) : callback(value)
    if (typeof result?.then === 'function') result.then(undefined, (error) => report(name, error))
  } catch (error) {
    report(name, error)
  }
}

// As it is now: who fakes the clock in tests must not keep anybody from hearing of a loss.
const now = performance.now.bind(performance)

/** What a function of the user answers. Until then, or until its first `await`, everything else waits. */
function timed(times, callback, value) {
  const begun = now()
  try {
    return callback(value)
  } finally {
    times.took(now() - begun)
  }
}

module.exports = { AbortError, ZkRecipesError, deliver, described, invalid, kindOf, notHeld, report, timed, warn }
