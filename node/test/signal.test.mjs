// The signal that every verb takes which asks a server.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import vm from 'node:vm'
import { Client } from 'zkrecipes'
import { promise, rejection, rejects, throws, until, untilContenders } from './world.mjs'

/** Every verb that takes a signal and acquires nothing, with what it needs. */
async function verbsOf(world, client) {
  const [lock, several, semaphore] = [
    client.lock(world.path()), client.multiLock([client.lock(world.path('a')), client.lock(world.path('b'))]), client.semaphore(world.path('semaphore'), 2),
  ]
  const held = await lock.acquire()
  await several.acquire()
  await semaphore.acquire()
  const { nodes } = client
  const path = world.path('node')
  await nodes.ensure(path)
  return {
    'held.verify': (options) => held.verify(options),
    'lock.verify': (options) => lock.verify(options),
    'lock.contenders': (options) => lock.contenders(options),
    'lock.revoke': (options) => lock.revoke(options),
    'lock.tryAcquire': (options) => client.lock(world.path()).tryAcquire(options),
    'multiLock.verify': (options) => several.verify(options),
    'multiLock.contenders': (options) => several.contenders(options),
    'multiLock.revoke': (options) => several.revoke(options),
    'semaphore.verify': (options) => semaphore.verify(options),
    'semaphore.contenders': (options) => semaphore.contenders(options),
    'semaphore.holders': (options) => semaphore.holders(options),
    'semaphore.revoke': (options) => semaphore.revoke(options),
    'semaphore.resize': (options) => semaphore.resize(2, options),
    'semaphore.tryAcquire': (options) => client.semaphore(world.path('semaphore'), 2).tryAcquire(2, options),
    checkSequencer: (options) => client.checkSequencer(held.sequencer, options),
    watchSequencer: (options) => client.watchSequencer(held.sequencer, { timeout: 1, ...options }).catch((error) => {
      // Left alone, it runs out of time.
      if (error.code !== 'TIMEOUT') throw error
    }),
    'nodes.create': (options) => nodes.create(`${path}/item-`, '', 'persistent_sequential', options),
    'nodes.create with a mode among the options': (options) => nodes.create(`${path}/item-`, '', { mode: 'persistent_sequential', ...options }),
    'nodes.get': (options) => nodes.get(path, options),
    'nodes.set': (options) => nodes.set(path, 'data', undefined, options),
    'nodes.set with options in place of a version': (options) => nodes.set(path, 'data', options),
    'nodes.delete': (options) => nodes.delete(`${path}/none`, undefined, options).catch((error) => {
      if (error.code !== 'NO_NODE') throw error
    }),
    'nodes.exists': (options) => nodes.exists(path, options),
    'nodes.children': (options) => nodes.children(path, options),
    'nodes.ensure': (options) => nodes.ensure(path, options),
    'nodes.deleteAll': (options) => nodes.deleteAll(`${path}/none`, options).catch((error) => {
      if (error.code !== 'NO_NODE') throw error
    }),
    'transaction.commit': (options) => nodes.transaction().check(path).commit(options),
    'guarded().commit': (options) => held.guarded().check(path).commit(options),
  }
}

promise('with an aborted signal every verb rejects with its reason at once, and nothing is sent', async (world) => {
  // Nothing of its own accord either, in so short a time.
  const client = await world.connect({ sessionTimeout: 60_000 })
  const verbs = await verbsOf(world, client)
  world.server.clearLog()
  const reason = { any: 'value' }
  const signal = AbortSignal.abort(reason)
  for (const [name, verb] of Object.entries(verbs)) assert.equal(await rejection(verb({ signal })), reason, name)
  await client.nodes.exists('/')
  assert.equal(world.server.log().filter(({ op }) => !/^(ping|exists)/.test(op)).length, 0)
}, { embeddedOnly: true })

promise('aborting ends every verb that waits for a server, with the reason', async (world) => {
  const client = await world.connect({ sessionTimeout: 30_000 })
  const verbs = await verbsOf(world, client)
  const controller = new AbortController()
  world.server.pause()
  const calls = Object.entries(verbs).map(([name, verb]) => [name, rejection(verb({ signal: controller.signal, ...(name === 'watchSequencer' && { timeout: 60_000 }) }))])
  await new Promise(setImmediate)
  const reason = new Error('enough')
  controller.abort(reason)
  for (const [name, call] of calls) assert.equal(await call, reason, name)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  world.server.resume()
}, { embeddedOnly: true })

