// What the Node face decides about names, groups and nodes that are watched: the forms of arguments and answers, and what is
// collected. What they are, the scenarios say.

import assert from 'node:assert/strict'
import { collectGarbage, promise, rejection, rejects, throws, until, untilCollected } from './world.mjs'

const value = async (feed) => (await feed.next()).value

promise('names are bound with flags or options, and answered as buffers', async (world) => {
  const [mine, yours] = await Promise.all([world.connect(), world.connect()])
  const [names, other] = [mine.names(world.path('names')), yours.names(world.path('names'))]
  assert.equal(names.path, world.path('names'))
  assert.deepEqual(await names.list(), [])
  await names.bind('plain', 'one')
  await names.bind('flag', Buffer.from('two'), true)
  await names.bind('option', new Uint8Array([51]), { ephemeral: true })
  assert.deepEqual(await other.list(), ['flag', 'option', 'plain'])
  assert.deepEqual(await other.lookup('option'), Buffer.from('3'))
  assert.equal(await other.lookup('none'), null)
  await mine.close()
  await until(async () => (await other.list()).length === 1, 'the ephemeral ones are gone')
  assert.deepEqual(await other.lookup('plain'), Buffer.from('one'))
  await other.unbind('plain')
  await rejects(other.unbind('plain'), 'NO_NODE')
  for (const bad of [undefined, null, 7, {}]) {
    await rejects(other.bind(bad, ''), 'INVALID')
    await rejects(other.bind('name', bad), 'INVALID')
    await rejects(other.lookup(bad), 'INVALID')
    await rejects(other.unbind(bad), 'INVALID')
  }
  await rejects(other.bind('name', '', 'ephemeral'), 'INVALID')
  await rejects(other.bind('name', '', { ephemeral: true, ttl: 1000 }), 'INVALID')
  for (const ttl of ['1000', 0, -1, NaN, Infinity]) await rejects(other.bind('name', '', { ttl }), 'INVALID')
  await rejects(other.bind('name', '', { ephemral: true }), 'INVALID')
})

promise('names are keys of a plain object, whatever they are', async (world) => {
  const names = (await world.connect()).names(world.path('names'))
  const feed = names.watch()
  assert.deepEqual(await value(feed), {})
  for (const name of ['__proto__', 'constructor', '7']) await names.bind(name, name)
  let all
  do all = await value(feed)
  while (Object.keys(all).length < 3)
  assert.deepEqual(Object.keys(all).sort(), ['7', '__proto__', 'constructor'])
  assert.deepEqual(Object.getOwnPropertyDescriptor(all, '__proto__').value, Buffer.from('__proto__'))
  assert.equal(Object.getPrototypeOf(all), Object.prototype)
  await feed.return()
})

promise('the events of a group have the fields of their type, and no others', async (world) => {
  const [mine, yours] = await Promise.all([world.connect(), world.connect()])
  const [group, other] = [mine.group(world.path('group')), yours.group(world.path('group'), { layout: 'member' })]
  assert.equal(group.path, world.path('group'))
  await other.join('first')
  const feed = group.watch()
  assert.deepEqual(await value(feed), { type: 'snapshot', members: { first: Buffer.from('') } })
  await group.join('second', 'idle')
  assert.deepEqual(await value(feed), { type: 'joined', name: 'second', data: Buffer.from('idle') })
  assert.deepEqual(await other.members(), { first: Buffer.from(''), second: Buffer.from('idle') })
  await group.update('')
  assert.deepEqual(await value(feed), { type: 'changed', name: 'second', data: Buffer.from('') })
  await other.leave()
  assert.deepEqual(await value(feed), { type: 'left', name: 'first' })
  await rejects(other.leave(), 'NOT_HELD')
  await rejects(other.update('x'), 'NOT_HELD')
  await feed.return()
  for (const bad of [undefined, null, 7, {}]) await rejects(other.join(bad), 'INVALID')
  assert.match((await rejects(group.join('second', { signal: undefined }), 'INVALID')).message, /join\(name, data, options\)/)
  await rejects(group.update(), 'INVALID')
  throws(() => mine.group(world.path('group'), { layout: 'other' }), 'INVALID')
  throws(() => mine.group(world.path('group'), { layuot: 'party' }), 'INVALID')
})

promise('a member stays one though nobody has the handle in a variable, and leaves with its client', async (world) => {
  const observer = (await world.connect()).group(world.path('group'))
  let registry
  let collected = false
  await (async () => {
    const client = await world.connect()
    const member = client.group(world.path('group'))
    await member.join('member')
    await rejects(member.leave({ timeout: 5 }), 'INVALID')
    registry = new FinalizationRegistry(() => (collected = true))
    registry.register(client.group(world.path('group')))
  })()
  await untilCollected(() => collected, 'a handle that has not joined is collected')
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
  assert.deepEqual(Object.keys(await observer.members()), ['member'])
  await world.end()
})

