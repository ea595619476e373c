// The words of two-phase commits: tests/drivers/README.md.

const millis = (text) => (text === undefined || text === '-' ? undefined : Number(text))

/** What was begun or recovered, and what was asked, by client, name and id. */
const begun = new Map()
const asked = new Map()

function found(all, key) {
  if (!all.has(key)) throw Object.assign(new Error(`${key} is not known`), { code: 'INVALID' })
  return all.get(key)
}

const text = (payload) => String(payload) || '-'
const decided = ({ outcome }) => outcome ?? 'open'

/** `a=there,voted`, `b=`. */
const marked = ({ site, isPresent, hasVoted, hasAcknowledged }) =>
  `${site}=${[isPresent && 'there', hasVoted && 'voted', hasAcknowledged && 'done'].filter(Boolean).join(',')}`

export const commits = (handles) => ({
  '2pc'({ client, key }, name, path, mode) {
    handles.set(key(name), client.twoPhaseCommit(path, mode))
  },
  async '2pc-begin'({ handle, key, signal }, name, id, sites, payload, timeout) {
    begun.set(key(`${name} ${id}`), await handle.begin(id, sites.split(','), payload, Number(timeout), { signal }))
  },
  '2pc-outcome': ({ key, signal }, name, id, timeout) => found(begun, key(`${name} ${id}`)).outcome({ timeout: millis(timeout), signal }),
  async '2pc-recover'({ handle, key, signal }, name) {
    const recovered = await handle.recover({ signal })
    for (const one of recovered) begun.set(key(`${name} ${one.id}`), one)
    return recovered.map(({ id }) => id)
  },
  '2pc-join': ({ handle, signal }, _, site) => handle.join(site, { signal }),
  '2pc-leave': ({ handle, signal }) => handle.leave({ signal }),
  async '2pc-next'({ handle, key, signal }, name, timeout) {
    const proposal = await handle.next({ timeout: millis(timeout), signal })
    asked.set(key(`${name} ${proposal.id}`), proposal)
    return [proposal.id, text(proposal.payload)]
  },
  async '2pc-pending'({ handle, key, signal }, name) {
    const pending = await handle.pending({ signal })
    for (const one of pending) asked.set(key(`${name} ${one.id}`), one)
    return pending.map(({ id, hasVoted }) => (hasVoted ? `${id}=voted` : id))
  },
  '2pc-vote'({ key, signal }, name, id, vote, reason) {
    const proposal = found(asked, key(`${name} ${id}`))
    return vote === 'commit' ? proposal.voteCommit({ signal }) : proposal.voteAbort(reason, { signal })
  },
  '2pc-learn': ({ key, signal }, name, id, timeout) => found(asked, key(`${name} ${id}`)).outcome({ timeout: millis(timeout), signal }),
  '2pc-ack': ({ key, signal }, name, id) => found(asked, key(`${name} ${id}`)).acknowledge({ signal }),
  '2pc-history': async ({ handle, signal }) => (await handle.history({ signal })).map((status) => `${status.id}=${decided(status)}`),
  async '2pc-show'({ handle, signal }, _, id) {
    const status = await handle.show(id, { signal })
    return status ? [decided(status), status.coordinator, ...status.sites.map(marked)] : 'none'
  },
  '2pc-decide': ({ handle, signal }, _, id) => handle.decideAbort(id, 'by hand', { signal }),
})
