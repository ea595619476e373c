// What the Node face decides about queues: the forms of arguments and answers, loops, work with concurrency, withdrawing, garbage.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { AbortError, Backlog, DelayQueue, Held, Item, PriorityQueue, Queue, onLog } from 'zkrecipes'
import { abortedOnceBrought, promise, rejection, rejects, throws, until, untilCollected } from './world.mjs'

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')
const texts = (items) => items.map(String)

/** A queue with these items, on clients of their own. */
async function queues(world, items = [], options = undefined) {
  const [mine, yours] = await Promise.all([world.connect(), world.connect()])
  const [queue, other] = [mine.queue(world.path('queue'), options), yours.queue(world.path('queue'), options)]
  if (items.length > 0) await queue.putMany(items)
  return { client: mine, queue, other }
}

/** Collects what the process is warned of meanwhile. */
async function warned(body) {
  const warnings = []
  const listener = (warning) => warnings.push(warning.message)
  process.on('warning', listener)
  try {
    await body(warnings)
  } finally {
    process.off('warning', listener)
  }
}

promise('payloads are bytes or text, and come as buffers', async (world) => {
  const { queue, other } = await queues(world)
  assert.ok(queue instanceof Queue && queue instanceof Backlog)
  assert.equal(queue.path, world.path('queue'))
  assert.equal(await queue.peek(), null)
  assert.equal(await queue.tryGet(), null)
  assert.equal(await queue.tryClaim(), null)
  await queue.put('tea')
  await queue.putMany([new Uint8Array([1, 2]), Buffer.from('x'), ''])
  assert.equal(await queue.len(), 4)
  assert.deepEqual(await other.items(), [Buffer.from('tea'), Buffer.from([1, 2]), Buffer.from('x'), Buffer.from('')])
  assert.deepEqual(await other.peek(), Buffer.from('tea'))
  assert.deepEqual(await other.get(), Buffer.from('tea'))
  assert.deepEqual(await other.tryGet(), Buffer.from([1, 2]))
  await queue.putMany([])
  assert.equal(await queue.len(), 2)
})

promise('puts that were called for one after the other go in in that order', async (world) => {
  const client = await world.connect()
  for (let round = 0; round < 10; round++) {
    const queue = client.queue(world.path(`queue-${round}`))
    const items = Array.from({ length: 8 }, (_, n) => String(n))
    await Promise.all(items.map((item) => queue.put(item)))
    assert.deepEqual(texts(await queue.items()), items)
  }
})

promise('an item is a Held until it is settled', async (world) => {
  const { queue, other } = await queues(world, ['tea'])
  const item = await queue.claim({ timeout: 5000 })
  assert.ok(item instanceof Item && item instanceof Held)
  assert.deepEqual([String(item.data), item.attempts, item.isHeld], ['tea', 1, true])
  assert.equal(typeof item.fencingToken, 'bigint')
  await item.verify()
  await rejects(other.claim({ timeout: 0 }), 'TIMEOUT')
  await item.nack()
  assert.equal(item.isHeld, false)
  await rejects(item.ack(), 'NOT_HELD')
  const again = await other.claim()
  assert.equal(again.attempts, 2)
  await again.ack()
  assert.deepEqual([again.isHeld, again.signal.aborted], [false, false])
  await rejects(again.nack(), 'NOT_HELD')
  await again[asyncDispose]()
  assert.equal(await queue.len(), 0)
})

promise('leaving a scope gives back what was not settled', async (world) => {
  const { queue } = await queues(world, ['tea'])
  await (await queue.claim())[asyncDispose]()
  const item = await queue.claim()
  assert.equal(item.attempts, 2)
  await item.ack()
  await item[asyncDispose]()
  assert.equal(await queue.len(), 0)
})

