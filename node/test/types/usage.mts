// What a user writes, and what the types must refuse. Only compiled, never run.

import { AbortError, Backlog, Barrier, Client, CommitTransaction, DoubleBarrier, Held, Item, Lock, MultiLock, Proposal, Queue, ReadWriteLock, Semaphore, TwoPhaseCommit, ZkRecipesError, version } from 'zkrecipes'
import type { CommitStatus, ConnectOptions, Contender, ErrorCode, Guard, Handle, LostReason, PartResult, State, Stat, Transaction, WaitProgress } from 'zkrecipes'
import * as nodeTest from 'node:test'
import { EmbeddedServer, Ensemble, Proxy, embeddedZookeeper } from 'zkrecipes/testing'
import type { EmbeddedZookeeper, LogEntry, TestRunner } from 'zkrecipes/testing'

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
const results: PartResult[] = await writes.commit()
const [created, written, deleted, further] = await client.nodes.transaction().create('/a').set('/b', '').delete('/c').commit()
const known: [string, number, null] = [created, written.version, deleted]
const unknown: PartResult | undefined = further
const collected = client.nodes.transaction()
collected.create('/a')
const [one] = await collected.commit()
const uncertain: PartResult | undefined = one
await held.release({ wait: false })

const maybe: Held | null = await lock.tryAcquire()
await maybe?.verify()
const result: number = await lock.run(async (inside: Held) => Number(inside.fencingToken), { timeout: Infinity })
const plain: string = await lock.run(() => 'at once')
lock.cancel()
const silence: () => void = lock.onWait(({ path, waited, ahead, holder }: WaitProgress) => {
  const who: string | undefined = holder?.identity
  console.log(path, who, waited.toFixed(), ahead ?? 0)
})
silence()
const contenders: Contender[] = await lock.contenders()
const since: Date | undefined = contenders[0]?.since

const shared: ReadWriteLock = client.readWriteLock('/locks/catalogue')
const sides: Lock[] = [shared.read, shared.write]
const whatever: Handle[] = [lock, client.election('/leader')]
const runs: Guard[] = [lock, client.semaphore('/limits/exports', 3)]
for (const handle of whatever) await handle.release()
for (const guard of runs) await guard.run(({ fencingToken }) => fencingToken)
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
const tree = await client.nodes.cache('/tree', { signal: controller.signal })
const [kept, keptNames, keptAge]: [Buffer | undefined, string[] | null, number] = [tree.get('/tree')?.data, tree.children('/tree'), tree.age]
for await (const paths of tree.changes()) console.log(paths satisfies string[], kept, keptNames, keptAge)
const whole: number = (await client.config('/config').update(async (value) => value ?? '')).version
const identities: string[] = await client.whoami()
const skipped: Record<string, string> = client.skipped
console.log(whole, identities, skipped, (await client.nodes.update('/data', (old) => old)).version)
const text: string = data.toString('utf8')
const [bytes, metadata] = await client.nodes.get('/data', { signal })
const parts: [Buffer, number] = [bytes, metadata.dataLength]
const two: 2 = (await client.nodes.get('/data')).length
const kind: 'lock' | 'read' | 'write' | 'lease' | undefined = contenders[0]?.kind
const same: Client = client.unref().ref()
const late: Client = await Client.connect('zk1', { signal, connectTimeout: 100 })
await held.verify({ signal })
const reading: Held = await (await client.readWriteLock('/catalogue').write.acquire()).downgrade({ signal })
const lostOnly: AbortSignal = (await client.election('/leader').campaign()).lostSignal
const more: Held = await client.readWriteLock('/catalogue').write.downgrade()
await lock.verify({ signal })
await both.contenders({ signal })
await semaphore.holders({ signal })
await semaphore.tryAcquire(2, { signal })
await semaphore.tryAcquire({ n: 2, signal })
await semaphore.resize(4, { signal })
await client.checkSequencer(held.sequencer, { signal })
await client.watchSequencer(held.sequencer, { signal, timeout: 5000 })
await client.nodes.create('/a', new ArrayBuffer(2), 'ephemeral', { signal })
await client.nodes.create('/a', new DataView(new ArrayBuffer(2)), { mode: 'ephemeral', signal })
await client.nodes.create('/a', '', { ttl: 60_000, signal })
await client.nodes.create('/a-', '', 'persistent_sequential', { ttl: 60_000 })
await client.nodes.transaction().create('/a', '', { ttl: 60_000 }).create('/b', '', 'persistent', { ttl: 60_000 }).commit()
await client.nodes.set('/a', new Uint16Array(2), stat.version, { signal })
await client.nodes.set('/a', '', { version: stat.version, signal })
await client.nodes.delete('/a', { signal })
await client.nodes.deleteAll('/a', { signal })
await client.nodes.transaction().check('/a').commit({ signal })
const changed: Stat = await client.nodes.set('/data', text, stat.version)
const missing: Stat | null = await client.nodes.exists('/none')
const path: string = await client.nodes.create('/queue/item-', '', 'persistent_sequential')

