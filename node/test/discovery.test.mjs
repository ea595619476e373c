// What the Node face decides about services: what becomes of payloads, what it takes and refuses, and how a call is withdrawn. What
// service discovery is, tests/scenarios/discovery.scn says.

import assert from 'node:assert/strict'
import { Instance, Registration } from 'zkrecipes'
import { promise, rejection, rejects, throws } from './world.mjs'

promise('a payload is whatever JSON has', async (world) => {
  const discovery = (await world.connect()).discovery(world.path('services'))
  const payload = { zone: 'b', weights: [1, 2.5, null, true], name: 'größe 😀', '@class': 'x.Y' }
  const registration = await discovery.register({ name: 'web', address: '10.0.0.7', payload })
  assert.ok(registration instanceof Registration)
  const [instance] = await discovery.instances('web')
  assert.ok(instance instanceof Instance)
  assert.deepEqual(instance.payload, payload)
  assert.equal(instance.id, registration.id)
  assert.ok(Math.abs(instance.registeredAt - new Date()) < 60_000)
  const { port, sslPort, uri, uriSpec, enabled, type } = instance
  assert.deepEqual([port, sslPort, uri, uriSpec, enabled, type], [null, null, null, null, true, 'dynamic'])
  await registration.update({ payload: null })
  assert.equal((await discovery.instances('web'))[0].payload, null)
  await registration.unregister()
})

promise('what is wrong with a service is named', async (world) => {
  const discovery = (await world.connect()).discovery(world.path('services'))
  const right = { name: 'web', address: 'h' }
  const circle = {}
  circle.circle = circle
  for (const [part, value] of [
    ['name', undefined], ['name', 7], ['name', ''], ['name', 'a/b'], ['id', 'a/b'], ['id', 7], ['address', undefined], ['address', ''],
    ['port', -1], ['port', 65_536], ['port', '80'], ['port', 1.5], ['sslPort', 1n], ['type', 'odd'], ['uriSpec', '{port'],
    ['enabled', 'yes'], ['payload', 1n], ['payload', circle], ['payload', () => {}],
  ]) {
    const error = await rejects(discovery.register({ ...right, [part]: value }), 'INVALID')
    assert.match(error.message, new RegExp(part === 'uriSpec' ? 'uri_?[sS]pec' : part), `${part}: ${error.message}`)
  }
  for (const wrong of [undefined, null, 'web', []]) await rejects(discovery.register(wrong), 'INVALID')
  await rejects(discovery.register({ ...right, colour: 'blue' }), 'INVALID')
  assert.match((await rejects(discovery.pick('web', 'best'), 'INVALID')).message, /round_robin, random, sticky/)
  throws(() => discovery.watch('a/b'), 'INVALID')
  assert.deepEqual(await discovery.names(), [])
})

promise('an update changes what is named, and nothing else', async (world) => {
  const discovery = (await world.connect()).discovery(world.path('services'))
  const registration = await discovery.register({ name: 'web', address: 'h', port: 80, id: 'one' })
  await Promise.all([registration.update({ sslPort: 443 }), registration.update({ payload: [1] })])
  await registration.update({ port: null, enabled: false })
  const [{ port, sslPort, payload, enabled }] = await discovery.instances('web')
  assert.deepEqual([port, sslPort, payload, enabled], [null, 443, [1], false])
  await rejects(registration.update({ name: 'mail' }), 'INVALID')
  await rejects(registration.update({ address: null }), 'INVALID')
  await registration.unregister()
  await rejects(registration.update({ port: 1 }), 'NOT_HELD')
})

promise('one that has failed is not picked', async (world) => {
  const client = await world.connect()
  const discovery = client.discovery(world.path('services'))
  const registration = await discovery.register({ name: 'web', address: 'h', id: 'one' })
  const instance = await discovery.pick('web', { by: 'sticky' })
  assert.equal(instance.id, 'one')
  instance.failed()
  assert.equal(await discovery.pick('web'), null)
  assert.equal((await client.discovery(world.path('services')).pick('web')).id, 'one')
  await registration.unregister()
})

promise('one that somebody else has given an odd id fails as any other', async (world) => {
  const client = await world.connect()
  await client.nodes.ensure(world.path('services/web'))
  const odd = { name: 'a/b', id: '', address: 'h' }
  await client.nodes.create(world.path('services/web/odd'), JSON.stringify(odd))
  const discovery = client.discovery(world.path('services'))
  const instance = await discovery.pick('web')
  assert.deepEqual([instance.id, instance.node], ['', undefined])
  instance.failed()
  assert.equal(await discovery.pick('web'), null)
})

promise('a registration that is withdrawn is none', async (world) => {
  const discovery = (await world.connect()).discovery(world.path('services'))
  const reason = new Error('withdrawn')
  const controller = new AbortController()
  const registering = discovery.register({ name: 'web', address: 'h', id: 'one' }, { signal: controller.signal })
  controller.abort(reason)
  assert.equal(await rejection(registering), reason)
  for (;;) {
    const found = await discovery.instances('web')
    if (found.length === 0) break
  }
  const registration = await discovery.register({ name: 'web', address: 'h', id: 'one' })
  await registration.unregister()
})
