'use strict'

// What `console.log` shows of the library's objects, which keep everything to themselves: what they are about, and how they stand.

exports.inspect = Symbol.for('nodejs.util.inspect.custom')

/** Those of them that an object has; none of them asks a server. */
const TELLING = [
  'path', 'paths', 'id', 'mode', 'sites', 'epoch', 'fencingToken', 'attempts', 'permits', 'parties', 'isHeld', 'hasEntered', 'hasVoted',
  'connectString', 'state', 'sessionId',
]

/** `more` is what only the object itself knows. */
exports.shown = (thing, options, show, more = {}) => {
  const told = { ...more }
  for (const name of TELLING) {
    let value
    try {
      value = thing[name]
    } catch {
      // Nothing is held, or the client is closed: then there is none.
      continue
    }
    if (value === undefined || typeof value === 'function') continue
    // The same number, under the name that it has for a leader.
    if (name === 'fencingToken' && 'epoch' in told) continue
    // As the command and the servers write it.
    told[name] = name === 'sessionId' ? new Number16(value) : value
  }
  return `${thing.constructor.name} ${show(told, options)}`
}

/** A number that is shown in hexadecimal digits. */
class Number16 {
  #value

  constructor(value) {
    this.#value = value
  }

  [exports.inspect](_depth, options) {
    return options.stylize(`0x${this.#value.toString(16)}`, 'bigint')
  }
}
