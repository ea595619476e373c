// A worker on a queue that ends in order: node worker.mjs
//
// On SIGTERM it takes no more items and finishes those in work. After the time of grace it stops these as well: what is not
// done goes back into the queue, and somebody else does it.

import { Client } from 'zkrecipes'

/** The work; it stops when the signal aborts. Thrown out of, the item goes back; after the third time, to the dead letters. */
async function send(mail, { signal }) {
  signal.throwIfAborted()
  console.log(`mail to ${mail}`)
}

export async function work({ handle = send, concurrency = 4, grace = 10_000 } = {}) {
  const stop = new AbortController() // no more items
  const hurry = new AbortController() // nor those in work
  for (const name of ['SIGTERM', 'SIGINT']) {
    process.once(name, () => {
      stop.abort()
      setTimeout(() => hurry.abort(), grace).unref()
    })
  }

  const client = await Client.connect() // ZKRECIPES_HOSTS
  const queue = client.queue('/queues/mail', { maxAttempts: 3 })
  console.log('ready')
  try {
    await queue.process(
      // Lost, the item is somebody else's already.
      (item) => handle(String(item.data), { signal: AbortSignal.any([item.signal, hurry.signal]), attempt: item.attempts }),
      { concurrency, signal: stop.signal },
    )
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    await client.close({ timeout: 5000 }).catch((error) => console.error(error.message)) // no server has confirmed
  }
  console.log('stopped')
}

if (import.meta.filename === process.argv[1]) await work()
