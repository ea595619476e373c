'use strict'

const check = require('./check.cjs')
const { Calls, addon, loop, now } = require('./calls.cjs')
const { asyncDispose, dispose, made } = require('./dispose.cjs')
const { invalid, kindOf } = require('./errors.cjs')
const { EmbeddedZookeeper, fixture } = require('./fixture.cjs')
const { inspect, shown } = require('./shown.cjs')

const OPTIONS = ['port', 'tick', 'minSessionTimeout', 'maxSessionTimeout', 'dataLimit', 'emulate', 'extendedTypes']

/** What the addon takes to start a server. */
function settingsOf(verb, options, more = []) {
  const given = check.options(verb, options, [...OPTIONS, ...more])
  const { port, tick, minSessionTimeout, maxSessionTimeout, dataLimit, emulate, extendedTypes } = given
  return {
    port: check.integer('port', port, 0, 65535),
    tick: check.optionalMillis('tick', tick),
    minSessionTimeout: check.optionalMillis('minSessionTimeout', minSessionTimeout),
    maxSessionTimeout: check.optionalMillis('maxSessionTimeout', maxSessionTimeout),
    dataLimit: check.integer('dataLimit', dataLimit, 1, 2 ** 31 - 1),
    emulate: check.optionalText('emulate', emulate),
    extendedTypes: check.flag('extendedTypes', extendedTypes),
  }
}

function sessionOf(sessionId) {
  if (typeof sessionId !== 'bigint' || sessionId < 0n || sessionId >= 2n ** 64n) {
    throw invalid('sessionId', `must be a bigint of 64 bits, not ${kindOf(sessionId)}`)
  }
  return sessionId
}

function faultOf(fault) {
  if (fault === undefined) throw invalid('fault', 'must be a number that inject() returned')
  return check.integer('fault', fault, 0, Number.MAX_SAFE_INTEGER)
}

/** What is done to servers and proxies alike: connections, faults and the request log. */
class Control {
  #control

  constructor(key, native) {
    if (key !== made) throw invalid('constructor', `use ${new.target.name}.start()`)
    this.#control = now(() => native.control())
  }

  /** What `console.log` shows. */
  [inspect](_depth, options, show) {
    return shown(this, options, show)
  }

  get connectString() {
    return now(() => this.#control.connectString())
  }

  get port() {
    return now(() => this.#control.port())
  }

  /** Ends it for good. */
  shutdown() {
    now(() => this.#control.shutdown())
  }

  [dispose]() {
    this.shutdown()
  }

  async [asyncDispose]() {
    this.shutdown()
  }

  /** Breaks all connections, a proxy's on both sides; the sessions live on. */
  dropConnections() {
    now(() => this.#control.dropConnections())
  }

  /** Answers nothing and passes nothing on until `resume()`. */
  pause() {
    now(() => this.#control.pause())
  }

  resume() {
    now(() => this.#control.resume())
  }

  /** Orders a fault, such as `drop_after create2 path=/locks/** nth=2`, and returns its number for `faultFired`. */
  inject(fault) {
    check.text('fault', fault)
    return now(() => this.#control.inject(fault))
  }

  faultFired(fault) {
    faultOf(fault)
    return now(() => this.#control.faultFired(fault))
  }

  clearFaults() {
    now(() => this.#control.clearFaults())
  }

  /** The requests so far, in order; a proxy has them in the order of their answers. */
  log() {
    return now(() => this.#control.log())
  }

  clearLog() {
    now(() => this.#control.clearLog())
  }

  /** How many requests of this kind, such as `create2`, concerned a path of this pattern, such as `/locks/**`. */
  count(op, path = '**') {
    check.text('op', op)
    check.text('path', path)
    return now(() => this.#control.count(op, path))
  }

  /** The ids of the sessions that live, as far as a proxy has seen them. */
  sessions() {
    return now(() => this.#control.sessions())
  }

  connections() {
    return now(() => this.#control.connections())
  }
}

/** A ZooKeeper server inside this process, in memory: for tests of code that uses zkrecipes. */
class EmbeddedServer extends Control {
  #native

  constructor(key, native) {
    super(key, native)
    this.#native = native
  }

  /** Starts a server, on a free port unless told. */
  static start(options) {
    const settings = settingsOf('start', options)
    return new EmbeddedServer(made, now(() => addon.startServer(settings)))
  }

  /** Stops serving; the tree and the sessions are kept for `restart()`. */
  stop() {
    now(() => this.#native.stop())
  }

  restart() {
    now(() => this.#native.restart())
  }

  /** Expires a session, such as `client.sessionId`; false when there is none of that id. */
  expire(sessionId) {
    sessionOf(sessionId)
    return now(() => this.#native.expire(sessionId))
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

  watchCount() {
    return now(() => this.#native.watchCount())
  }

  /** The paths of all nodes. */
  nodes() {
    return now(() => this.#native.paths())
  }
}

/** Several servers as one ensemble, with followers that lag and can be cut off, as real ones do. */
class Ensemble extends EmbeddedServer {
  #native

  constructor(key, native) {
    super(key, key === made ? now(() => native.server()) : undefined)
    this.#native = native
  }

  /** Starts three servers unless told; member 0 leads, and the port is its. */
  static start(options) {
    const settings = settingsOf('start', options, ['members'])
    const members = check.integer('members', options?.members, 1, 99) ?? 3
    return new Ensemble(made, now(() => addon.startEnsemble(members, settings)))
  }

  /** What clients of one member connect to. */
  member(member) {
    memberOf('member', member)
    const address = now(() => this.#native.member(member))
    if (address === null) throw invalid('member', `there is none of number ${member}; they count from 0`)
    return address
  }

  /** How many milliseconds late a follower learns of everything; false when there is no such follower. */
  lag(follower, by) {
    memberOf('follower', follower)
    if (by === undefined) throw invalid('by', 'must be a number of milliseconds')
    check.millis('by', by)
    return now(() => this.#native.lag(follower, by))
  }

  /** Keeps everything from a follower until `release()`. */
  hold(follower) {
    memberOf('follower', follower)
    return now(() => this.#native.hold(follower))
  }

  release(follower) {
    memberOf('follower', follower)
    return now(() => this.#native.release(follower))
  }

  /** Cuts a follower off from the leader until `heal()`; false when the leader would be left without a majority. */
  isolate(follower) {
    memberOf('follower', follower)
    return now(() => this.#native.isolate(follower))
  }

  heal(follower) {
    memberOf('follower', follower)
    return now(() => this.#native.heal(follower))
  }

  /** How many transactions a member is behind the leader. */
  behind(member) {
    memberOf('member', member)
    return now(() => this.#native.behind(member))
  }
}

function memberOf(argument, member) {
  if (member === undefined) throw invalid(argument, 'must be the number of a member')
  check.integer(argument, member, 0, 2 ** 31 - 1)
}

/** Stands in front of a real server, with the same faults and the same log. */
class Proxy extends Control {
  #native

  constructor(key, native) {
    super(key, native)
    this.#native = native
  }

  /** Starts a proxy on a free port in front of one server, named as `host:port`. */
  static start(upstream) {
    check.text('upstream', upstream)
    return new Proxy(made, now(() => addon.startProxy(loop, upstream)))
  }

  /** Ends a session for real, at the server; false when none of that id went by. */
  async expire(sessionId) {
    sessionOf(sessionId)
    return new Calls().done(() => this.#native.expire(sessionId))
  }
}

const embeddedZookeeper = fixture((options) => EmbeddedServer.start(options))

module.exports = { EmbeddedServer, EmbeddedZookeeper, Ensemble, Proxy, embeddedZookeeper }