promise('a group that was left, or whose client was closed, can be collected', async (world) => {
  const collected = new Set()
  const registry = new FinalizationRegistry((name) => collected.add(name))
  const client = await world.connect()
  const other = await world.connect()
  await (async () => {
    const [left, closed] = [client.group(world.path('group')), other.group(world.path('group'))]
    registry.register(left, 'left')
    registry.register(closed, 'closed')
    await left.join('left')
    await closed.join('closed')
    await left.leave()
  })()
  await untilCollected(() => collected.has('left'), 'who left is collected')
  await other.close()
  await untilCollected(() => collected.has('closed'), 'the other one is, too')
  assert.equal(client.state, 'connected')
})

promise('whoever withdraws from joining is no member', async (world) => {
  const client = await world.connect()
  const group = client.group(world.path('group'))
  const observer = (await world.connect()).group(world.path('group'))
  const reason = new Error('withdrawn')
  for (let turns = 0; turns < 30; turns++) {
    const controller = new AbortController()
    const joining = group.join('member', '', { signal: controller.signal })
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    controller.abort(reason)
    try {
      await joining
      await group.leave()
    } catch (error) {
      assert.equal(error, reason)
    }
    await until(async () => Object.keys(await observer.members()).length === 0, 'nobody is a member')
  }
  await group.join('member')
  await group.leave()
})

promise('whoever withdraws from binding a name for as long as the client lives has not bound it', async (world) => {
  const names = (await world.connect()).names(world.path('names'))
  const observer = (await world.connect()).names(world.path('names'))
  const reason = new Error('withdrawn')
  for (let turns = 0; turns < 30; turns++) {
    const controller = new AbortController()
    const binding = names.bind('name', '', { ephemeral: true, signal: controller.signal })
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    controller.abort(reason)
    try {
      await binding
      await names.unbind('name')
    } catch (error) {
      assert.equal(error, reason)
    }
    await until(async () => (await observer.list()).length === 0, 'nothing is bound')
  }
})

for (const [what, declared] of Object.entries({
  'a membership': [(client, path, signal) => client.group(path).join('it', '', { signal }), (client, path) => client.group(path).members()],
  'a binding': [(client, path, signal) => client.names(path).bind('it', '', { ephemeral: true, signal }), (client, path) => client.names(path).list()],
})) {
  promise(`${what} that is on its way here when it is withdrawn is undone`, async (world) => {
    const [declare, all] = declared
    const [client, observer] = await Promise.all([world.connect(), world.connect()])
    const controller = new AbortController()
    const declaring = declare(client, world.path('all'), controller.signal)
    // It is declared during this pause, and the answer cannot be delivered.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    controller.abort()
    assert.equal((await rejection(declaring)).name, 'AbortError')
    await until(async () => Object.keys(await all(observer, world.path('all'))).length === 0, 'nothing is left of it')
    // Nobody is in the way.
    await declare(client, world.path('all'))
  })
}

promise('nodes are watched by kind', async (world) => {
  const { nodes } = await world.connect()
  const top = world.path('top')
  const feeds = [nodes.watch(top), nodes.watch(top, 'children'), nodes.watch(top, { kind: 'subtree' })]
  assert.deepEqual(await Promise.all(feeds.map(value)), [null, null, {}])
  await nodes.ensure(top)
  await nodes.set(top, 'data')
  await nodes.create(`${top}/child`, 'below')
  let content, names, all
  do content = await value(feeds[0])
  while (String(content?.data) !== 'data')
  const [data, stat] = content
  assert.equal(data, content.data)
  assert.ok(stat.mtime instanceof Date)
  do names = await value(feeds[1])
  while (!names?.length)
  assert.deepEqual(names, ['child'])
  do all = await value(feeds[2])
  while (!all[`${top}/child`])
  assert.deepEqual(Object.keys(all), [top, `${top}/child`])
  assert.equal(String(all[`${top}/child`].data), 'below')
  await Promise.all(feeds.map((feed) => feed.return()))
  throws(() => nodes.watch('relative'), 'INVALID')
  throws(() => nodes.watch(top, 'sideways'), 'INVALID')
  throws(() => nodes.watch(top, '__proto__'), 'INVALID')
  throws(() => nodes.watch(top, { kind: 7 }), 'INVALID')
  const reason = new Error('withdrawn')
  assert.equal((await nodes.watch(top, { signal: AbortSignal.abort(reason) }).next()).done, true)
  assert.equal(await rejection(nodes.get(top, { signal: AbortSignal.abort(reason) })), reason)
})
