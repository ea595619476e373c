'use strict'

const check = require('./check.cjs')
const { Client } = require('./client.cjs')
const { made } = require('./dispose.cjs')
const { invalid, kindOf } = require('./errors.cjs')
const { inspect, shown } = require('./shown.cjs')

/** Of a test runner: what Jest and Vitest call beforeAll is before in node:test and Mocha. */
function hooksOf(runner) {
  if (runner === null || (typeof runner !== 'object' && typeof runner !== 'function')) {
    throw invalid('runner', `must be a test runner such as the module 'vitest' or 'node:test', not ${kindOf(runner)}`)
  }
  const found = {
    beforeAll: runner.beforeAll ?? runner.before,
    beforeEach: runner.beforeEach,
    afterEach: runner.afterEach,
    afterAll: runner.afterAll ?? runner.after,
  }
  for (const [name, hook] of Object.entries(found)) {
    if (typeof hook !== 'function') {
      const advice = "give the test runner, as in: import * as vitest from 'vitest'; embeddedZookeeper(vitest)"
      throw invalid('runner', `has no ${name}; ${advice}`)
    }
  }
  return found
}

/** A server for the tests of one file, and for each of them a chroot of its own with a client. */
class EmbeddedZookeeper {
  #server
  #options
  #tests = 0
  #client
  #others = []

  constructor(key, hooks, start, options) {
    if (key !== made) throw invalid('constructor', 'use embeddedZookeeper()')
    this.#options = options
    hooks.beforeAll(() => {
      this.#server = start()
    })
    hooks.beforeEach(async () => {
      this.#tests += 1
      this.#client = await Client.connect(this.connectString, this.#options)
    })
    hooks.afterEach(() => this.#end())
    hooks.afterAll(() => this.#server?.shutdown())
  }

  /** What a test has done to the server is over when the next one begins. */
  async #end() {
    const server = this.#server
    // Without one, beforeAll has failed, and the runner has said so.
    if (server === undefined) return
    server.clearFaults()
    server.thawClock()
    server.resume()
    const clients = [this.#client, ...this.#others.splice(0)].filter((client) => client !== undefined)
    this.#client = undefined
    // A server that was stopped answers nothing, so that a session may be left.
    await Promise.allSettled(clients.map((client) => client.close({ timeout: 1000 })))
    server.restart()
    for (const session of server.sessions()) server.expire(session)
  }

  /** What `console.log` shows. */
  [inspect](_depth, options, show) {
    return shown(this, options, show)
  }

  get server() {
    if (this.#server === undefined) throw invalid('server', 'it is there once the tests of the file have begun; use it inside them')
    return this.#server
  }

  get client() {
    if (this.#client === undefined) throw invalid('client', 'it is there while a test runs; use it inside one')
    return this.#client
  }

  get connectString() {
    return `${this.server.connectString}/test-${this.#tests}`
  }

  async connect(options) {
    const client = await Client.connect(this.connectString, options ?? this.#options)
    this.#others.push(client)
    return client
  }
}

function fixture(start) {
  return function embeddedZookeeper(runner = globalThis, options = undefined) {
    const { server, client } = check.options('embeddedZookeeper', options, ['server', 'client'])
    return new EmbeddedZookeeper(made, hooksOf(runner), () => start(server), client)
  }
}

module.exports = { EmbeddedZookeeper, fixture }
