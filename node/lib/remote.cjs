'use strict'

// What the library's objects have in common: each stands for an object of the addon, and asks through the calls of its client.
// A verb is a line here and a method of the same name there: `call` if it is answered at once, `ask` if later, and `wait` if
// it takes its time.

const check = require('./check.cjs')
const { now } = require('./calls.cjs')
const { made } = require('./dispose.cjs')
const { invalid } = require('./errors.cjs')
const { inspect, shown } = require('./shown.cjs')
const { Waits, waitOptions } = require('./abort_signals.cjs')

let callsOf, nativeOf, waitsOf

/** What is reached through a client. */
class Remote {
  #calls
  #native
  #waits

  static {
    callsOf = (remote) => own(remote).#calls
    waitsOf = (remote) => own(remote).#waits
    /** Undefined for what is none. */
    nativeOf = (value) => (typeof value === 'object' && value !== null && #native in value ? value.#native : undefined)
  }

  /** `origin` says where to get one. */
  constructor(key, calls, native, origin = `client.${new.target.name[0].toLowerCase()}${new.target.name.slice(1)}(…)`) {
    if (key !== made) throw invalid('constructor', `use ${origin}`)
    this.#calls = calls
    this.#native = native
    this.#waits = new Waits(calls)
  }

  /** What `console.log` shows. */
  [inspect](_depth, options, show) {
    return shown(this, options, show)
  }
}

/** What a method was called on, as in `setTimeout(client.close)`: it may be anything. */
function own(remote) {
  if (nativeOf(remote)) return remote
  throw invalid('this', 'a method was called without its object; write `() => client.close()` or `client.close.bind(client)`')
}

/** Calls a verb that answers at once. */
function call(remote, verb, ...args) {
  const native = nativeOf(own(remote))
  return now(() => native[verb](...args))
}

/** Waits for a verb that only its `{ signal }` withdraws. */
async function ask(remote, verb, options, ...args) {
  const signal = check.signalOf(verb, options)
  return new Waits(callsOf(remote)).wait(() => nativeOf(remote)[verb](...args), signal)
}

/** Waits for a verb that takes its time: the addon's last argument is the `{ timeout }`, and `cancel` ends it as its `{ signal }` does. */
async function wait(remote, verb, options, ...args) {
  const { timeout, signal } = waitOptions(verb, options)
  return attend(remote, signal, verb, [...args, timeout])
}

/** The same, without an opinion about arguments; what comes although nobody waits any more is given to `undo`. */
async function attend(remote, signal, verb, args, undo) {
  const native = nativeOf(own(remote))
  return waitsOf(remote).wait(() => native[verb](...args), signal, { path: native.path?.(), undo })
}

/** Waits until something is declared, which is undone if the caller has withdrawn by then; only its `{ signal }` withdraws. */
async function declare(remote, verb, options, ...args) {
  await bring(remote, check.signalOf(verb, options), verb, args)
}

/** Waits until something is done that is undone if the caller has withdrawn by then. */
async function bring(remote, signal, verb, args) {
  const done = await attend(remote, signal, verb, args, (done) => done.undo())
  now(() => done.receive())
}

/** Ends what `join` declared and its client keeps. */
async function leave(remote, options) {
  const [signal, calls] = [check.signalOf('leave', options), callsOf(remote)]
  const leaving = ask(remote, 'leave', { signal })
  // Not sent with a signal that was aborted before.
  if (!signal?.aborted) calls.letGo(remote)
  await leaving
}

/** Ends the waits in progress, never later ones. */
function cancel(remote) {
  waitsOf(remote).cancel()
}

/** What a verb of the addon makes, as an object of the library. */
function make(Type, remote, verb, ...args) {
  return new Type(made, callsOf(remote), call(remote, verb, ...args))
}

/** Properties that the addon has as verbs of the same names. */
function properties(type, ...names) {
  for (const name of names) {
    const get = function () {
      return call(this, name)
    }
    Object.defineProperty(type.prototype, name, { get, configurable: true })
  }
}

module.exports = { Remote, ask, attend, bring, call, callsOf, cancel, declare, leave, make, nativeOf, own, properties, wait }
