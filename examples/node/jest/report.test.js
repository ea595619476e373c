// Tests of one's own code with Jest: npx jest

const { setTimeout: sleep } = require('node:timers/promises')
const { embeddedZookeeper } = require('zkrecipes/testing')
const { writeReport } = require('./report.js')

// A server for this file; a client, and a chroot of its own, for each test. Jest's hooks are global.
const zookeeper = embeddedZookeeper()

async function somebodyWaits(client) {
  while ((await client.lock('/locks/report').contenders()).length < 2) await sleep(10)
}

test('of two at the same time one writes the report', async () => {
  const { client } = zookeeper
  const other = await zookeeper.connect()
  let second
  const first = await writeReport(client, async () => {
    second = writeReport(other)
    // It stands in line, or it was not kept out.
    await Promise.race([second, somebodyWaits(client)])
  })
  expect([first, await second]).toEqual([true, false])
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
