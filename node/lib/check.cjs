'use strict'

// What JavaScript would let through to the addon is checked here, so that every mistake is an INVALID error that names
// the argument. What needs knowledge of ZooKeeper (paths, ranges) is checked by the core.

const { types: { isAnyArrayBuffer, isSharedArrayBuffer } } = require('node:util')
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

/** An option that is an object of its own. */
function group(name, value, checks, required = false) {
  if (value === undefined && !required) return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(name, `must be an object with ${Object.keys(checks).join(', ')}, not ${kindOf(value)}`)
  }
  options(name, value, Object.keys(checks))
  return Object.fromEntries(Object.entries(checks).map(([key, checked]) => [key, checked(`${name}.${key}`, value[key])]))
}

/** One credential, or several. */
function credentials(auth) {
  const credential = (name, value) => Buffer.from(bytes(name, value))
  return auth === undefined ? undefined : [auth].flat().map((one) => group('auth', one, { scheme: text, credential }, true))
}

function accessList(acl) {
  if (acl === undefined || typeof acl === 'string') return acl
  if (!Array.isArray(acl)) throw invalid('acl', `must be 'open', 'creator' or an array of entries, not ${kindOf(acl)}`)
  return acl.map((entry) => group('acl', entry, { scheme: text, id: text, permissions: text }, true))
}

/** Milliseconds; leaving them out is for ever. The range is checked by the core. */
function millis(argument, value) {
  if (value === undefined) return Infinity
  if (typeof value !== 'number') throw invalid(argument, `must be a number of milliseconds, not ${kindOf(value)}`)
  return value
}

/** Milliseconds, which have to be given. */
function duration(argument, value) {
  if (value === undefined) throw invalid(argument, 'must be a number of milliseconds')
  return millis(argument, value)
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

/** A signed integer of 64 bits, as a bigint. */
function long(argument, value) {
  const integer = Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof integer === 'bigint' && BigInt.asIntN(64, integer) === integer) return integer
  const isNumeric = typeof value === 'number' || typeof value === 'bigint'
  const got = isNumeric ? String(value).slice(0, 40) : kindOf(value)
  throw invalid(argument, `must be a bigint that fits into 64 bits, or a safe integer, not ${got}`)
}

/** How many, at least one. */
function count(argument, value) {
  if (value === undefined) throw invalid(argument, 'must be a number, at least 1')
  return integer(argument, value, 1, 2 ** 31 - 1)
}

/** Names of partitions, or how many. */
function partitions(argument, value) {
  if (typeof value === 'number') return count(argument, value)
  if (!Array.isArray(value)) throw invalid(argument, `must be a number or an array of names, not ${kindOf(value)}`)
  // Array.from visits holes too.
  return Array.from(value, (name, at) => text(`${argument}[${at}]`, name))
}

/** The signal of a verb that has no other option. */
function signalOf(verb, value) {
  return signal(options(verb, value, ['signal']).signal)
}

/** Whether an argument that may be left out was, and the options stand in its place. */
function isOptions(first, options) {
  return typeof first === 'object' && first !== null && options === undefined
}

/**
 * The options of a verb whose last argument, of that name, may be left out: the options may stand in its place, and may
 * say it too.
 */
function orOption(verb, name, value, given, known) {
  return isOptions(value, given) ? options(verb, value, [name, ...known]) : { ...options(verb, given, known), [name]: value }
}

/** A node's version; leaving it out matches any. */
function version(value) {
  return integer('version', value, 0, 2 ** 31 - 1)
}

function callable(argument, value) {
  if (typeof value !== 'function') throw invalid(argument, `must be a function, not ${kindOf(value)}`)
  return value
}

/**
 * A payload: bytes, or a string that is sent as UTF-8. Bytes are whatever Node takes for some, also of another realm (a vm
 * context, a test runner's environment), where `instanceof` says no. `call` is for those who put the options in its place.
 */
function bytes(argument, value, call) {
  if (typeof value === 'string') return Buffer.from(text(argument, value))
  try {
    if (ArrayBuffer.isView(value)) return copyIfShared(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    if (isAnyArrayBuffer(value)) return copyIfShared(new Uint8Array(value))
  } catch (error) {
    // Its length is 0 now: sending nothing in its place would not be noticed.
    throw invalid(argument, 'was transferred to somebody else, and its bytes with it', { cause: error })
  }
  const hint = call && typeof value === 'object' && value !== null ? `; options stand behind it: ${call}` : ''
  throw invalid(argument, `must be a string, a Buffer, or another view of an ArrayBuffer, not ${kindOf(value)}${hint}`)
}

/** Another thread may write to shared memory while the addon reads it. */
function copyIfShared(view) {
  return isSharedArrayBuffer(view.buffer) ? Uint8Array.from(view) : view
}

function signal(value) {
  if (value === undefined) return undefined
  if (typeof value?.aborted !== 'boolean' || typeof value.addEventListener !== 'function') {
    throw invalid('signal', `must be an AbortSignal, not ${kindOf(value)}`)
  }
  return value
}

module.exports = {
  accessList, bytes, callable, count, credentials, duration, flag, group, integer, isOptions, long, millis, optionalMillis, optionalText, options, orOption, partitions,
  signal, signalOf, text, version,
}