const firstVersion: number = await client.config('/config').create(text, { signal })
console.log(firstVersion)
for await (const found of client.config('/config').watch({ signal })) {
  const setting: Buffer | undefined = found?.value
  console.log(setting)
}
for await (const event of client.group('/group', { layout: 'member' }).watch()) {
  if (event.type === 'snapshot') console.log(event.members['a'] satisfies Buffer | undefined)
  else if (event.type === 'left') console.log(event.name satisfies string)
  else console.log(event.name satisfies string, event.data satisfies Buffer)
}
const discovery = client.discovery('/services')
const registration = await discovery.register({ name: 'web', address: 'h', port: 80, type: 'static' }, { signal })
await registration.update({ port: null, payload: { zone: 'b' } })
const picked = await discovery.pick('web', 'sticky')
console.log(picked?.uri satisfies string | null | undefined, picked?.registeredAt satisfies Date | undefined)
for await (const all of discovery.watch('web', { signal })) all.forEach((one) => one.failed())
await client.names('/names').bind('a', 'b', { ephemeral: true, signal })
await client.names('/names').bind('a', 'b', true)
const sum: bigint = await client.counter('/counter', { layout: 'shared' }).add(1)
const barrier: Barrier = client.barrier('/barriers/import')
await barrier.wait({ timeout: 5000, signal })
const up: boolean = await barrier.isUp()
const step: DoubleBarrier = client.doubleBarrier('/barriers/step', 3, 'member')
client.doubleBarrier('/barriers/step', 3, { name: 'member' }).withdraw()
client.doubleBarrier('/barriers/step', { parties: 3, name: 'member' }).withdraw()
const computed: number = await step.run(() => step.parties, { timeout: 5000 })
await step.enter({ signal })
if (step.hasEntered) step.withdraw()
else await step.leave()
const orders: TwoPhaseCommit = client.twoPhaseCommit('/commits/orders', 'peer')
const begun: CommitTransaction = await orders.begin('order-17', ['stock'], '3 chairs', 5000, { signal })
await client.twoPhaseCommit('/commits/orders', { mode: 'peer' }).begin('order-18', ['stock'], '3 chairs', { timeout: 5000, signal })
await orders.begin('order-19', { sites: ['stock'], payload: '3 chairs', timeout: 5000 })
const verdict: 'commit' | 'abort' = await begun.outcome({ timeout: 5000 })
await orders.join('stock')
const proposal: Proposal = await orders.next()
if (proposal.hasVoted) await proposal.acknowledge()
else await proposal.voteAbort()
const status: CommitStatus | null = await orders.show('order-17')
const mail: Queue = client.queue('/queues/mail', { maxAttempts: 5, layout: 'simple' })
await mail.put('hello', { timeout: 5000, signal })
await mail.putMany(['a', new Uint8Array(2)])
const letter: Buffer = await mail.get({ timeout: 5000 })
const perhaps: Item | null = await mail.tryClaim()
await perhaps?.ackWith(perhaps.guarded().create('/bill', perhaps.data))
for await (const item of mail) console.log(item.attempts satisfies number, await item.ack())
await mail.process(async (item) => void (await item.nack({ wait: false })), { concurrency: 8, signal })
const letters: Buffer[] = (await mail.dead.items()).map(({ data, reason, diedAt }) => Buffer.from(`${data} ${reason?.length} ${diedAt.getTime()}`))
await (await mail.claim()).nack({ delay: 60_000, reason: 'down' })
await client.priorityQueue('/queues/urgent').put('x', -1, { signal, key: 'request-1' })
await client.queue('/queues/mail', { keyWindow: 60_000 }).put('x', { key: 'request-1', timeout: 5000 })
await client.delayQueue('/queues/later', { ephemeral: true }).put('x', 5000)
const backlog: Backlog = client.delayQueue('/queues/later')
for await (const names of client.nodes.watch('/data', 'children')) console.log(names satisfies string[] | null)
for await (const all of client.nodes.watch('/data', { kind: 'subtree' })) console.log(all['/data']?.stat.version)
for await (const content of client.nodes.watch('/data', { signal })) console.log(content?.data)

