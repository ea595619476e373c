// What the Node face decides about elections: terms and their signals, iterators, garbage, and processes that end while they stand.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { AbortError, Election, Held, Leadership } from 'zkrecipes'
import { abortedOnceBrought, promise, rejection, rejects, throws, until, untilCollected } from './world.mjs'

async function elections(world, count = 2) {
  const clients = await Promise.all(Array.from({ length: count }, (_, at) => world.connect({ identity: `candidate-${at}` })))
  return clients.map((client, at) => client.election(world.path('leader'), `data-${at}`))
}

/** Resolves when the signal aborts. */
const aborted = (signal) =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })))

promise('a leadership is a Held, and epochs are bigints', async (world) => {
  const [mine, yours] = await elections(world)
  assert.equal(mine.path, world.path('leader'))
  assert.equal(await yours.leader(), null)
  const leadership = await mine.campaign({ timeout: 5000 })
  assert.ok(leadership instanceof Leadership && leadership instanceof Held)
  assert.equal(leadership.epoch, leadership.fencingToken)
  assert.equal(leadership.epoch, mine.fencingToken)
  const shown = `Leadership { path: '${mine.path}', epoch: ${leadership.epoch}n, permits: 1, isHeld: true }`
  assert.equal(inspect(leadership, { breakLength: Infinity }), shown)
  assert.deepEqual([mine.isLeader, mine.isHeld, yours.isLeader], [true, true, false])
  assert.deepEqual(await yours.leader(), {
    identity: 'candidate-0', data: Buffer.from('data-0'), epoch: leadership.epoch, acknowledged: false,
  })
  await leadership.acknowledge(Buffer.from('ready'))
  const { data, acknowledged } = await yours.leader()
  assert.deepEqual([String(data), acknowledged], ['ready', true])
  await rejects(yours.campaign({ timeout: 0 }), 'TIMEOUT')
  assert.equal(await yours.tryAcquire(), null)
  const next = yours.campaign()
  await until(async () => (await mine.candidates()).length === 2, 'both stand')
  assert.deepEqual((await mine.candidates()).map(({ identity, holds }) => [identity, holds]), [['candidate-0', true], ['candidate-1', false]])
  await mine.resign()
  assert.equal(leadership.signal.aborted, false, 'resigning is no loss')
  await rejects(mine.resign(), 'NOT_HELD')
  await rejects(leadership.acknowledge('late'), 'NOT_HELD')
  assert.ok((await next).epoch > leadership.epoch)
  await (await next).release()
})

promise('a leader that is deposed hears of it by its signal', async (world) => {
  const [mine, yours] = await elections(world)
  const leadership = await mine.campaign()
  world.server.expire((await mine.candidates())[0].sessionId)
  await aborted(leadership.signal)
  assert.deepEqual([leadership.signal.reason.code, leadership.signal.reason.reason], ['LOST', 'session'])
  await (await yours.campaign()).release()
}, { embeddedOnly: true })

promise('a run leads term after term, also after failures, until it is cancelled', async (world) => {
  const [mine, yours] = await elections(world)
  const warnings = []
  const warned = (warning) => warnings.push(warning.message)
  process.on('warning', warned)
  const epochs = []
  const running = mine.run(async (leadership) => {
    epochs.push(leadership.epoch)
    assert.ok(leadership instanceof Leadership && mine.isLeader)
    if (epochs.length === 2) throw new Error('on purpose')
    if (epochs.length === 3) mine.cancel()
  })
  assert.equal(await running, undefined)
  assert.equal(epochs.length, 3)
  assert.ok(epochs[0] < epochs[1] && epochs[1] < epochs[2])
  assert.equal(mine.isLeader, false)
  assert.equal(await yours.leader(), null)
  await until(() => warnings.some((text) => text.includes('on purpose')), 'the failure is told of')
  process.off('warning', warned)
})

promise('work that throws at once fails as one that rejects does', async (world) => {
  const [mine] = await elections(world, 1)
  let terms = 0
  await mine.run(() => {
    if (++terms === 1) throw new Error('on purpose')
    mine.cancel()
  })
  assert.equal(terms, 2)
})

