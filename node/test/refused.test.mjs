// What every verb refuses, as it follows from the types of its arguments and its options: with INVALID, by the name of the
// argument, and without asking a server.

import assert from 'node:assert/strict'
import { ZkRecipesError } from 'zkrecipes'
import { VERBS } from './generated/verbs.mjs'
import { promise } from './world.mjs'

const NO_STRINGS = [null, 7, 7n, true, {}, [], Symbol('text'), () => '/text', Buffer.from('/text'), 'half a pair \ud800']
const NO_BYTES = [null, 7, {}, [], [1, 2], new Map(), Symbol('data'), 'half a pair \ud800']

/** Of each type, a value that is taken, and such as are not. */
const TYPES = {
  text: { right: '/text', wrong: [undefined, ...NO_STRINGS] },
  'text?': { right: '', wrong: NO_STRINGS },
  bytes: { right: 'data', wrong: [undefined, ...NO_BYTES] },
  'bytes?': { right: '', wrong: NO_BYTES },
  partitions: { right: ['a', 'b'], wrong: [undefined, null, 0, -1, 0.5, NaN, 2 ** 31, 'ab', 1n, {}, [1], ['a', null], new Array(2)] },
  i64: { right: 1, wrong: [undefined, null, 1.5, NaN, Infinity, 2 ** 53, 2n ** 63n, -(2n ** 63n) - 1n, '1', {}, [1], true] },
  count: { right: 1, wrong: [undefined, null, 0, -1, 0.5, NaN, Infinity, 2 ** 31, '1', 1n] },
  'count?': { right: 1, wrong: [null, 0, -1, 0.5, NaN, Infinity, 2 ** 31, '1', 1n] },
  delay: { right: 0, wrong: [undefined, null, -1, NaN, Infinity, 1e15, '1', 1n, {}] },
  version: { right: 0, wrong: [null, -1, 0.5, NaN, 2 ** 31, '1', 1n] },
}
const OPTIONS = {
  timeout: [null, -1, -0.5, NaN, -Infinity, '5', 5n, {}, true],
  signal: [null, 7, {}, new AbortController(), new EventTarget()],
  layout: [null, 7, '', 'nobody'],
}
const NO_OPTIONS = [null, 5000, 'fast', [], true]

/** Something of each type that has such verbs. */
async function everything(world) {
  const client = await world.connect()
  const made = VERBS.filter(({ makes }) => makes).map(({ verb, takes, makes }) => {
    const args = Object.entries(takes).map(([argument, type]) => (argument === 'path' ? world.path(verb) : TYPES[type].right))
    return [makes, client[verb](...args)]
  })
  const things = Object.fromEntries(made)
  const commits = client.twoPhaseCommit(world.path('commits'))
  await commits.join('site')
  return {
    ...things,
    Client: client,
    Backlog: things.Queue,
    CommitTransaction: await commits.begin('one', ['site'], '', 60_000),
    Held: await client.lock(world.path('lock')).acquire(),
    Leadership: await client.election(world.path('led')).campaign(),
    NodeCache: await client.nodes.cache(world.path('kept')),
    Nodes: client.nodes,
    Proposal: await commits.next(),
    Registration: await things.Discovery.register({ name: 'web', address: 'localhost' }),
    Transaction: client.nodes.transaction(),
    TwoPhaseCommit: commits,
  }
}

/** What is wrong in a call, by the name under which it is refused. */
function* mistakes({ takes, options }) {
  const right = Object.values(takes).map((type) => TYPES[type].right)
  for (const [at, [argument, type]] of Object.entries(takes).entries()) {
    for (const wrong of TYPES[type].wrong) yield [argument, right.map((value, place) => (place === at ? wrong : value))]
  }
  if (options.length === 0) return
  yield ['colour', [...right, { colour: 'blue' }]]
  for (const wrong of NO_OPTIONS) yield ['options', [...right, wrong]]
  for (const option of options) for (const wrong of OPTIONS[option]) yield [option, [...right, { [option]: wrong }]]
}

promise('every verb refuses what is of no use to it by name, and asks nobody', async (world) => {
  const things = await everything(world)
  // What the client looks after by itself meanwhile: the session, and what is held.
  const byItself = ({ op, path }) => op === 'ping' || path === '/' || /\/(lock|led|commits|discovery)\b/.test(path)
  const asked = () => world.server.log().filter((entry) => !byItself(entry))
  world.server.clearLog()
  for (const row of VERBS) {
    for (const [argument, args] of mistakes(row)) {
      const call = `${row.type}.${row.verb}, ${argument}`
      const error = await (async () => things[row.type][row.verb](...args))().then(() => undefined, (thrown) => thrown)
      assert.ok(error instanceof ZkRecipesError, `${call}: ${error?.stack}`)
      assert.equal(error.code, 'INVALID', call)
      assert.match(error.message, new RegExp(`\\b${argument}\\b`), call)
    }
  }
  assert.deepEqual(asked(), [])
}, { embeddedOnly: true })
