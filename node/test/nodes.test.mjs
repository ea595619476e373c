import assert from 'node:assert/strict'
import { Client } from 'zkrecipes'
import { EmbeddedServer } from 'zkrecipes/testing'
import { promise, rejects, until } from './world.mjs'

promise('a node is created, read, changed and deleted', async (world) => {
  const { nodes } = await world.connect()
  await nodes.ensure(world.path('a'))
  const path = await nodes.create(world.path('a/node'), 'grüße')
  assert.equal(path, world.path('a/node'))
  const { data, stat } = await nodes.get(path)
  assert.ok(Buffer.isBuffer(data))
  assert.equal(data.toString(), 'grüße')
  assert.equal(stat.version, 0)
  assert.equal(stat.dataLength, Buffer.byteLength('grüße'))
  assert.equal(stat.ephemeralOwner, 0n)
  assert.equal(typeof stat.czxid, 'bigint')
  assert.ok(stat.ctime instanceof Date && Math.abs(stat.ctime - Date.now()) < 60_000)
  const changed = await nodes.set(path, new Uint8Array([0, 1, 255]), 0)
  assert.equal(changed.version, 1)
  const [bytes, after] = await nodes.get(path)
  assert.deepEqual([...bytes], [0, 1, 255])
  assert.deepEqual(after, changed)
  assert.deepEqual(await nodes.exists(path), changed)
  assert.deepEqual(await nodes.children(world.path('a')), ['node'])
  await nodes.delete(path, 1)
  assert.equal(await nodes.exists(path), null)
})

promise('each mode of creation does what it says', async (world) => {
  const client = await world.connect()
  const { nodes } = client
  await nodes.ensure(world.path('modes'))
  const ephemeral = await nodes.create(world.path('modes/e'), '', 'ephemeral')
  assert.equal((await nodes.exists(ephemeral)).ephemeralOwner, client.sessionId)
  const first = await nodes.create(world.path('modes/s-'), '', 'persistent_sequential')
  const second = await nodes.create(world.path('modes/s-'), '', 'ephemeral_sequential')
  assert.match(first, /s-\d{10}$/)
  assert.ok(second > first)
  await nodes.create(world.path('modes/c'), undefined, 'container')
  assert.equal((await nodes.children(world.path('modes'))).length, 4)
  await nodes.deleteAll(world.path('modes'))
  assert.equal(await nodes.exists(world.path('modes')), null)
})

promise('a node lives for a time', async () => {
  const server = EmbeddedServer.start({ extendedTypes: true })
  const client = await Client.connect(server.connectString)
  const { nodes } = client
  try {
    assert.equal(await nodes.create('/short', '', 'persistent', { ttl: 1 }), '/short')
    assert.equal(await nodes.create('/long-', '', { mode: 'persistent_sequential', ttl: 86_400_000 }), '/long-0000000001')
    const both = nodes.transaction().create('/one', '', { ttl: 60_000 }).create('/two', undefined, 'persistent', { ttl: 60_000 })
    assert.deepEqual(await both.commit(), ['/one', '/two'])
    await until(() => {
      server.advanceClock(60_000)
      return !server.nodes().some((path) => ['/short', '/one', '/two'].includes(path))
    }, 'they are removed')
    assert.ok(await nodes.exists('/long-0000000001'))
  } finally {
    await client.close()
    server.shutdown()
  }
})

promise('a time to live that cannot be is refused', async (world) => {
  const { nodes } = await world.connect()
  const path = world.path('never')
  for (const ttl of [0, 0.5, -1, NaN, Infinity, 2 ** 40, '1 h', null]) {
    assert.match((await rejects(nodes.create(path, '', { ttl }), 'INVALID')).message, /ttl: /)
    assert.throws(() => nodes.transaction().create(path, '', 'persistent', { ttl }), { code: 'INVALID' })
  }
  for (const mode of ['ephemeral', 'ephemeral_sequential', 'container']) {
    assert.match((await rejects(nodes.create(path, '', mode, { ttl: 1 }), 'INVALID')).message, /ttl: is for persistent nodes/)
  }
  assert.throws(() => nodes.transaction().create(path, '', 'persistent', { tll: 1 }), { code: 'INVALID' })
  if (!world.server) return
  assert.match((await rejects(nodes.create('/a', '', { ttl: 1 }), 'INVALID')).message, /extendedTypesEnabled/)
})