promise('a signal that is not aborted changes nothing and is listened to no longer', async (world) => {
  const client = await world.connect()
  const { signal } = new AbortController()
  for (const [name, verb] of Object.entries(await verbsOf(world, client))) {
    await verb({ signal })
    assert.equal(getEventListeners(signal, 'abort').length, 0, name)
  }
  const other = await Client.connect(world.hosts, { signal })
  assert.equal(getEventListeners(signal, 'abort').length, 0)
  await other.close()
})

promise('what is no signal is INVALID and named in every verb', async (world) => {
  const client = await world.connect()
  for (const [name, verb] of Object.entries(await verbsOf(world, client))) {
    for (const signal of [null, 7, {}]) assert.match((await rejects(verb({ signal }), 'INVALID')).message, /signal/, name)
    assert.match((await rejects(verb({ colour: 'blue' }), 'INVALID')).message, /colour/, name)
  }
  assert.match((await rejects(Client.connect(world.hosts, { signal: 7 }), 'INVALID')).message, /signal/)
  throws(() => client.nodes.transaction().create(world.path('x'), '', { signal: AbortSignal.abort() }), 'INVALID')
})

promise('an aborted connect leaves no session', async (world) => {
  const reason = new Error('not any more')
  assert.equal(await rejection(Client.connect(world.hosts, { signal: AbortSignal.abort(reason) })), reason)
  assert.equal(world.server.connections(), 0, 'nothing was sent')
  for (let pause = 0; pause < 40; pause++) {
    const controller = new AbortController()
    const connecting = Client.connect(world.hosts, { signal: controller.signal })
    for (let turn = 0; turn < pause; turn++) await new Promise(setImmediate)
    controller.abort(reason)
    const client = await connecting.catch((error) => void assert.equal(error, reason))
    await client?.close()
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  }
  // It arrives during this pause and cannot be delivered.
  const controller = new AbortController()
  const connecting = Client.connect(world.hosts, { signal: controller.signal })
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  controller.abort(reason)
  assert.equal(await rejection(connecting), reason)
  await until(() => world.server.sessions().length === 0, 'every session is closed')
}, { embeddedOnly: true })

promise('a connect that finds no server ends when it is aborted', async (world) => {
  world.server.stop()
  const signal = AbortSignal.timeout(50)
  assert.equal((await rejection(Client.connect(world.hosts, { signal, connectTimeout: 60_000 }))).name, 'TimeoutError')
}, { embeddedOnly: true })

promise('a transaction that was not sent because its signal was aborted can be sent later', async (world) => {
  const { nodes } = await world.connect()
  const writes = nodes.transaction().create(world.path('node').replace(/\/[^/]*$/, ''))
  assert.equal((await rejection(writes.commit({ signal: AbortSignal.abort() }))).name, 'AbortError')
  await writes.commit()
})

promise('watchSequencer has a timeout', async (world) => {
  const [client, lock] = [await world.connect(), await world.lock()]
  const held = await lock.acquire()
  for (const timeout of [0, 50]) {
    const error = await rejects(client.watchSequencer(held.sequencer, { timeout }), 'TIMEOUT')
    assert.match(error.message, /still stands/)
  }
  for (const timeout of [-1, NaN, '5', null]) await rejects(client.watchSequencer(held.sequencer, { timeout }), 'INVALID')
  const watching = client.watchSequencer(held.sequencer, { timeout: 20_000 })
  await held.release()
  await watching
  for (const timeout of [0, 20_000, Infinity]) await client.watchSequencer(held.sequencer, { timeout })
})

promise('a signal of another realm is one', async (world) => {
  const [mine, yours] = [await world.lock(), await world.lock()]
  await mine.acquire()
  // Such as a test runner's environment, or a polyfill, that brings a class of its own.
  const Foreign = vm.runInNewContext('(EventTarget) => class AbortSignal extends EventTarget { aborted = false; reason = undefined }')(EventTarget)
  const signal = new Foreign()
  const waiting = yours.acquire({ signal })
  await untilContenders(mine, 2)
  signal.aborted = true
  signal.reason = vm.runInNewContext('new Error("elsewhere")')
  signal.dispatchEvent(new Event('abort'))
  assert.equal(await rejection(waiting), signal.reason)
  await untilContenders(mine, 1)
})
