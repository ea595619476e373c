// A panic in the addon is an INTERNAL error in JavaScript and never the end of the process. The addon of these tests has
// verbs that panic on purpose; see bindings/node/src/hooks.rs.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { untilCollected } from './world.mjs'

const hooks = createRequire(import.meta.url)('./hooks.node')

/** The outcome of one call. */
function outcome(start) {
  return new Promise((resolve) => {
    const loop = new hooks.EventLoop((number, failure, value) => resolve({ number, failure, value, loop }), true)
    const called = start(loop)
    assert.equal(typeof called, 'number')
    setTimeout(() => {}, 1000)
  })
}

test('a panic in a verb is thrown', () => {
  assert.throws(() => hooks.panicNow(), /on purpose/)
})

test('a panic in a future is a failure of its call', async () => {
  const { failure } = await outcome(hooks.panicInFuture)
  assert.equal(failure.code, 'INTERNAL')
})

test('a panic in the conversion of a result is a failure of its call', async () => {
  const { failure, value } = await outcome(hooks.panicInConversion)
  assert.equal(failure.code, 'INTERNAL')
  assert.equal(value, null)
})

test('a panic in a finalizer goes no further', async () => {
  let collected = 0
  const registry = new FinalizationRegistry(() => collected++)
  ;(() => {
    for (let i = 0; i < 10; i++) registry.register(new hooks.PanicsWhenCollected())
  })()
  await untilCollected(() => collected === 10, 'all are collected')
})

test('an argument of a type that the library should have caught is thrown', () => {
  assert.throws(() => hooks.connect('no loop', 7, {}))
  assert.throws(() => new hooks.EventLoop('no function'))
  const verb = hooks.Lock.prototype.acquire
  assert.throws(() => verb.call({}, 1))
})