promise('a loop claims one after the other, and what it leaves unsettled is given back', async (world) => {
  const { queue, other } = await queues(world, ['one', 'two', 'three'])
  const seen = []
  for await (const item of queue) {
    seen.push(`${item.data} ${item.attempts}`)
    // "one" steps aside as the loop goes on, and comes again: in the midst of the others, if they take long.
    if (`${item.data}` !== 'one') await item.ack()
    if (`${item.data}` === 'three') break
  }
  const isOne = (text) => text.startsWith('one ')
  assert.deepEqual(seen.filter((text) => text === 'one 1' || !isOne(text)), ['one 1', 'two 1', 'three 1'])
  const reason = new Error('on purpose')
  const failing = (async () => {
    for await (const item of queue) throw Object.assign(reason, { item })
  })()
  assert.equal(await rejection(failing), reason)
  assert.equal(reason.item.isHeld, false, 'given back before the error is seen')
  assert.equal((await other.claim({ timeout: 20_000 })).attempts, seen.filter(isOne).length + 2)
})

promise('a loop ends when it is cancelled, and when its client is closed', async (world) => {
  const { client, queue } = await queues(world)
  const loop = async () => {
    for await (const item of queue) assert.fail(`nobody put ${item.data}`)
    return 'over'
  }
  const cancelled = loop()
  await new Promise((resolve) => setTimeout(resolve, 20))
  queue.cancel()
  assert.equal(await cancelled, 'over')
  const closed = loop()
  await new Promise((resolve) => setTimeout(resolve, 20))
  await client.close()
  assert.equal(await closed, 'over')
})

promise('several who ask one loop are answered in order, and return ends those who wait', async (world) => {
  const { queue } = await queues(world, ['one', 'two'])
  const claims = queue[Symbol.asyncIterator]()
  assert.equal(claims[Symbol.asyncIterator](), claims)
  const asked = [claims.next(), claims.next(), claims.next()]
  const one = (await asked[0]).value
  await one.ack().catch(({ code }) => assert.equal(code, 'NOT_HELD'))
  assert.ok((await asked[1]).value instanceof Item)
  assert.deepEqual(await claims.return('enough'), { value: 'enough', done: true })
  await asked[2]
  assert.deepEqual(await claims.next(), { value: undefined, done: true })
})

promise('process acknowledges what succeeds and tries again what fails', async (world) => {
  const { queue } = await queues(world, ['bad', 'good', 'last'], { maxAttempts: 1 })
  const seen = []
  await warned(async (warnings) => {
    assert.equal(await queue.process((item) => {
      seen.push(`${item.data} ${item.attempts}`)
      if (String(item.data) === 'bad') throw new Error('on purpose')
      if (String(item.data) === 'last') queue.cancel()
    }), undefined)
    await until(() => warnings.filter((text) => text.includes('on purpose')).length === 1, 'the failure is told of')
  })
  assert.deepEqual(seen, ['bad 1', 'good 1', 'last 1'])
  const [letter, ...others] = await queue.dead.items()
  assert.deepEqual([others, String(letter.data), letter.reason, letter.attempts, letter.problem], [[], 'bad', 'Error: on purpose', 1, null])
  assert.ok(Math.abs(Date.now() - letter.diedAt.getTime()) < 3_600_000)
  assert.equal(queue.dead, queue.dead)
  assert.equal(await queue.len(), 0)
  assert.equal(await queue.replay(), 1)
  assert.deepEqual(texts(await queue.items()), ['bad'])
})

