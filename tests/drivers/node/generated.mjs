// The words and options of scenarios that are described. Generated from api/ by api/generate; do not edit.

const KINDS = {
  client: { session_timeout: 'number', connect_timeout: 'number', identity: 'text', allow_plaintext_auth: 'flag', refuse_open_parents: 'flag', naming: 'text', lease: 'text', read_only: 'flag', server_tick: 'number', max_in_flight: 'number' },
  counter: { layout: 'text' },
  election: { layout: 'text', priority: 'number', drain: 'number' },
  group: { layout: 'text', replace: 'flag' },
  lock: { reentrant: 'flag', local_handoff: 'number' },
  partitioner: { weight: 'number', name: 'text', drain: 'number' },
  queue: { max_items: 'number', ephemeral: 'flag', shards: 'number', max_attempts: 'number', layout: 'text', key_window: 'number' },
}

export function optionsOf(recipe, words) {
  return Object.fromEntries(words.map((word) => {
    const [name, value] = word.split('=', 2)
    const kind = KINDS[recipe][name]
    const key = name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())
    return [key, kind === 'flag' ? true : kind === 'number' ? Number(value) : value]
  }))
}

/** What is described. */
export const WORDS = {
  'barrier': { of: 'barrier', name: 'barrier', kind: 'new', takes: [['path', 'text']] },
  'barrier-create': { of: 'barrier', name: 'create', kind: 'waits', takes: [] },
  'barrier-remove': { of: 'barrier', name: 'remove', kind: 'waits', takes: [] },
  'barrier-up': { of: 'barrier', name: 'isUp', kind: 'waits', takes: [], says: 'bool' },
  'barrier-wait': { of: 'barrier', name: 'wait', kind: 'waits', takes: [['timeout_ms', 'limit']] },
  'config': { of: 'config', name: 'config', kind: 'new', takes: [['path', 'text']] },
  'config-get': { of: 'config', name: 'get', kind: 'waits', takes: [], says: 'versioned' },
  'config-set': { of: 'config', name: 'set', kind: 'waits', takes: [['value', 'bytes'], ['version', 'version']], says: 'i32' },
  'config-create': { of: 'config', name: 'create', kind: 'waits', takes: [['value', 'bytes']], says: 'i32' },
  'config-compare-and-set': { of: 'config', name: 'compareAndSet', kind: 'waits', takes: [['value', 'bytes'], ['version', 'version']], says: 'bool' },
  'counter': { of: 'counter', name: 'counter', kind: 'new', takes: [['path', 'text'], ['options', 'options']] },
  'value': { of: 'counter', name: 'get', kind: 'waits', takes: [], says: 'i64' },
  'add': { of: 'counter', name: 'add', kind: 'waits', takes: [['n', 'i64']], says: 'i64' },
  'set-value': { of: 'counter', name: 'set', kind: 'waits', takes: [['value', 'i64']] },
  'compare-and-set': { of: 'counter', name: 'compareAndSet', kind: 'waits', takes: [['old_value', 'i64'], ['new_value', 'i64']], says: 'bool' },
  'discovery': { of: 'discovery', name: 'discovery', kind: 'new', takes: [['path', 'text']] },
  'services': { of: 'discovery', name: 'names', kind: 'waits', takes: [], says: 'strings' },
  'failed': { of: 'discovery', name: 'failed', kind: 'now', takes: [['name', 'text'], ['id', 'text']] },
  'double-barrier': { of: 'doubleBarrier', name: 'doubleBarrier', kind: 'new', takes: [['path', 'text'], ['parties', 'count'], ['name', 'text?']] },
  'barrier-entered': { of: 'doubleBarrier', name: 'hasEntered', kind: 'question', takes: [], says: 'bool' },
  'barrier-enter': { of: 'doubleBarrier', name: 'enter', kind: 'waits', takes: [['timeout_ms', 'limit']] },
  'barrier-leave': { of: 'doubleBarrier', name: 'leave', kind: 'waits', takes: [['timeout_ms', 'limit']] },
  'barrier-withdraw': { of: 'doubleBarrier', name: 'withdraw', kind: 'now', takes: [] },
  'group': { of: 'group', name: 'group', kind: 'new', takes: [['path', 'text'], ['options', 'options']] },
  'join': { of: 'group', name: 'join', kind: 'waits', takes: [['name', 'text'], ['data', 'bytes']] },
  'leave': { of: 'group', name: 'leave', kind: 'waits', takes: [] },
  'update': { of: 'group', name: 'update', kind: 'waits', takes: [['data', 'bytes']] },
  'members': { of: 'group', name: 'members', kind: 'waits', takes: [], says: 'entries' },
  'wait-for': { of: 'group', name: 'waitFor', kind: 'waits', takes: [['n', 'count'], ['timeout_ms', 'limit']], says: 'entries' },
  'latch': { of: 'latch', name: 'latch', kind: 'new', takes: [['path', 'text'], ['count', 'count']] },
  'count-down': { of: 'latch', name: 'countDown', kind: 'waits', takes: [['n', 'count']], says: 'count' },
  'remaining': { of: 'latch', name: 'remaining', kind: 'waits', takes: [], says: 'count' },
  'latch-reset': { of: 'latch', name: 'reset', kind: 'waits', takes: [['count', 'count']] },
  'latch-wait': { of: 'latch', name: 'wait', kind: 'waits', takes: [['timeout_ms', 'limit']] },
  'names': { of: 'names', name: 'names', kind: 'new', takes: [['path', 'text']] },
  'bind': { of: 'names', name: 'bind', kind: 'waits', takes: [['name', 'text'], ['data', 'bytes'], ['ephemeral', 'bool']] },
  'lookup': { of: 'names', name: 'lookup', kind: 'waits', takes: [['name', 'text']], says: 'bytes_or_none' },
  'unbind': { of: 'names', name: 'unbind', kind: 'waits', takes: [['name', 'text']] },
  'list': { of: 'names', name: 'list', kind: 'waits', takes: [], says: 'strings' },
  'partitioner': { of: 'partitioner', name: 'partitioner', kind: 'new', takes: [['path', 'text'], ['partitions', 'partitions'], ['options', 'options']] },
  'leave-partitions': { of: 'partitioner', name: 'leave', kind: 'waits', takes: [] },
  'owners': { of: 'partitioner', name: 'owners', kind: 'waits', takes: [], says: 'owners' },
  'partition-members': { of: 'partitioner', name: 'members', kind: 'waits', takes: [], says: 'weights' },
}
