'use strict'

const check = require('./check.cjs')
const { made } = require('./dispose.cjs')
const { invalid, kindOf } = require('./errors.cjs')
const { feed } = require('./feed.cjs')
const { Remote, ask, attend, call, callsOf, properties } = require('./remote.cjs')

/** Services below a path, and their instances. */
class Discovery extends Remote {
  // --- generated from api: verbs of Discovery
  static { properties(this, 'path') }

  async names(options) {
    return ask(this, 'names', options)
  }
  // --- end of generated

  /** Registers an instance of a service. */
  async register(service, options) {
    const given = serviceOf(service)
    const signal = check.signalOf('register', options)
    const registering = await attend(this, signal, 'register', [given], (registering) => registering.withdraw())
    return new Registration(made, callsOf(this), registering.handOver(), 'discovery.register()')
  }

  /** The instances of a service. */
  async instances(name, options) {
    return instancesOf(this, await ask(this, 'instances', options, check.text('name', name)))
  }

  /** The instances of a service, now and whenever they are others. */
  watch(name, options) {
    return feed(this, 'watch', options, (all) => instancesOf(this, all), check.text('name', name))
  }

  /** One of the instances: `pick(name, by, options)`, or `pick(name, options)`. */
  async pick(name, by, options) {
    check.text('name', name)
    const { signal, ...given } = check.orOption('pick', 'by', by, options, ['signal'])
    const picked = await ask(this, 'pick', { signal }, name, check.optionalText('by', given.by))
    return instancesOf(this, picked)[0] ?? null
  }

  /** An instance did not serve: for a while it is not picked. */
  failed(name, id) {
    call(this, 'failed', check.text('name', name), check.text('id', id))
  }
}

/** A registered instance of a service. */
class Registration extends Remote {
  // --- generated from api: verbs of Registration
  static { properties(this, 'id') }

  async unregister(options) {
    await ask(this, 'unregister', options)
  }
  // --- end of generated

  /** What was registered, as it is to be after the last update. */
  get service() {
    const { payload, ...service } = call(this, 'service')
    return payload === undefined ? service : { ...service, payload: JSON.parse(payload) }
  }

  /** Changes what is to be known of it. */
  async update(changes, options) {
    const given = check.group('changes', changes, CHANGES, true)
    const names = Object.keys(given).filter((name) => given[name] !== undefined)
    const snake = names.map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
    await ask(this, 'update', options, withoutNulls(given), snake)
  }
}

/** An instance of a service, as it was found. */
class Instance {
  #discovery
  #node

  constructor(key, discovery, found) {
    if (key !== made) throw invalid('constructor', 'use discovery.instances(), pick() or watch()')
    this.#discovery = discovery
    const { node, ...told } = found
    this.#node = node
    const payload = told.payload === null ? null : JSON.parse(told.payload)
    Object.assign(this, told, { payload, registeredAt: new Date(found.registeredAt) })
  }

  /** It did not serve: for a while it is not picked. */
  failed() {
    call(this.#discovery, 'nodeFailed', this.#node)
  }
}

function instancesOf(discovery, all) {
  return all.map((found) => new Instance(made, discovery, found))
}

const port = (name, value) => (value === null ? null : check.integer(name, value, 0, 65_535))
const textOrNull = (name, value) => (value === null ? null : check.optionalText(name, value))

/** JSON for the addon. */
function json(name, value) {
  if (value === undefined || value === null) return value
  let written
  try {
    written = JSON.stringify(value)
  } catch (error) {
    throw invalid(name, `cannot be written as JSON: ${error.message}`, { cause: error })
  }
  if (written === undefined) throw invalid(name, `cannot be written as JSON: it is ${kindOf(value)}`)
  return written
}

/** What of a service may change; null takes away what need not be there. */
const CHANGES = {
  address: check.optionalText,
  port,
  sslPort: port,
  payload: json,
  uriSpec: textOrNull,
  enabled: check.flag,
}
const SERVICE = { name: check.text, id: check.optionalText, type: check.optionalText, ...CHANGES, address: check.text }

/** A service, checked as far as that needs no knowledge of ZooKeeper. */
function serviceOf(service) {
  return withoutNulls(check.group('service', service, SERVICE, true))
}

function withoutNulls(given) {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined))
}

module.exports = { Discovery, Instance, Registration }
