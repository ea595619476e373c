// What a user writes, and what the types must refuse. Only compiled, never run.

import { AbortError, Client, Held, Lock, MultiLock, ReadWriteLock, Semaphore, ZkRecipesError, version } from 'zkrecipes'
import type { ConnectOptions, Contender, ErrorCode, LostReason, State, Stat, Transaction } from 'zkrecipes'
import { EmbeddedServer, Ensemble, Proxy } from 'zkrecipes/testing'
import type { LogEntry } from 'zkrecipes/testing'

const options: ConnectOptions = {
  sessionTimeout: 5000,
  identity: 'worker-7',
  auth: [{ scheme: 'digest', credential: Buffer.from('user:password') }],
  acl: [{ scheme: 'world', id: 'anyone', permissions: 'rwcda' }],
  retry: { base: 50, max: 5000 },
  lease: 'strict',
}

await using client = await Client.connect('zk1:2181', options)
const state: State = client.state
const id: bigint = client.sessionId
const unsubscribe: () => void = client.onState((next: State) => console.log(next))
unsubscribe()

const lock: Lock = client.lock('/locks/report', { reentrant: true, localHandoff: 0 })
const controller = new AbortController()
const held: Held = await lock.acquire({ timeout: 5000, signal: controller.signal })
const token: bigint = held.fencingToken
const signal: AbortSignal = held.signal
held.onLost((error) => {
  const reason: LostReason | undefined = error.reason
  console.log(reason)
})
const writes: Transaction = held.guarded().create('/data', 'text').set('/data', new Uint8Array(2), 0).delete('/old').check('/x', 3)
await writes.commit()
await held.release({ wait: false })

const maybe: Held | null = await lock.tryAcquire()
await maybe?.verify()
const result: number = await lock.run(async (inside: Held) => Number(inside.fencingToken), { timeout: Infinity })
const plain: string = await lock.run(() => 'at once')
lock.cancel()
const contenders: Contender[] = await lock.contenders()
const since: Date | undefined = contenders[0]?.since

const shared: ReadWriteLock = client.readWriteLock('/locks/catalogue')
const sides: Lock[] = [shared.read, shared.write]
const both: MultiLock = client.multiLock([client.lock('/a'), client.lock('/b')])
const tokens: bigint[] = await both.run((inside: Held) => inside.fencingTokens, { timeout: 5000 })
const paths: readonly string[] = both.paths
const semaphore: Semaphore = client.semaphore('/limits/exports', 3)
const permits: Held = await semaphore.acquire(2, { timeout: 5000, signal })
const permit: Held = await semaphore.acquire({ timeout: 5000 })
const some: Held | null = await semaphore.tryAcquire(2)
const many: number = await semaphore.run((inside) => inside.permits, { n: 2, signal })
const holders: Contender[] = await semaphore.holders()
await semaphore.resize(semaphore.permits + 1)
const waiters: Contender[] = (await semaphore.contenders()).concat(await both.contenders()).filter(({ holds }) => !holds)
const asked: boolean = (await lock.revoke()) || (await semaphore.revoke()) || (await both.revoke())
await semaphore.revoke({ contender: waiters[0]?.node, forceAfter: 5000, signal })
await semaphore.revoke('leases/_c_1', { forceAfter: 5000 })
await both.revoke('/a/_c_1-lock-0000000001')
await both.release({ wait: false })
const first: bigint = both.fencingToken
const passes: number = held.passes
await lock.revoke({ contender: contenders[0]?.node, forceAfter: 5000 })
await lock.revoke('_c_1-lock-0000000001', { forceAfter: 5000, signal })
held.onRevoke(() => held.release())()
const revoked: AbortSignal = held.revokeSignal
const stands: boolean = await client.checkSequencer(held.sequencer)
await client.watchSequencer(held.sequencer, { signal })

const { data, stat } = await client.nodes.get('/data')
const text: string = data.toString('utf8')
const changed: Stat = await client.nodes.set('/data', text, stat.version)
const missing: Stat | null = await client.nodes.exists('/none')
const path: string = await client.nodes.create('/queue/item-', '', 'persistent_sequential')

try {
  await lock.acquire()
} catch (error) {
  if (error instanceof AbortError) console.log(error.code satisfies 'ABORT_ERR')
  else if (error instanceof ZkRecipesError) console.log(error.code satisfies ErrorCode, error.retryable, error.path)
}
await client.close({ timeout: 1000 })

{
  using server = EmbeddedServer.start({ port: 0, tick: 100 })
  const fault: number = server.inject('drop_after create2')
  const expired: boolean = server.expire(client.sessionId) && server.faultFired(fault)
  const entries: LogEntry[] = server.log()
  console.log(server.connectString satisfies string, expired, entries)
}

{
  await using ensemble: Ensemble = Ensemble.start({ members: 3, tick: 100 })
  const server: EmbeddedServer = ensemble
  const cut: boolean = ensemble.lag(1, 50) && ensemble.isolate(2)
  using proxy: Proxy = Proxy.start(ensemble.member(1))
  const gone: boolean = await proxy.expire(1n)
  console.log(server.port, cut, gone, proxy.inject('drop_before delete') satisfies number, ensemble.behind(2) satisfies number)
}

await semaphore.revoke(waiters[0])

// @ts-expect-error an option that does not exist
await Client.connect('zk1', { sesionTimeout: 1 })
// @ts-expect-error only connect makes clients
new Client()
// @ts-expect-error a timeout is a number
await lock.acquire({ timeout: '5s' })
// @ts-expect-error tokens are bigints
const wrong: number = held.fencingToken
// @ts-expect-error tryAcquire may answer null
const certain: Held = await lock.tryAcquire()
// @ts-expect-error a contender is one that was listed, or its node
await semaphore.revoke(7)
// @ts-expect-error a contender is named once
await both.revoke('/a/b', { contender: '/a/b' })
// @ts-expect-error a semaphore has a number of permits
client.semaphore('/x')
// @ts-expect-error only locks come together
client.multiLock([semaphore])
// @ts-expect-error a watch has no timeout; an AbortSignal.timeout is one
await client.watchSequencer('', { timeout: 5 })
// @ts-expect-error a mode that does not exist
await client.nodes.create('/x', '', 'eternal')
// @ts-expect-error properties are read only
held.isHeld = false

console.log(state, id, token, signal, result, plain, since, changed, missing, path, wrong, certain, sides, tokens, paths, permits, permit, some, many, holders, asked, first, passes, revoked, stands, version() satisfies string)