promise('a signal that aborts stops the run, which ends the work first and rejects with the reason', async (world) => {
  const [mine, yours] = await elections(world)
  const reason = new Error('shutting down')
  const controller = new AbortController()
  const course = []
  const running = mine.run(async ({ signal, epoch }) => {
    course.push('begun')
    await aborted(signal)
    assert.equal(signal.reason, reason)
    await new Promise((resolve) => setTimeout(resolve, 30))
    course.push(`ends, leading: ${(await yours.leader()).epoch === epoch}`)
    throw signal.reason
  }, { signal: controller.signal })
  await until(() => course.length === 1, 'it leads')
  const next = yours.campaign().then((leadership) => (course.push('next'), leadership))
  await until(async () => (await yours.candidates()).length === 2, 'another one stands')
  controller.abort(reason)
  assert.equal(await rejection(running), reason)
  await (await next).release()
  assert.deepEqual(course, ['begun', 'ends, leading: true', 'next'])
  assert.equal(await rejection(mine.run(() => assert.fail(), { signal: controller.signal })), reason)
  assert.equal((await yours.candidates()).length, 0)
})

promise('a signal that aborts while the run campaigns withdraws the candidate', async (world) => {
  const [mine, yours] = await elections(world)
  const leadership = await yours.campaign()
  const controller = new AbortController()
  const running = mine.run(() => assert.fail('it never led'), { signal: controller.signal })
  await until(async () => (await yours.candidates()).length === 2, 'it stands')
  controller.abort()
  assert.equal((await rejection(running)).name, 'AbortError')
  await until(async () => (await yours.candidates()).length === 1, 'it stands no more')
  assert.equal(leadership.isHeld, true)
  await leadership.release()
})

promise('a leadership that is on its way here when its run is stopped is resigned', async (world) => {
  const [mine, yours] = await elections(world)
  const controller = new AbortController()
  let terms = 0
  const running = mine.run(() => void terms++, { signal: controller.signal })
  // It is won during this pause, and cannot be delivered.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  controller.abort()
  await rejection(running)
  assert.equal(terms, 0)
  assert.equal(mine.isLeader, false)
  await (await yours.campaign({ timeout: 10_000 })).release()
})

promise('a run that is stopped between the end of its campaign and its work does not begin to work', async (world) => {
  const [mine, yours] = await elections(world)
  const controller = new AbortController()
  let terms = 0
  await abortedOnceBrought(controller, () => rejection(mine.run(() => void terms++, { signal: controller.signal })))
  assert.equal(terms, 0)
  assert.equal(mine.isLeader, false)
  await (await yours.campaign({ timeout: 10_000 })).release()
})

promise('a release with bad options ends no term', async (world) => {
  const [mine] = await elections(world, 1)
  await mine.run(async (leadership) => {
    await rejects(leadership.release({ wiat: false }), 'INVALID')
    assert.equal(leadership.signal.aborted, false)
    assert.equal(leadership.isHeld, true)
    mine.cancel()
  })
})

promise('aborting a run at any moment leaves no candidate', async (world) => {
  const [mine, yours] = await elections(world)
  for (let turns = 0; turns < 30; turns++) {
    const controller = new AbortController()
    const running = mine.run(({ signal }) => aborted(signal), { signal: controller.signal })
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    await rejection(running)
    await until(async () => (await yours.candidates()).length === 0, 'nobody stands')
  }
})

promise('resigning, losing and cancelling tell the work of a run that its term is over', async (world) => {
  const [mine, yours] = await elections(world)
  const ends = []
  const running = mine.run(async (leadership) => {
    const told = new Promise((resolve) => leadership.onLost(() => resolve('lost')))
    const ended = aborted(leadership.signal)
    const { lostSignal } = leadership
    ends.push([leadership])
    await ended
    ends.at(-1).push(leadership.signal.reason, told, lostSignal)
  })
  const term = (count) => until(() => ends.length === count && mine.isLeader, `term ${count} has begun`)
  await term(1)
  await mine.resign()
  await term(2)
  world.server.expire((await yours.candidates())[0].sessionId)
  await term(3)
  mine.cancel()
  await running
  assert.ok(ends[0][1] instanceof AbortError)
  assert.equal(ends[1][1].code, 'LOST')
  assert.ok(ends[2][1] instanceof AbortError)
  assert.equal(await ends[1][2], 'lost')
  // Loss alone: a run that is stopped may still finish what it has begun.
  assert.deepEqual(ends.map(([, , , lostSignal]) => lostSignal.aborted), [false, true, false])
  assert.equal(ends[1][3].reason.code, 'LOST')
}, { embeddedOnly: true })

