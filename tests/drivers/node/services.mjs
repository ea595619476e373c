// The words of service discovery: tests/drivers/README.md.

/** Registrations by client, name and id, and what was picked last by client and name. */
const registrations = new Map()
const picked = new Map()

function found(all, key) {
  if (!all.has(key)) throw Object.assign(new Error(`${key} is not known`), { code: 'INVALID' })
  return all.get(key)
}

const READS = {
  port: (text) => ({ port: Number(text) }),
  'ssl-port': (text) => ({ sslPort: Number(text) }),
  payload: (text) => ({ payload: JSON.parse(text) }),
  uri: (text) => ({ uriSpec: text }),
  enabled: () => ({ enabled: true }),
  disabled: () => ({ enabled: false }),
}

function given(words) {
  const told = {}
  for (const word of words) {
    const [name, value] = word.split(/=(.*)/s)
    Object.assign(told, READS[name]?.(value) ?? { [name]: value })
  }
  return told
}

const shown = ({ id, address, port, enabled }) => `${id}=${address}:${port ?? '-'}${enabled ? '' : '!'}`

const details = ({ address, port, sslPort, type, uri, payload }) =>
  [address, port, sslPort, type, uri, payload === null ? null : JSON.stringify(payload)].map((it) => it ?? '-')

const registered = ({ name, id, address, port, sslPort, type, uriSpec, payload, enabled }) => [
  `${name}/${id}`,
  ...[address, port, sslPort, type, uriSpec, payload === undefined ? null : JSON.stringify(payload)].map((it) => it ?? '-'),
  enabled ? 'enabled' : 'disabled',
]

/** A service that may be followed. */
class WatchedService {
  constructor(discovery, service) {
    this.told = (all) => [all.map(shown).join(',') || '-']
    this.watch = () => discovery.watch(service)
  }
}

export const services = (handles) => ({
  async register({ handle, key, signal }, name, service, id, address, ...words) {
    const made = { name: service, id, address, ...given(words) }
    registrations.set(key(`${name} ${id}`), await handle.register(made, { signal }))
  },
  'update-service': ({ key, signal }, name, id, ...words) =>
    found(registrations, key(`${name} ${id}`)).update(given(words), { signal }),
  registered: ({ key }, name, id) => registered(found(registrations, key(`${name} ${id}`)).service),
  unregister: ({ key, signal }, name, id) => found(registrations, key(`${name} ${id}`)).unregister({ signal }),
  instances: async ({ handle, signal }, _, service) => (await handle.instances(service, { signal })).map(shown),
  async instance({ handle, signal }, _, service, id) {
    const one = (await handle.instances(service, { signal })).find((one) => one.id === id)
    return one ? details(one) : 'none'
  },
  async pick({ handle, key, signal }, name, service, by) {
    const one = await handle.pick(service, by, { signal })
    if (one) picked.set(key(name), one)
    return one?.id ?? 'none'
  },
  'picked-failed'({ key }, name) {
    found(picked, key(name)).failed()
    // It would keep the handle that has found it.
    picked.delete(key(name))
  },
  'watch-service'({ key }, name, of, service) {
    handles.set(key(name), new WatchedService(handles.get(key(of)), service))
  },
})