promise('what the server refuses has its code and its path', async (world) => {
  const { nodes } = await world.connect()
  const path = world.path('node')
  await nodes.ensure(world.path('node/child'))
  assert.equal((await rejects(nodes.create(path), 'EXISTS')).path, path)
  assert.equal((await rejects(nodes.get(world.path('none')), 'NO_NODE')).path, world.path('none'))
  await rejects(nodes.set(path, '', 7), 'BAD_VERSION')
  await rejects(nodes.delete(path), 'NOT_EMPTY')
  await rejects(nodes.delete(world.path('none')), 'NO_NODE')
})

promise('a transaction answers what became of each part', async (world) => {
  const client = await world.connect()
  await client.nodes.ensure(world.path('r'))
  await client.nodes.create(world.path('r/old'), '1')
  const parts = await client.nodes.transaction()
    .create(world.path('r/log-'), 'x', 'persistent_sequential')
    .set(world.path('r/old'), '22')
    .check(world.path('r/old'), 1)
    .delete(world.path('r/old'))
    .commit()
  const [created, written, ...others] = parts
  assert.equal(parts.length, 4)
  assert.equal(String((await client.nodes.get(created)).data), 'x')
  assert.deepEqual([written.version, written.dataLength], [1, 2])
  assert.ok(written.mtime instanceof Date && written.czxid < written.mzxid)
  assert.deepEqual(others, [null, null])
  const held = await client.lock(world.path()).acquire()
  const guarded = await held.guarded().create(world.path('r/guarded')).commit()
  assert.deepEqual(guarded, [world.path('r/guarded')], 'without the guard itself')
})

promise('a payload is taken when the verb is called', async (world) => {
  const { nodes } = await world.connect()
  await nodes.ensure(world.path('p'))
  const payload = Buffer.from('before')
  const created = nodes.create(world.path('p/node'), payload)
  payload.fill('x')
  await created
  assert.equal(String((await nodes.get(world.path('p/node'))).data), 'before')
})

promise('what a function makes of a value is set, once', async (world) => {
  const client = await world.connect()
  const config = client.config(world.path('config'))
  assert.deepEqual(await config.update((value) => `${value ?? ''}a`), { value: Buffer.from('a'), version: 0 })
  let times = 0
  const changed = await config.update(async (value) => {
    // Somebody else is faster the first time.
    if (times++ === 0) await config.set('b')
    return `${value}c`
  })
  assert.deepEqual([changed, times], [{ value: Buffer.from('bc'), version: 2 }, 2])
  assert.deepEqual([await config.compareAndSet('d', 1), await config.compareAndSet('d', 2)], [false, true])
  await assert.rejects(() => config.update(() => { throw new Error('mine') }), /mine/)
  for (const wrong of [undefined, 'text']) await rejects(config.update(wrong), 'INVALID', /change/)
  await rejects(config.update(() => 5), 'INVALID', /change/)
  const path = world.path('node')
  await client.nodes.create(path, 'x')
  assert.equal((await client.nodes.update(path, (data) => `${data}y`)).version, 1)
  await rejects(client.nodes.update(world.path('none'), () => ''), 'NO_NODE')
  await rejects(client.nodes.update(path), 'INVALID', /change/)
})

promise('a tree is kept and read without asking', async (world) => {
  const client = await world.connect()
  const top = world.path('tree')
  await client.nodes.ensure(`${top}/a`)
  const cache = await client.nodes.cache(top)
  assert.equal(cache.path, top)
  assert.deepEqual(cache.children(top), ['a'])
  assert.equal(cache.get(`${top}/a`).stat.version, 0)
  assert.deepEqual([cache.get(`${top}/b`), cache.children(`${top}/b`)], [null, null])
  assert.ok(cache.age >= 0 && cache.age < 10_000)
  assert.throws(() => cache.get('/'), { code: 'INVALID' })
  assert.throws(() => cache.get(5), { code: 'INVALID' })
  let round = 0
  for await (const paths of cache.changes()) {
    if (round++ === 0) {
      assert.deepEqual(paths, [top, `${top}/a`])
      await client.nodes.set(`${top}/a`, 'x')
    } else {
      assert.deepEqual(paths, [`${top}/a`])
      break
    }
  }
  assert.equal(String(cache.get(`${top}/a`).data), 'x')
  const gone = AbortSignal.abort(new Error('gone'))
  await assert.rejects(client.nodes.cache(top, { signal: gone }), /gone/)
})

promise('a client is told who it is', async (world) => {
  const client = await world.connect({ auth: { scheme: 'digest', credential: 'billing:secret' } })
  assert.deepEqual(await client.whoami(), ['ip:127.0.0.1', 'digest:billing'])
})
