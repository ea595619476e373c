// What the Node face decides about partitions: how a loop and a run end.

import assert from 'node:assert/strict'
import { promise } from './world.mjs'

promise('cancel ends a loop over partitions while its body runs, and a run while its work is called', async (world) => {
  const looping = (await world.connect()).partitioner(world.path('loop'), 2)
  let won = 0
  for await (const partition of looping) {
    won += 1
    looping.cancel()
    await partition.release()
  }
  assert.equal(won, 1)
  await looping.leave()

  const running = (await world.connect()).partitioner(world.path('run'), 2)
  let begun = 0
  await running.run(() => {
    begun += 1
    running.cancel()
  })
  assert.equal(begun, 1)
  assert.deepEqual(await running.members(), {})
})

promise('a signal ends a run that could not join yet', async (world) => {
  const client = await world.connect({ retry: { giveUpAfter: 200 } })
  world.server.stop()
  const [stop, reason] = [new AbortController(), new Error('enough')]
  const running = client.partitioner(world.path('partitions'), 2).run(() => assert.fail('nothing was won'), { signal: stop.signal })
  stop.abort(reason)
  await assert.rejects(running, (error) => error === reason)
}, { embeddedOnly: true })
