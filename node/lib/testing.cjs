'use strict'

const check = require('./check.cjs')
const { addon, now } = require('./calls.cjs')
const { asyncDispose, dispose, made } = require('./dispose.cjs')
const { invalid, kindOf } = require('./errors.cjs')

const OPTIONS = ['port', 'tick', 'minSessionTimeout', 'maxSessionTimeout', 'dataLimit', 'emulate']

/** A ZooKeeper server inside this process, in memory: for tests of code that uses zkrecipes. */
class EmbeddedServer {
  #native

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', 'use EmbeddedServer.start()')
    this.#native = native
  }

  /** Starts a server, on a free port unless told. */
  static start(options) {
    const { port, tick, minSessionTimeout, maxSessionTimeout, dataLimit, emulate } = check.options('start', options, OPTIONS)
    const settings = {
      port: check.integer('port', port, 0, 65535),
      tick: check.optionalMillis('tick', tick),
      minSessionTimeout: check.optionalMillis('minSessionTimeout', minSessionTimeout),
      maxSessionTimeout: check.optionalMillis('maxSessionTimeout', maxSessionTimeout),
      dataLimit: check.integer('dataLimit', dataLimit, 1, 2 ** 31 - 1),
      emulate: check.optionalText('emulate', emulate),
    }
    return new EmbeddedServer(made, now(() => addon.startServer(settings)))
  }

  get connectString() {
    return now(() => this.#native.connectString())
  }

  get port() {
    return now(() => this.#native.port())
  }

  /** Stops serving; the tree and the sessions are kept for `restart()`. */
  stop() {
    now(() => this.#native.stop())
  }

  restart() {
    now(() => this.#native.restart())
  }

  /** Ends it for good. */
  shutdown() {
    now(() => this.#native.shutdown())
  }

  [dispose]() {
    this.shutdown()
  }

  async [asyncDispose]() {
    this.shutdown()
  }

  /** Expires a session, such as `client.sessionId`; false when there is none of that id. */
  expire(sessionId) {
    if (typeof sessionId !== 'bigint' || sessionId < 0n || sessionId >= 2n ** 64n) {
      throw invalid('sessionId', `must be a bigint of 64 bits, not ${kindOf(sessionId)}`)
    }
    return now(() => this.#native.expire(sessionId))
  }

  dropConnections() {
    now(() => this.#native.dropConnections())
  }

  /** Answers nothing until `resume()`. */
  pause() {
    now(() => this.#native.pause())
  }

  resume() {
    now(() => this.#native.resume())
  }

  /** Stops the server's clock, by which it expires sessions. */
  freezeClock() {
    now(() => this.#native.freezeClock())
  }

  /** Moves the server's clock on, by milliseconds. */
  advanceClock(by) {
    if (by === undefined) throw invalid('by', 'must be a number of milliseconds')
    now(() => this.#native.advanceClock(check.millis('by', by)))
  }

  thawClock() {
    now(() => this.#native.thawClock())
  }

  /** Sets the number that the next sequential child of the path gets; false when there is no such node. */
  setNextSequence(path, next) {
    check.text('path', path)
    if (next === undefined) throw invalid('next', 'must be a number')
    check.integer('next', next, -(2 ** 31), 2 ** 31 - 1)
    return now(() => this.#native.setNextSequence(path, next))
  }

  /** Orders a fault, such as `drop_after create2 path=/locks/** nth=2`, and returns its number for `faultFired`. */
  inject(fault) {
    check.text('fault', fault)
    return now(() => this.#native.inject(fault))
  }

  faultFired(fault) {
    if (fault === undefined) throw invalid('fault', 'must be a number that inject() returned')
    check.integer('fault', fault, 0, Number.MAX_SAFE_INTEGER)
    return now(() => this.#native.faultFired(fault))
  }

  clearFaults() {
    now(() => this.#native.clearFaults())
  }

  /** The requests that were answered, in order. */
  log() {
    return now(() => this.#native.log())
  }

  clearLog() {
    now(() => this.#native.clearLog())
  }

  /** How many requests of this kind, such as `create2`, concerned a path of this pattern, such as `/locks/**`. */
  count(op, path = '**') {
    check.text('op', op)
    check.text('path', path)
    return now(() => this.#native.count(op, path))
  }

  /** The ids of the sessions that live. */
  sessions() {
    return now(() => this.#native.sessions())
  }

  connections() {
    return now(() => this.#native.connections())
  }

  watchCount() {
    return now(() => this.#native.watchCount())
  }

  /** The paths of all nodes. */
  paths() {
    return now(() => this.#native.paths())
  }
}

module.exports = { EmbeddedServer }
