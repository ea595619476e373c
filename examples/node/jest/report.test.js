// Tests of one's own code with Jest: npx jest

const { setTimeout: sleep } = require('node:timers/promises')
const { embeddedZookeeper } = require('zkrecipes/testing')
const { writeReport } = require('./report.js')

// A server for this file; a client, and a chroot of its own, for each test. Jest's hooks are global.
const zookeeper = embeddedZookeeper()

test('the report is written once', async () => {
  const other = await zookeeper.connect()
  expect((await Promise.all([zookeeper.client, other].map((client) => writeReport(client)))).sort()).toEqual([false, true])
})

test('each test begins with nothing', async () => {
  expect(await writeReport(zookeeper.client)).toBe(true)
})

test('the work stops when the lock is lost, and nothing is written', async () => {
  const { server, client } = zookeeper
  const written = writeReport(client, async (signal) => {
    server.expire(client.sessionId) // as if the network had been away for too long
    await sleep(60_000, undefined, { signal })
  })
  await expect(written).rejects.toMatchObject({ cause: { code: 'LOST' } })
  expect(await client.nodes.exists('/report')).toBe(null)
})

test('a lost answer writes no second report', async () => {
  const fault = zookeeper.server.inject('drop_after create* path=/**/locks/**')
  expect(await writeReport(zookeeper.client)).toBe(true)
  expect(zookeeper.server.faultFired(fault)).toBe(true)
})