promise('what fails in process is told in the log, and a loss by its own record alone', async (world) => {
  const { client, queue } = await queues(world, ['bad', 'lost'], { maxAttempts: 1 })
  const records = []
  const unsubscribe = onLog((record) => records.push(record), { level: 'warn' })
  const told = (name) => records.filter(({ event, fields }) => event === name && JSON.stringify(fields).includes(queue.path))
  await warned(async (warnings) => {
    await queue.process(async (item) => {
      if (String(item.data) === 'bad') throw new Error('on purpose')
      const { signal } = item
      await client.nodes.delete(item.node)
      await until(() => signal.aborted, 'it is lost')
      queue.cancel()
      throw signal.reason
    })
    await until(() => told('lost').length === 1, 'the loss is told')
    const [{ level, message, fields }, ...others] = told('item_failed')
    assert.deepEqual(others, [])
    assert.equal(level, 'warn')
    assert.deepEqual([fields.queue, fields.attempt], [queue.path, 1])
    assert.match(fields.item, /^\S+$/)
    assert.match(fields.error, /on purpose/)
    assert.ok(message.includes(queue.path) && message.includes(fields.item), message)
    assert.deepEqual(warnings.filter((text) => text.includes('on purpose')), [])
  })
  unsubscribe()
})

promise('without a server process ends when its item is lost', async (world) => {
  const client = await world.connect({ sessionTimeout: 1500, retry: { giveUpAfter: 3_600_000 } })
  const queue = client.queue(world.path('queue'))
  await queue.put('tea')
  const controller = new AbortController()
  const reason = new Error('shutting down')
  const processing = queue.process(() => {
    world.server.stop()
    controller.abort(reason)
  }, { signal: controller.signal })
  assert.equal(await rejection(processing), reason)
}, { embeddedOnly: true })

promise('a nack takes a delay and a reason', async (world) => {
  const { queue } = await queues(world, ['bad', 'good'], { maxAttempts: 2 })
  const item = await queue.claim()
  await rejects(item.nack({ delay: -1 }), 'INVALID')
  await rejects(item.nack({ reason: 7 }), 'INVALID')
  await item.nack({ delay: 0 })
  const again = await queue.claim()
  assert.equal(String(again.data), 'bad')
  await again.nack({ delay: 10, reason: 'nobody lives there' })
  assert.deepEqual((await queue.dead.items()).map(({ reason, attempts }) => [reason, attempts]), [['nobody lives there', 2]])
  const good = await queue.claim()
  await good.nack({ delay: 3_600_000 })
  assert.equal(await queue.tryClaim(), null)
  await rejects(good.nack(), 'NOT_HELD')
})

promise('process leaves alone what its work has settled', async (world) => {
  const { queue } = await queues(world, ['tea'])
  const attempts = []
  await queue.process(async (item) => {
    attempts.push(item.attempts)
    if (item.attempts === 1) await item.nack()
    else queue.cancel()
  })
  assert.deepEqual(attempts, [1, 2])
  assert.equal(await queue.len(), 0)
})

promise('process works on as many at once as it is told', async (world) => {
  const { queue } = await queues(world, Array.from({ length: 9 }, (_, at) => `item-${at}`))
  let [inside, most, done] = [0, 0, 0]
  await queue.process(async () => {
    most = Math.max(most, ++inside)
    await until(() => most === 3, 'three work')
    inside--
    if (++done === 9) queue.cancel()
  }, { concurrency: 3 })
  assert.deepEqual([most, done, await queue.len()], [3, 9, 0])
})

promise('a signal that aborts ends process when the work in progress is over', async (world) => {
  const { queue, other } = await queues(world, ['one', 'two'])
  const reason = new Error('shutting down')
  const controller = new AbortController()
  const seen = []
  const processing = queue.process(async (item) => {
    controller.abort(reason)
    await new Promise((resolve) => setTimeout(resolve, 30))
    seen.push(String(item.data))
  }, { signal: controller.signal })
  assert.equal(await rejection(processing), reason)
  assert.deepEqual(seen, ['one'])
  assert.deepEqual(texts(await other.items()), ['two'], 'what was worked on is done')
  assert.equal(await rejection(queue.process(() => assert.fail(), { signal: controller.signal })), reason)
})

