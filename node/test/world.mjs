// What every test stands on: a server of its own in this process and, when ZKR_HOSTS names a real one, that one too.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import v8 from 'node:v8'
import vm from 'node:vm'
import { Client } from 'zkrecipes'
import { EmbeddedServer } from 'zkrecipes/testing'
import waits from '../lib/abort_signals.cjs'
import './watchdog.mjs'

v8.setFlagsFromString('--expose-gc')
export const collectGarbage = vm.runInNewContext('gc')

let worlds = 0

class World {
  /** Our own server, unless this is the real one's world. */
  server
  hosts
  #base = `/zkrecipes-node-${process.pid}-${++worlds}`
  #clients = []
  #children = []

  constructor(hosts) {
    if (hosts) this.hosts = hosts
    else {
      this.server = EmbeddedServer.start()
      this.hosts = this.server.connectString
    }
  }

  path(name = 'lock') {
    return `${this.#base}/${name}`
  }

  async connect(options) {
    const client = await Client.connect(this.hosts, { sessionTimeout: 6000, ...options })
    this.#clients.push(client)
    return client
  }

  /** A lock at the path of this name, on a client of its own. */
  async lock(name, options) {
    return (await this.connect()).lock(this.path(name), options)
  }

  /** A process that runs children/<script>.mjs with the hosts and these arguments. */
  child(script, ...args) {
    const file = fileURLToPath(new URL(`./children/${script}.mjs`, import.meta.url))
    const child = new Child([file, this.hosts, ...args])
    this.#children.push(child)
    return child
  }

  async end() {
    for (const child of this.#children) child.kill()
    await Promise.all(this.#clients.map((client) => client.close({ timeout: 5000 }).catch(() => {})))
    if (this.server) this.server.shutdown()
    else {
      const cleaner = await Client.connect(this.hosts)
      await cleaner.nodes.deleteAll(this.#base).catch((error) => assert.equal(error.code, 'NO_NODE'))
      await cleaner.close()
    }
  }
}

class Child {
  output = ''
  errors = ''
  #process
  #exited

  constructor(args) {
    this.#process = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#process.stdout.on('data', (data) => (this.output += data))
    this.#process.stderr.on('data', (data) => (this.errors += data))
    this.#exited = new Promise((resolve) => this.#process.on('close', (code, signal) => resolve(signal ?? code)))
  }

  /** The status, or the name of the signal that ended it. */
  get exit() {
    return this.#exited
  }

  kill() {
    this.signal('SIGKILL')
  }

  signal(name) {
    this.#process.kill(name)
  }

  async said(line) {
    await until(() => this.output.split('\n').includes(line), `the child says ${line}`, () => this.errors)
  }
}

/**
 * Rejects after so long. The runner's own limit fails a test and leaves its clients as they are, and those that wait would
 * keep the process alive for ever. An idle client lets it exit, which the timer prevents while a test waits for an event.
 */
function within(ms) {
  let timer
  const passed = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${ms / 1000} s`)), ms)
  })
  passed.catch(() => {})
  return { passed, clear: () => clearTimeout(timer) }
}

/** Tests a promise against each server there is. */
export function promise(name, body, { embeddedOnly = false } = {}) {
  const servers = embeddedOnly || !process.env.ZKR_HOSTS ? [undefined] : [undefined, process.env.ZKR_HOSTS]
  for (const hosts of servers) {
    test(hosts ? `${name} (real server)` : name, async () => {
      const world = new World(hosts)
      const limit = within(60_000)
      try {
        await Promise.race([body(world), limit.passed])
      } finally {
        await world.end()
        limit.clear()
      }
    })
  }
}

/** Waits for a condition, which may be asynchronous. */
export async function until(condition, what, details = () => '') {
  const deadline = Date.now() + 20_000
  while (!(await condition())) {
    if (Date.now() > deadline) assert.fail(`waited in vain until ${what} ${details()}`)
    await sleep(5)
  }
}

/** Waits for a condition that garbage collection brings about. */
export async function untilCollected(condition, what) {
  await until(() => {
    collectGarbage()
    return condition()
  }, what)
}

/** Waits until this many contend for the lock. */
export async function untilContenders(lock, count) {
  await until(async () => (await lock.contenders()).length === count, `${count} contend for ${lock.path}`)
}

/** Aborts what waits in the body between what it has waited for and whoever asked for it. */
export async function abortedOnceBrought(controller, body) {
  const { Waits } = waits
  const { wait } = Waits.prototype
  Waits.prototype.wait = async function (...args) {
    const brought = await wait.apply(this, args)
    controller.abort()
    return brought
  }
  try {
    await body()
  } finally {
    Waits.prototype.wait = wait
  }
}

/** What a promise rejects with. */
export async function rejection(promised) {
  try {
    await promised
  } catch (error) {
    return error
  }
  assert.fail('it was fulfilled')
}

/** That a promise rejects with this code. */
export async function rejects(promised, code) {
  const error = await rejection(promised)
  assert.equal(error.code, code, error.stack)
  return error
}

/** That a call throws this code at once. */
export function throws(call, code) {
  let thrown
  assert.throws(call, (error) => ((thrown = error), true))
  assert.equal(thrown.code, code, thrown.stack)
  return thrown
}

/** Whether a promise is not settled after a moment. */
export async function isPending(promised) {
  await new Promise((resolve) => setTimeout(resolve, 30))
  const pending = Symbol('pending')
  return (await Promise.race([promised, Promise.resolve(pending)])) === pending
}
