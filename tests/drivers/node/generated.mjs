// The options that scenarios give. Generated from api/ by api/generate; do not edit.

const KINDS = {
  client: { session_timeout: 'number', connect_timeout: 'number', identity: 'text', allow_plaintext_auth: 'flag', refuse_open_parents: 'flag', naming: 'text', lease: 'text', read_only: 'flag', server_tick: 'number', max_in_flight: 'number' },
  counter: { layout: 'text' },
  election: { layout: 'text' },
  group: { layout: 'text' },
  lock: { reentrant: 'flag', local_handoff: 'number' },
  queue: { max_items: 'number', ephemeral: 'flag', shards: 'number', max_attempts: 'number', layout: 'text' },
}

export function optionsOf(recipe, words) {
  return Object.fromEntries(words.map((word) => {
    const [name, value] = word.split('=', 2)
    const kind = KINDS[recipe][name]
    const key = name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())
    return [key, kind === 'flag' ? true : kind === 'number' ? Number(value) : value]
  }))
}