promise('what fails while process is being stopped has failed, and what the signal ends has not', async (world) => {
  const reason = new Error('shutting down')
  const failure = new Error('on purpose')
  const hidden = Object.create(null, { name: { get: () => { throw failure } } })
  const abort = (queue, controller) => controller.abort(reason)
  const cancel = (queue, controller) => queue.cancel()
  const fails = () => Promise.reject(failure)
  const failed = [0, 1, 'Error: on purpose']
  const goneBack = [1, 0, undefined]
  const cases = {
    'fails after an abort': [abort, fails, failed],
    'fails after a cancel': [cancel, fails, failed],
    'throws the reason': [abort, () => Promise.reject(reason), goneBack],
    'awaits what takes the signal': [abort, (signal) => sleep(60_000, undefined, { signal }), goneBack],
    'is aborted by a signal of its own': [cancel, () => sleep(60_000, undefined, { signal: AbortSignal.abort() }), goneBack],
    'throws what nobody can look at': [cancel, () => Promise.reject(hidden), [0, 1, 'an error that says nothing']],
  }
  for (const [name, [end, work, [ready, dead, why]]] of Object.entries(cases)) {
    const client = await world.connect()
    const queue = client.queue(world.path(name.replaceAll(' ', '-')), { maxAttempts: 1 })
    await queue.put('tea')
    const controller = new AbortController()
    await warned(async () => {
      await queue.process(async () => {
        end(queue, controller)
        await work(controller.signal)
      }, { signal: controller.signal }).catch((error) => assert.equal(error, reason, name))
    })
    const stats = await queue.stats()
    assert.deepEqual([stats.ready, stats.dead, (await queue.dead.items())[0]?.reason], [ready, dead, why], name)
  }
})

promise('what was claimed for a process that is stopped meanwhile is given back unseen', async (world) => {
  const { queue, other } = await queues(world, ['tea'])
  const controller = new AbortController()
  let seen = 0
  await abortedOnceBrought(controller, () => rejection(queue.process(() => void seen++, { signal: controller.signal })))
  assert.equal(seen, 0)
  assert.equal((await other.claim({ timeout: 5000 })).attempts, 2)
})

promise('process ends with its client', async (world) => {
  const { client, queue } = await queues(world)
  const outcome = rejects(queue.process(() => assert.fail()), 'CLOSED')
  await client.close()
  await outcome
})

promise('whoever withdraws takes nothing', async (world) => {
  const { queue, other } = await queues(world)
  const reason = new Error('withdrawn')
  const controller = new AbortController()
  const { signal } = controller
  const waiting = Promise.all([queue.get({ signal }), queue.claim({ signal })].map(rejection))
  controller.abort(reason)
  for (const error of await waiting) assert.equal(error, reason)
  const cancelled = Promise.all([queue.get(), queue.claim()].map(rejection))
  queue.cancel()
  for (const error of await cancelled) assert.ok(error instanceof AbortError)
  await other.put('tea')
  assert.deepEqual(await other.get({ timeout: 5000 }), Buffer.from('tea'))
})

for (const verb of ['get', 'claim']) {
  promise(`an item that is on its way here when ${verb} is withdrawn goes to the next`, async (world) => {
    const { queue, other } = await queues(world, ['tea'])
    const controller = new AbortController()
    const taking = queue[verb]({ signal: controller.signal })
    // It is taken during this pause, and cannot be delivered.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    controller.abort()
    await rejection(taking)
    assert.deepEqual(await other.get({ timeout: 10_000 }), Buffer.from('tea'))
  })
}

promise('an item that nobody refers to goes to the next', async (world) => {
  const { queue, other } = await queues(world, ['tea'])
  await (async () => void (await queue.claim()))()
  await untilCollected(async () => (await other.tryGet()) !== null, 'it is given back')
})

promise('a loop that nobody goes on with keeps no item', async (world) => {
  const { queue, other } = await queues(world, ['tea'])
  await (async () => void (await queue[Symbol.asyncIterator]().next()))()
  await untilCollected(async () => (await other.tryGet()) !== null, 'it is given back')
})

