// Bytes in whatever form they come, also from other realms: where `instanceof` says no.

import assert from 'node:assert/strict'
import vm from 'node:vm'
import { Client } from 'zkrecipes'
import { promise, rejects, throws } from './world.mjs'

const elsewhere = (code) => vm.runInNewContext(code)
const shared = () => {
  const buffer = new SharedArrayBuffer(3)
  new Uint8Array(buffer).set([1, 2, 3])
  return buffer
}

/** All of them the bytes 1, 2, 3. */
const FORMS = {
  'a Buffer': () => Buffer.from([1, 2, 3]),
  'a Uint8Array of another realm': () => elsewhere('new Uint8Array([1, 2, 3])'),
  'a part of one': () => elsewhere('new Uint8Array([0, 1, 2, 3, 4]).subarray(1, 4)'),
  'an ArrayBuffer': () => new Uint8Array([1, 2, 3]).buffer,
  'an ArrayBuffer of another realm': () => elsewhere('new Uint8Array([1, 2, 3]).buffer'),
  'a DataView': () => new DataView(new Uint8Array([0, 1, 2, 3]).buffer, 1),
  'an Int8Array': () => new Int8Array([1, 2, 3]),
  'a Uint8ClampedArray of another realm': () => elsewhere('new Uint8ClampedArray([1, 2, 3])'),
  'a SharedArrayBuffer': shared,
  'a view of one': () => new Uint8Array(shared()),
  'what structuredClone makes': () => structuredClone(new Uint8Array([1, 2, 3])),
  'what was transferred to us': () => {
    const bytes = new Uint8Array([1, 2, 3])
    return structuredClone(bytes, { transfer: [bytes.buffer] })
  },
}

for (const [form, make] of Object.entries(FORMS)) {
  promise(`${form} is a payload`, async (world) => {
    const { nodes } = await world.connect()
    await nodes.ensure(world.path('node'))
    const bytes = async () => [...(await nodes.get(world.path('node'))).data]
    await nodes.set(world.path('node'), make())
    assert.deepEqual(await bytes(), [1, 2, 3])
    await nodes.set(world.path('node'), '')
    await nodes.transaction().set(world.path('node'), make()).commit()
    assert.deepEqual(await bytes(), [1, 2, 3])
    await nodes.create(world.path('node/child'), make())
    assert.deepEqual([...(await nodes.get(world.path('node/child'))).data], [1, 2, 3])
  })
}

promise('wider numbers are the bytes that they have in memory, as for Node', async (world) => {
  const { nodes } = await world.connect()
  await nodes.ensure(world.path('node'))
  for (const wide of [new Uint16Array([1, 515]), new Float64Array([1.5]), new BigInt64Array([-2n])]) {
    await nodes.set(world.path('node'), wide)
    assert.deepEqual((await nodes.get(world.path('node'))).data, Buffer.from(wide.buffer))
  }
})

promise('bytes that were transferred away are INVALID, and not nothing', async (world) => {
  const { nodes } = await world.connect()
  const gone = [new Uint8Array(3), new Uint8Array(3).buffer, new DataView(new ArrayBuffer(3))]
  for (const bytes of gone) {
    structuredClone(bytes, { transfer: [bytes.buffer ?? bytes] })
    assert.match((await rejects(nodes.create(world.path('node'), bytes), 'INVALID')).message, /data: was transferred/)
    throws(() => nodes.transaction().create(world.path('node'), bytes), 'INVALID')
  }
})

promise('credentials, options and errors of another realm are what they are here', async (world) => {
  const options = vm.runInNewContext('({ auth: [{ scheme: "digest", credential: new Uint8Array([97, 58, 98]) }], acl: "creator" })')
  const client = await Client.connect(world.hosts, options)
  try {
    await client.nodes.ensure(world.path('mine'))
    const lock = client.lock(world.path('mine'))
    assert.equal(await lock.run(vm.runInNewContext('async (held) => held.isHeld')), true)
    const error = vm.runInNewContext('new Error("elsewhere")')
    await assert.rejects(lock.run(() => Promise.reject(error)), (thrown) => thrown === error)
    await client.nodes.deleteAll(world.path('mine'))
  } finally {
    await client.close()
  }
})

promise('a node that was read comes apart as [data, stat], and has both by name', async (world) => {
  const { nodes } = await world.connect()
  await nodes.ensure(world.path('node'))
  await nodes.set(world.path('node'), 'text')
  const content = await nodes.get(world.path('node'))
  const [data, stat] = content
  assert.ok(Array.isArray(content))
  assert.equal(content.length, 2)
  assert.equal(content.data, data)
  assert.equal(content.stat, stat)
  assert.equal(String(data), 'text')
  assert.equal(stat.dataLength, 4)
  assert.deepEqual(content.map((part) => typeof part), ['object', 'object'])
})
