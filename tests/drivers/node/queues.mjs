// The words of queues: tests/drivers/README.md.

import { ZkRecipesError } from '../../../node/lib/index.js'
import { optionsOf } from './generated.mjs'

/** What was claimed through which queue, the last of it last; gone with the queue. */
const claimed = new WeakMap()

const millis = (text) => (text === undefined || text === '-' ? undefined : Number(text))

class NotHeld extends ZkRecipesError {
  constructor() {
    super({ code: 'NOT_HELD', message: 'nothing was claimed' })
  }
}

/** The item claimed last. */
function last(queue) {
  const item = claimed.get(queue)?.at(-1)
  if (!item) throw new NotHeld()
  return item
}

/** When it succeeds, the item claimed before is the last. */
async function settled(queue, settling) {
  await settling
  claimed.get(queue).pop()
}

/** What makes a queue, and what is asked of one. */
export const queues = (handles) => ({
  ...Object.fromEntries(Object.entries({ queue: 'queue', 'priority-queue': 'priorityQueue', 'delay-queue': 'delayQueue' }).map(
    ([verb, factory]) => [verb, ({ client, key }, name, path, ...settings) => void handles.set(key(name), client[factory](path, optionsOf('queue', settings)))],
  )),
  dead: ({ handle, key }, _, name) => void handles.set(key(name), handle.dead),
  put({ handle, signal }, _, data, timeout, ...words) {
    const { key, ...order } = Object.fromEntries(words.map((word) => word.split('=', 2)))
    const options = { timeout: millis(timeout), signal, key }
    // Of a plain queue there is none.
    return handle.put(data, ...Object.values(order).map(Number), options)
  },
  'put-many': ({ handle, signal }, _, ...all) => handle.putMany(all, { signal }),
  'get-item': ({ handle, signal }, _, timeout) => handle.get({ timeout: millis(timeout), signal }),
  async claim({ handle, signal }, _, timeout) {
    const item = await handle.claim({ timeout: millis(timeout), signal })
    claimed.set(handle, [...(claimed.get(handle) ?? []), item])
    return [item.data, item.attempts]
  },
  async 'claim-many'({ handle, signal }, _, n, timeout) {
    const items = await handle.claimMany(Number(n), { timeout: millis(timeout), signal })
    claimed.set(handle, [...(claimed.get(handle) ?? []), ...items])
    return items.map((item) => item.data)
  },
  async 'ack-many'({ handle, signal }) {
    await handle.ackMany(claimed.get(handle) ?? [], { signal })
    claimed.delete(handle)
  },
  ack: ({ handle, signal }) => settled(handle, last(handle).ack({ signal })),
  nack({ handle }, _, ...words) {
    const { delay, reason } = Object.fromEntries(words.map((word) => word.split('=', 2)))
    return settled(handle, last(handle).nack({ delay: millis(delay), reason, wait: !words.includes('nowait') }))
  },
  'ack-with-set': ({ handle }, _, path, data) => settled(handle, last(handle).ackWith(last(handle).guarded().set(path, data))),
  'ack-with-create': ({ handle }, _, path, data) => settled(handle, last(handle).ackWith(last(handle).guarded().create(path, data))),
  // A scope, `await using`, gives back what was not acknowledged in it.
  async 'leave-item'({ handle }, _, fail) {
    const item = last(handle)
    if (fail !== 'fail') await item.ack()
    await settled(handle, item[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]())
  },
  peek: async ({ handle, signal }) => (await handle.peek({ signal })) ?? 'none',
  length: ({ handle, signal }) => handle.len({ signal }),
  items: async ({ handle, signal }) => (await handle.items({ signal })).map((item) => item.data ?? item),
  letters: async ({ handle, signal }) => (await handle.items({ signal })).map(({ data, attempts, reason, problem }) =>
    [problem === null ? data : 'unreadable', attempts, reason?.replaceAll(' ', '_') ?? '-'].join('/')),
  async stats({ handle, signal }) {
    const { ready, delayed, claimed, dead } = await handle.stats({ signal })
    return [ready, delayed, claimed, dead]
  },
  replay: ({ handle, signal }, _, id) => handle.replay(...(id === undefined ? [] : [id]), { signal }),
  purge: ({ handle, signal }, _, age) => handle.purge(Number(age), { signal }),
})

/** The words that speak of the item claimed last, where those of a lock speak of what was acquired. */
export const items = {
  release: ({ handle }, _, nowait) => settled(handle, last(handle).release({ wait: nowait !== 'nowait' })),
  verify: ({ handle, signal }) => last(handle).verify({ signal }),
  held: ({ handle }) => claimed.get(handle)?.at(-1)?.isHeld ?? false,
  token: ({ handle }) => last(handle).fencingToken,
  'watch-lost': ({ handle, name }, named) =>
    void last(handle).onLost((error) => process.stdout.write(`event ${name} lost ${named} ${error.reason}\n`)),
  'guarded-set': async ({ handle }, _, path, data) => void (await last(handle).guarded().set(path, data).commit()),
  'guarded-create': async ({ handle }, _, path, data) => void (await last(handle).guarded().create(path, data).commit()),
}