promise('a key puts once, and its option is checked', async (world) => {
  const { queue, other } = await queues(world)
  await Promise.all([queue, other, queue].map((one) => one.put('tea', { key: 'order-1', timeout: 10_000 })))
  assert.equal(await queue.len(), 1)
  await queue.put('tea', { key: undefined })
  assert.equal(await queue.len(), 2)
  for (const key of ['', 'x'.repeat(1001), 7, null]) await rejects(queue.put('tea', { key }), 'INVALID')
  await rejects(queue.put('tea', { keys: 'order-1' }), 'INVALID')
  await rejects(queue.putMany(['tea'], { key: 'order-1' }), 'INVALID')
})

promise('the error of putting many says how many went in', async (world) => {
  const { queue } = await queues(world)
  const error = await rejects(queue.putMany(['one', Buffer.alloc(2_000_000)]), 'TOO_LARGE')
  assert.equal(error.put, await queue.len())
  assert.equal('put' in (await rejects(queue.get({ timeout: -1 }), 'INVALID')), false)
})

promise('priorities and delays order what is put', async (world) => {
  const client = await world.connect()
  const urgent = client.priorityQueue(world.path('urgent'))
  assert.ok(urgent instanceof PriorityQueue && urgent instanceof Backlog)
  await urgent.put('late', 2 ** 31 - 1)
  await urgent.put('first', -(2 ** 31), { timeout: 5000 })
  assert.deepEqual(texts(await urgent.items()), ['first', 'late'])
  const later = client.delayQueue(world.path('later'))
  assert.ok(later instanceof DelayQueue)
  await later.put('later', 60_000)
  await later.put('soon', 20)
  assert.deepEqual(await later.get(), Buffer.from('soon'))
  assert.equal(await later.tryGet(), null)
})

promise('bad arguments are INVALID', async (world) => {
  const client = await world.connect()
  const named = (error, argument) => assert.match(error.message, new RegExp(`\\b${argument}\\b`))
  const path = world.path('queue')
  for (const [option, values] of Object.entries({
    maxItems: [0, -1, 1.5, '5', null], maxAttempts: [-1, 1.5, '5'], shards: [0, -1, '2'], ephemeral: [1, 'yes'], layout: ['other', 7], colour: ['red'],
  })) {
    for (const value of values) named(throws(() => client.queue(path, { [option]: value }), 'INVALID'), option)
  }
  const queue = client.queue(path)
  for (const data of [undefined, null, 7, {}]) named(await rejects(queue.put(data), 'INVALID'), 'data')
  for (const items of [undefined, null, 'abc', {}]) named(await rejects(queue.putMany(items), 'INVALID'), 'items')
  named(await rejects(queue.putMany(['a', 7]), 'INVALID'), 'items')
  for (const timeout of [-1, NaN, '5', null]) {
    for (const verb of ['get', 'claim']) named(await rejects(queue[verb]({ timeout }), 'INVALID'), 'timeout')
    named(await rejects(queue.put('x', { timeout }), 'INVALID'), 'timeout')
  }
  for (const priority of [undefined, null, '5', 1.5, 2 ** 31, {}]) {
    named(await rejects(client.priorityQueue(path).put('x', priority), 'INVALID'), 'priority')
  }
  for (const delay of [undefined, null, '5', -1, NaN, Infinity, {}]) named(await rejects(client.delayQueue(path).put('x', delay), 'INVALID'), 'delay')
  for (const concurrency of [0, -1, '2', null, 1.5, 10_001, 2 ** 31 - 1]) named(await rejects(queue.process(() => {}, { concurrency }), 'INVALID'), 'concurrency')
  named(await rejects(queue.process(), 'INVALID'), 'work')
  for (const Type of [Backlog, Queue, PriorityQueue, DelayQueue, Item]) throws(() => new Type(), 'INVALID')
  assert.equal(await queue.len(), 0)
})
