// The lines that a worker written for Node obeys; bench/README.md says what a worker is.

import { createInterface } from 'node:readline'

/** The monotonic clock in nanoseconds, which all processes of a machine share. */
export const now = () => process.hrtime.bigint()

export const listed = (lists) =>
  Object.entries(lists)
    .map(([name, numbers]) => `${name}=${numbers.join(',')}`)
    .join(' ')

function order(line) {
  const [verb, ...words] = line.trim().split(/\s+/)
  const parameters = Object.fromEntries(words.map((word) => word.split('=')))
  const number = (name) => Number(parameters[name])
  return { verb, path: parameters.path, text: (name) => parameters[name], number }
}

/** Obeys lines with the verbs of that name, one after the other. */
export async function serve(verbs, ready) {
  console.log(`ready ${ready}`)
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = order(line)
    const verb = verbs[asked.verb]
    try {
      console.log(verb ? `ok ${(await verb(asked)) ?? ''}` : 'unsupported')
    } catch (error) {
      console.log(`error ${String(error).replaceAll('\n', ' | ')}`)
    }
  }
  process.exit(0)
}

/** The verbs of the locks, of whoever can `acquire(path)` and then `release(held)`. */
export function lockVerbs({ acquire, release, background }) {
  let held
  let waiters = []
  let stamps = []
  const free = (release) => async (order) => {
    const lists = { acquire: [], both: [] }
    for (let left = order.number('ops'); left > 0; left--) {
      const begun = now()
      const mine = await acquire(order.path)
      lists.acquire.push(now() - begun)
      await release(mine)
      lists.both.push(now() - begun)
    }
    return listed(lists)
  }
  const verbs = {
    lock: free(release),
    async disjoint(order) {
      const [paths, pairs] = [order.number('paths'), order.number('ops')]
      const begun = now()
      await Promise.all(
        Array.from({ length: paths }, async (_, path) => {
          for (let left = Math.floor(pairs / paths); left > 0; left--) await release(await acquire(`${order.path}/${path}`))
        }),
      )
      return `took=${now() - begun}`
    },
    async hold(order) {
      held = await acquire(order.path)
    },
    async drop() {
      const begun = now()
      await (background ?? release)(held)
      return `at=${begun}`
    },
    queue(order) {
      waiters = Array.from({ length: order.number('waiters') }, async (_, at) => {
        for (let left = order.number('times'); left > 0; left--) {
          const mine = await acquire(order.path, at)
          stamps.push(now())
          await release(mine)
        }
      })
    },
    async finish() {
      await Promise.all(waiters)
      const answer = listed({ at: stamps })
      stamps = []
      return answer
    },
  }
  if (background) verbs.background = free(background)
  return verbs
}
