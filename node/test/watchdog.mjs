// Says which test does not end, and ends its process. A test's own limit is a timer, and no timer fires while the thread waits
// for a lock; and what the tests before it said may not be printed then. So the watch is kept by another thread.

import { afterEach, beforeEach } from 'node:test'
import { Worker } from 'node:worker_threads'

/** In seconds; the limit of a test, its clean-up included, is well below. */
const limit = Number(process.env.ZKR_TEST_LIMIT ?? 120)

const dog = new Worker(new URL('./children/watchdog.mjs', import.meta.url), { workerData: { limit } })
dog.unref()

beforeEach(({ name }) => dog.postMessage(name))
afterEach(({ name }) => dog.postMessage(`the process does not exit after: ${name}`))
