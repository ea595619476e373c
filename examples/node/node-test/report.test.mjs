// Tests of one's own code with Node's test runner: node --test

import assert from 'node:assert/strict'
import * as runner from 'node:test'
import { describe, it, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { embeddedZookeeper } from 'zkrecipes/testing'
import { writeReport } from './report.mjs'

// A server for this file; a client, and a chroot of its own, for each test.
const zookeeper = embeddedZookeeper(runner)

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
  assert.deepEqual([first, await second], [true, false])
})

describe('a report', () => {
  it('is written by each test anew', async () => {
    assert.equal(await writeReport(zookeeper.client), true)
  })

  it('is not written when the lock is lost', async () => {
    const { server, client } = zookeeper
    const written = writeReport(client, async (signal) => {
      server.expire(client.sessionId) // as if the network had been away for too long
      await sleep(60_000, undefined, { signal })
    })
    await assert.rejects(written, ({ cause }) => cause.code === 'LOST')
    assert.equal(await client.nodes.exists('/report'), null)
  })
})