promise('work that resigns aborts nothing, not even what it has yet to finish', async (world) => {
  const [mine, yours] = await elections(world)
  const ends = []
  await mine.run(async (leadership) => {
    const { signal } = leadership
    await (ends.length === 0 ? leadership.release() : mine.resign())
    await (await yours.campaign({ timeout: 10_000 })).release()
    ends.push([signal.aborted, leadership.isHeld])
    if (ends.length === 2) mine.cancel()
  })
  assert.deepEqual(ends, [[false, false], [false, false]])
})

promise('a run ends with its client', async (world) => {
  const [waits, leads] = await elections(world)
  const client = await world.connect()
  const closing = client.election(world.path('leader'))
  const leadership = await leads.campaign()
  const running = closing.run(() => assert.fail('it never led'))
  await until(async () => (await waits.candidates()).length === 2, 'it stands')
  const outcome = rejects(running, 'CLOSED')
  await client.close()
  await outcome
  await leadership.release()
})

const MOMENTS = {
  'while it leads or campaigns': ({ mine }) => mine.run(({ signal }) => aborted(signal)),
  'while its work goes on regardless': ({ mine }) => mine.run(() => sleep(20)),
  'between terms': ({ mine }) => mine.run(() => {}),
  'between failures': ({ mine }) => mine.run((leadership) => leadership.acknowledge().then(() => assert.fail('on purpose'))),
  'behind another one': ({ mine }) => mine.run(() => assert.fail('it never led')),
  'while there is no server': ({ mine, world }) => {
    world.server.pause()
    return mine.run(({ signal }) => aborted(signal))
  },
}
for (const [moment, begin] of Object.entries(MOMENTS)) {
  promise(`closing the client ${moment} ends the run`, async (world) => {
    const [yours] = await elections(world, 1)
    const ignored = () => {}
    process.on('warning', ignored)
    const leadership = moment === 'behind another one' ? await yours.campaign() : undefined
    for (let turns = 0; turns < 40; turns++) {
      const client = await world.connect()
      const running = begin({ mine: client.election(world.path('leader')), world })
      const outcome = rejects(running, 'CLOSED')
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      if (turns % 2 === 1) await sleep(turns)
      const closing = client.close({ timeout: 10_000 })
      world.server.resume()
      await outcome
      await closing
    }
    await leadership?.release()
    assert.deepEqual(await yours.candidates(), [])
    process.off('warning', ignored)
  }, { embeddedOnly: true })
}

promise('leaders are observed by a loop', async (world) => {
  const [mine, yours] = await elections(world)
  const told = []
  for await (const leader of yours.observe()) {
    told.push(leader && [leader.identity, leader.acknowledged, typeof leader.epoch])
    if (told.length === 1) await mine.campaign()
    else if (told.length === 2) await mine.resign()
    else break
  }
  assert.deepEqual(told, [null, ['candidate-0', false, 'bigint'], null])
})

promise('a leadership that nobody refers to is resigned', async (world) => {
  const [, observer] = await elections(world)
  const client = await world.connect()
  await (async () => void (await client.election(world.path('leader')).campaign()))()
  await untilCollected(async () => (await observer.candidates()).length === 0, 'nobody stands')
})

for (const how of ['exits while it campaigns', 'exits while it leads', 'exits in a run']) {
  promise(`a process that ${how} is no candidate any more`, async (world) => {
    const [mine] = await elections(world, 1)
    const leadership = how === 'exits while it campaigns' ? await mine.campaign() : undefined
    const child = world.child('stand', world.path('leader'), how)
    await child.said('stands')
    const expected = leadership ? 2 : 1
    await until(async () => (await mine.candidates()).length === expected, 'it stands', () => child.errors)
    child.signal('SIGUSR2')
    assert.equal(await child.exit, 0, child.errors)
    const begun = Date.now()
    await until(async () => (await mine.candidates()).length === expected - 1, 'it stands no more')
    assert.ok(Date.now() - begun < 6000, 'long before its session would expire')
    await leadership?.release()
  })
}

promise('a campaign and a run keep the process alive', async (world) => {
  const [mine] = await elections(world, 1)
  const leadership = await mine.campaign()
  const child = world.child('stand', world.path('leader'), 'leads once')
  await child.said('stands')
  await until(async () => (await mine.candidates()).length === 2, 'it stands', () => child.errors)
  await leadership.release()
  assert.equal(await child.exit, 0, child.errors)
  assert.match(child.output, /leads\nover/)
})