try {
  await lock.acquire()
} catch (error) {
  if (error instanceof AbortError) console.log(error.code satisfies 'ABORT_ERR')
  else if (error instanceof ZkRecipesError) console.log(error.code satisfies ErrorCode, error.retryable, error.path, error.put)
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
// @ts-expect-error a kind that does not exist
contenders[0]?.kind === 'mutex'
// @ts-expect-error the first part is the data
const [notStat]: [Stat, Buffer] = await client.nodes.get('/data')
// @ts-expect-error numbers are no bytes
await client.nodes.set('/data', 7)
// @ts-expect-error a mode that does not exist
await client.nodes.create('/x', '', 'eternal')
// @ts-expect-error what was set is a stat
const notPath: string = written
// @ts-expect-error a kind that does not exist
client.nodes.watch('/data', 'sideways')
// @ts-expect-error who has left says nothing of itself
for await (const event of client.group('/group').watch()) if (event.type === 'left') console.log(event.data)
// @ts-expect-error a service has an address
await client.discovery('/services').register({ name: 'web' })
// @ts-expect-error a way of picking that does not exist
await client.discovery('/services').pick('web', 'best')
// @ts-expect-error a mode that does not exist
client.twoPhaseCommit('/commits/orders', 'sites')
// @ts-expect-error a double barrier has a number of parties
client.doubleBarrier('/barriers/step')
// @ts-expect-error so has one of options
client.doubleBarrier('/barriers/step', { name: 'member' })
// @ts-expect-error a transaction has a time
await orders.begin('order-20', { sites: ['stock'], payload: '3 chairs' })
// @ts-expect-error a priority is a number
await client.priorityQueue('/queues/urgent').put('x', 'high')
// @ts-expect-error dead letters are not put
await mail.dead.put('x')
// @ts-expect-error fractions are counted nowhere
await client.counter('/counter').add('1')
// @ts-expect-error properties are read only
held.isHeld = false

console.log(state, id, token, signal, result, plain, since, changed, missing, path, wrong, certain, sides, tokens, paths, permits, permit, some, many, holders, asked, first, passes, revoked, stands, parts, results, sum, known, unknown, uncertain, notPath, verdict, status, up, computed, letter, letters, backlog, kind, same, late, two, notStat, version() satisfies string)

export async function fixtures(jest: Required<TestRunner>): Promise<Client[]> {
  const zookeeper: EmbeddedZookeeper = embeddedZookeeper(nodeTest, { server: { tick: 50 }, client: { identity: 'me' } })
  const server: EmbeddedServer = embeddedZookeeper(jest).server
  embeddedZookeeper()
  // @ts-expect-error no hooks
  embeddedZookeeper({ beforeEach() {} })
  // @ts-expect-error not an option
  embeddedZookeeper(nodeTest, { tick: 50 })
  return [zookeeper.client, await zookeeper.connect({ identity: server.connectString + zookeeper.connectString })]
}
