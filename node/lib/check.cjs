'use strict'

// What JavaScript would let through to the addon is checked here, so that every mistake is an INVALID error that names
// the argument. What needs knowledge of ZooKeeper (paths, ranges) is checked by the core.

const { invalid, kindOf } = require('./errors.cjs')

/** A string that UTF-8 can carry. */
function text(argument, value) {
  if (typeof value !== 'string') throw invalid(argument, `must be a string, not ${kindOf(value)}`)
  if (/\p{Surrogate}/u.test(value)) throw invalid(argument, 'has half of a surrogate pair, which UTF-8 cannot carry')
  return value
}

/** An option object; unknown names are errors, since a misspelt one would be ignored in silence. */
function options(verb, value, known) {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('options', `must be an object such as { ${known[0]}: … }, not ${kindOf(value)}`)
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) throw invalid(`option ${name}`, `${verb} knows ${known.join(', ')}`)
  }
  return value
}

/** Milliseconds; leaving them out is for ever. The range is checked by the core. */
function millis(argument, value) {
  if (value === undefined) return Infinity
  if (typeof value !== 'number') throw invalid(argument, `must be a number of milliseconds, not ${kindOf(value)}`)
  return value
}

/** Milliseconds, or nothing for the default. */
function optionalMillis(argument, value) {
  return value === undefined ? undefined : millis(argument, value)
}

function optionalText(argument, value) {
  return value === undefined ? undefined : text(argument, value)
}

function flag(argument, value) {
  if (value !== undefined && typeof value !== 'boolean') {
    throw invalid(argument, `must be true or false, not ${kindOf(value)}`)
  }
  return value
}

function integer(argument, value, least, most) {
  if (value === undefined) return undefined
  if (!Number.isInteger(value) || value < least || value > most) {
    const got = typeof value === 'number' ? String(value) : kindOf(value)
    throw invalid(argument, `must be an integer from ${least} to ${most}, not ${got}`)
  }
  return value
}

/** How many, at least one. */
function count(argument, value) {
  if (value === undefined) throw invalid(argument, 'must be a number, at least 1')
  return integer(argument, value, 1, 2 ** 31 - 1)
}

/** Whether an argument that may be left out was, and the options stand in its place. */
function isOptions(first, options) {
  return typeof first === 'object' && first !== null && options === undefined
}

/** A node's version; leaving it out matches any. */
function version(value) {
  return integer('version', value, 0, 2 ** 31 - 1)
}

function callable(argument, value) {
  if (typeof value !== 'function') throw invalid(argument, `must be a function, not ${kindOf(value)}`)
  return value
}

/** A payload: bytes, or a string that is sent as UTF-8. */
function bytes(argument, value) {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string') return Buffer.from(text(argument, value))
  throw invalid(argument, `must be a string, a Buffer or another Uint8Array, not ${kindOf(value)}`)
}

function signal(value) {
  if (value === undefined) return undefined
  if (typeof value?.aborted !== 'boolean' || typeof value.addEventListener !== 'function') {
    throw invalid('signal', `must be an AbortSignal, not ${kindOf(value)}`)
  }
  return value
}

module.exports = {
  bytes, callable, count, flag, integer, isOptions, millis, optionalMillis, optionalText, options, signal, text, version,
}