promise('a run keeps the process alive until it has ended, also when its client is closed', async (world) => {
  const child = world.child('stand', world.path('leader'), 'closes its client in a term')
  assert.equal(await child.exit, 0, child.errors)
  assert.equal(child.output, 'stands\nCLOSED\n')
})

promise('bad arguments are INVALID', async (world) => {
  const client = await world.connect()
  const election = client.election(world.path('leader'))
  for (const path of ['relative', '', 7, undefined]) throws(() => client.election(path), 'INVALID')
  for (const data of [null, 7, {}]) throws(() => client.election(world.path('x'), data), 'INVALID')
  assert.match(throws(() => client.election(world.path('x'), { layout: 'latch' }), 'INVALID').message, /\bdata\b.*election\(path, data, options\)/)
  throws(() => client.election(world.path('x'), '', { layout: 'other' }), 'INVALID')
  throws(() => client.election(world.path('x'), '', { layuot: 'latch' }), 'INVALID')
  await rejects(election.run(), 'INVALID')
  await rejects(election.run(() => {}, { timeout: 5 }), 'INVALID')
  await rejects(election.campaign({ timeout: -1 }), 'INVALID')
  throws(() => election.observe({ signal: 1 }), 'INVALID')
  throws(() => new Election(), 'INVALID')
  throws(() => new Leadership(), 'INVALID')
})

promise('a leader of a lower priority is told by its signal, and hands over before it is lost', async (world) => {
  const [mine] = await elections(world, 1)
  const other = await world.connect({ identity: 'other' })
  const yours = other.election(world.path('leader'), '', { priority: 1 })
  const terms = []
  const running = mine.run(async (leadership) => {
    terms.push(leadership)
    await aborted(leadership.signal)
    assert.equal(leadership.lostSignal.aborted, false)
  })
  await until(() => terms.length === 1, 'it leads')
  const won = await yours.campaign({ timeout: 15000 })
  assert.ok(won.epoch > terms[0].epoch)
  assert.deepEqual([terms[0].signal.reason.code, terms[0].lostSignal.aborted], ['CANCELLED', false])
  await until(async () => (await yours.candidates()).length === 2, 'it stands again')
  assert.equal(await yours.transfer('nobody'), false)
  assert.equal(await yours.transfer((await yours.candidates())[1]), true)
  await until(() => terms.length === 2, 'it leads again')
  await rejects(yours.transfer('candidate-0'), 'NOT_HELD')
  mine.cancel()
  await running
})

promise('who is not healthy does not lead, and what the check throws counts as that', async (world) => {
  const [mine] = await elections(world, 1)
  const warnings = []
  const warned = (warning) => warnings.push(warning.message)
  process.on('warning', warned)
  const answers = [() => false, () => Promise.reject(new Error('no disk')), () => true]
  const healthy = () => (answers.length > 1 ? answers.shift() : answers[0])()
  let begun = 0
  const reasons = []
  const running = mine.run(async ({ signal }) => {
    begun += 1
    await aborted(signal)
    reasons.push(signal.reason)
  }, { healthy })
  await until(() => begun === 1, 'it leads')
  process.off('warning', warned)
  assert.ok(warnings.some((message) => message.includes('healthy') && message.includes('no disk')), String(warnings))
  answers[0] = () => false
  await until(async () => (await mine.candidates()).length === 0, 'it stands no more')
  assert.deepEqual(reasons.map(({ code, message }) => [code, message.split(';')[0]]), [
    ['CANCELLED', 'this candidate is not healthy'],
  ])
  answers[0] = () => true
  await until(() => begun === 2, 'it leads again')
  mine.cancel()
  await running
  await rejects(mine.run(() => {}, { healthy: 5 }), 'INVALID')
})

for (const how of ['signal', 'cancel']) {
  promise(`a run is stopped by its ${how} while it asks for the first time`, async (world) => {
    const [mine, yours] = await elections(world)
    const controller = new AbortController()
    const reason = new Error('shutting down')
    let answer
    const healthy = () => new Promise((resolve) => (answer = resolve))
    const running = mine.run(() => assert.fail('it was stopped'), { healthy, signal: controller.signal })
    await until(() => answer, 'it is asked')
    if (how === 'signal') {
      controller.abort(reason)
      assert.equal(await rejection(running), reason)
    } else {
      mine.cancel()
      await running
    }
    // What is answered behind the end says nothing any more.
    answer(false)
    await (await mine.campaign({ timeout: 10_000 })).release()
    await mine.run(() => mine.cancel())
    assert.deepEqual(await yours.candidates(), [])
  })
}
