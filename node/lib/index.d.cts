/// <reference types="node" />
/// <reference lib="esnext.disposable" />

/** The version of the library. */
export function version(): string

/** The names of the error table, and Node's own for a wait that `cancel()` ended. */
export type ErrorCode =
  | 'TIMEOUT'
  | 'CANCELLED'
  | 'CONNECTION_LOST'
  | 'LOST'
  | 'NOT_HELD'
  | 'DENIED'
  | 'INVALID'
  | 'TOO_LARGE'
  | 'EXISTS'
  | 'NO_NODE'
  | 'BAD_VERSION'
  | 'NOT_EMPTY'
  | 'MISMATCH'
  | 'CLOSED'
  | 'DEADLOCK'
  | 'FORKED'
  | 'INTERNAL'
  | 'ABORT_ERR'

/** Why something that was held is gone. */
export type LostReason = 'session' | 'revoked' | 'deleted' | 'closed'

/** Every error of the library: what happened and what to do is in `message`. */
export class ZkRecipesError extends Error {
  protected constructor()
  readonly code: ErrorCode
  /** Whether the same call may succeed when it is made again. */
  readonly retryable: boolean
  /** The path concerned, when there is one. */
  readonly path?: string
  /** Why it is gone, for `LOST`. */
  readonly reason?: LostReason
}

/** A wait that `cancel()` ended: name `AbortError`, code `ABORT_ERR`. (An aborted signal rejects with its own reason.) */
export class AbortError extends ZkRecipesError {
  readonly code: 'ABORT_ERR'
}

/** A payload: bytes, or a string that is sent as UTF-8. */
export type Data = string | Uint8Array

export interface Auth {
  /** Such as `digest`. */
  scheme: string
  /** Such as `user:password`. */
  credential: Data
}

export interface AclEntry {
  /** `world`, `auth`, `digest`, `ip`, `x509` or `sasl`. */
  scheme: string
  /** The identity under that scheme, `anyone` for `world`. */
  id: string
  /** Letters of `rwcda`: read, write, create, delete, admin. */
  permissions: string
}

export interface ConnectOptions {
  /** How many milliseconds the server keeps the session of a silent client; 10,000 unless told. */
  sessionTimeout?: number | undefined
  /** How many milliseconds `connect` tries before `CONNECTION_LOST`; 10,000 unless told. */
  connectTimeout?: number | undefined
  /** Written into contender nodes so that people see who holds what; `host:pid` unless told. */
  identity?: string | undefined
  /** Credentials to present to the server. */
  auth?: Auth | readonly Auth[] | undefined
  /** Who may touch the nodes that we create; `creator` when credentials are given, else `open`. */
  acl?: 'open' | 'creator' | readonly AclEntry[] | undefined
  /** TLS towards the server: PEM files. */
  tls?:
    | { ca?: string | undefined; cert?: string | undefined; key?: string | undefined; verifyHostname?: boolean | undefined }
    | undefined
  /** SASL with DIGEST-MD5. */
  sasl?: { user: string; password: string } | undefined
  /** Whose node names to use, so that others on the same path take part; `curator` unless told. */
  naming?: 'curator' | 'kazoo' | 'zookeeper' | undefined
  /** How verbs retry when the connection breaks, in milliseconds; `giveUpAfter` is `connectTimeout` unless told. */
  retry?: { base?: number | undefined; max?: number | undefined; giveUpAfter?: number | undefined } | undefined
  /** What the heartbeat of a holder proves: the quorum (`strict`), or less for less (`relaxed`). */
  lease?: 'strict' | 'relaxed' | undefined
  /** Accept a server that lost its quorum and only reads. */
  readOnly?: boolean | undefined
}

export type State = 'connected' | 'suspended' | 'lost' | 'closed'

/**
 * One session with ZooKeeper, shared by any number of recipes.
 *
 * ```js
 * const client = await Client.connect('zk1:2181')
 * await client.lock('/locks/report').run(async (held) => {
 *   await publish({ fencingToken: held.fencingToken, signal: held.signal })
 * })
 * await client.close()
 * ```
 *
 * An idle client does not keep the process alive; a call under way does.
 */
export class Client {
  private constructor()
  /**
   * Connects. `hosts` is a ZooKeeper connect string such as `h1:2181,h2:2181/app`, or `embedded:` for a server inside this
   * process; left out, it is the environment's `ZKRECIPES_HOSTS`. Running out of time is `CONNECTION_LOST`.
   */
  static connect(hosts?: string | null, options?: ConnectOptions): Promise<Client>
  /** Ends the session: waiters get `CLOSED`, holders are released, background deletions are awaited. */
  close(options?: { timeout?: number | undefined }): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
  readonly state: State
  readonly sessionId: bigint
  /** Milliseconds, as negotiated with the server. */
  readonly sessionTimeout: number
  /** How many milliseconds the server certainly still honours this session; 0 while nothing is held. */
  readonly leaseRemaining: number
  version(): string
  /** Calls back with every new state; returns what ends that. */
  onState(callback: (state: State) => unknown): () => void
  /** A handle on the lock at this path; nothing is sent yet. */
  lock(path: string, options?: LockOptions): Lock
  /** A handle on the read/write lock at this path; nothing is sent yet. */
  readWriteLock(path: string): ReadWriteLock
  /** Several locks of this client as one: all or none, acquired in the order of their paths whatever order they are given in. */
  multiLock(locks: readonly Lock[]): MultiLock
  /** A handle on the semaphore at this path, of so many permits; nothing is sent yet. */
  semaphore(path: string, permits: number): Semaphore
  /** Whether the acquisition that this `held.sequencer`, of anybody in any language, names still stands. */
  checkSequencer(sequencer: string): Promise<boolean>
  /** Resolves when the acquisition that this `held.sequencer` names no longer stands. */
  watchSequencer(sequencer: string, options?: { signal?: AbortSignal | undefined }): Promise<void>
  /** Plain node operations. */
  readonly nodes: Nodes
}

export interface LockOptions {
  /** The handle is the owner: nested acquisitions count, everyone who uses the handle is inside together. */
  reentrant?: boolean | undefined
  /**
   * How many times the lock may be passed on in memory, from one handle of this client to the next that waits, before others get
   * their turn; 0 unless told. Who gets it so shares the fencing token of who won it, and has a higher `held.passes`.
   */
  localHandoff?: number | undefined
}

/** Options of every verb that waits. */
export interface WaitOptions {
  /** Milliseconds; left out or `Infinity`, for ever; 0, one attempt. Running out rejects with `TIMEOUT`. */
  timeout?: number | undefined
  /** Aborting withdraws: the promise rejects with `signal.reason`, and nothing is left behind. */
  signal?: AbortSignal | undefined
}

export interface ReleaseOptions {
  /**
   * `false`: do not wait for the server, which is told in the background. `isHeld` is false at once all the same; a release that
   * cannot be confirmed is repeated until the server answers or the session ends.
   */
  wait?: boolean | undefined
}

export interface Contender {
  /**
   * Its node, which `revoke` of the same handle takes: the path below the recipe's, such as `_c_…-lock-0000000003` or
   * `leases/_c_…`; the whole path for a multi-lock, which has several, and for others a whole path will do.
   */
  node: string
  identity: string
  /** What it waits for or holds: `lock`, `read`, `write`, or `lease` for the permit of a semaphore. */
  kind: string
  sessionId: bigint
  since: Date
  holds: boolean
}

export interface RevokeOptions {
  /** One of the `contenders()` of the same handle, or its `node`; left out, whoever holds. Anything else is `INVALID`. */
  contender?: Contender | string | null | undefined
  /** Milliseconds after which exactly the nodes that were asked are deleted, if they have not gone; left out, never. */
  forceAfter?: number | undefined
  /** Aborting ends the wait for `forceAfter`: who was asked stays asked, and nothing is deleted. */
  signal?: AbortSignal | undefined
}

/**
 * A mutual exclusion lock, or one side of a read/write lock. A handle is used by one owner at a time: a second acquire on a
 * held, non-reentrant handle waits.
 *
 * `release`, `isHeld`, `fencingToken`, `verify`, `guarded` and `onLost` concern the handle's current `Held`.
 */
export class Lock {
  // Nothing else is one to `multiLock`, whatever members it has.
  #private
  private constructor()
  readonly path: string
  /**
   * Waits until the lock is ours.
   *
   * ```js
   * const held = await lock.acquire({ timeout: 5000, signal })
   * try { … } finally { await held.release() }
   * ```
   */
  acquire(options?: WaitOptions): Promise<Held>
  /** One attempt: null when somebody else holds it. */
  tryAcquire(): Promise<Held | null>
  /**
   * Holds the lock while the body runs, and releases it on any exit. Rejects with what the body throws, or with `LOST` when
   * the body succeeded but the lock was lost. The options concern the waiting only; `held.signal` tells the body of a loss.
   */
  run<T>(body: (held: Held) => T | PromiseLike<T>, options?: WaitOptions): Promise<T>
  /** Wakes the waits in progress on this handle with an `AbortError`, never later ones. */
  cancel(): void
  release(options?: ReleaseOptions): Promise<void>
  readonly isHeld: boolean
  readonly fencingToken: bigint
  verify(): Promise<void>
  guarded(): Transaction
  onLost(callback: (error: ZkRecipesError) => unknown): () => void
  /** Who holds the lock and who waits for it, in order. */
  contenders(): Promise<Contender[]>
  /**
   * Asks for the lock: whoever holds, or the contender of that node, hears of it (`held.onRevoke`) and lets go when it can.
   *
   * With `forceAfter`, its node is deleted when it has not let go in time. A holder that cannot be reached does not know
   * that it lost until its lease runs out: only a resource that checks `fencingToken`, and `guarded()` writes, are protected
   * from it. Resolves with whether there was anybody to ask.
   *
   * ```js
   * const [holder] = await lock.contenders()
   * if (holder) await lock.revoke(holder.node, { forceAfter: 5000 })
   * ```
   */
  revoke(options?: RevokeOptions): Promise<boolean>
  revoke(contender: Contender | string | null | undefined, options: Omit<RevokeOptions, 'contender'>): Promise<boolean>
  revoke(contender: Contender | string | null | undefined): Promise<boolean>
}

/**
 * A read/write lock: readers share, writers exclude everybody, in the order in which they came. Each side is a `Lock`.
 *
 * ```js
 * const lock = client.readWriteLock('/locks/catalogue')
 * await lock.read.run(async () => { … })
 * ```
 *
 * Who holds `write` may also take `read` and then release `write`: nobody gets in between, and the token stays. Taking
 * `write` while holding `read` is `INVALID`: two who both tried would wait for each other.
 */
export class ReadWriteLock {
  private constructor()
  readonly path: string
  readonly read: Lock
  readonly write: Lock
}

/**
 * Several locks as one: all or none, and never two who wait for each other. Losing one loses all.
 *
 * ```js
 * await client.multiLock([client.lock('/accounts/alice'), client.lock('/accounts/bob')]).run(async (held) => {
 *   await transfer({ fencingTokens: held.fencingTokens })
 * })
 * ```
 */
export class MultiLock {
  private constructor()
  /** Sorted: the order in which they are acquired, and in which `fencingTokens` come. */
  readonly paths: string[]
  /** Waits until all are ours. */
  acquire(options?: WaitOptions): Promise<Held>
  /** One attempt: null when somebody else holds one of them, and then none is held. */
  tryAcquire(): Promise<Held | null>
  /** As `lock.run`, for all of them. */
  run<T>(body: (held: Held) => T | PromiseLike<T>, options?: WaitOptions): Promise<T>
  /** Wakes the waits in progress on this handle with an `AbortError`, never later ones. */
  cancel(): void
  release(options?: ReleaseOptions): Promise<void>
  readonly isHeld: boolean
  /** The first of the tokens. */
  readonly fencingToken: bigint
  readonly fencingTokens: bigint[]
  verify(): Promise<void>
  guarded(): Transaction
  onLost(callback: (error: ZkRecipesError) => unknown): () => void
  /** Who holds the locks and who waits for them, in the order of the paths; a `node` is a whole path here. */
  contenders(): Promise<Contender[]>
  /**
   * Asks for the locks, as `lock.revoke`: whoever holds any of them, or the contender of that node. Whoever loses one to
   * `forceAfter` loses all that it holds together.
   */
  revoke(options?: RevokeOptions): Promise<boolean>
  revoke(contender: Contender | string | null | undefined, options: Omit<RevokeOptions, 'contender'>): Promise<boolean>
  revoke(contender: Contender | string | null | undefined): Promise<boolean>
}

export interface PermitOptions extends WaitOptions {
  /** How many permits, all at once; 1 unless told. */
  n?: number | undefined
}

/**
 * A semaphore: at most so many permits at once, given in the order in which they were asked for. Any number of acquisitions
 * may be held through one handle.
 *
 * ```js
 * const exports = client.semaphore('/limits/exports', 3)
 * await exports.run(async (held) => { … })
 * const two = await exports.acquire(2, { timeout: 5000 })
 * ```
 *
 * All participants must agree about the number of permits, else `MISMATCH`.
 */
export class Semaphore {
  private constructor()
  readonly path: string
  /** How many permits there are, as far as this handle knows. */
  readonly permits: number
  /** Waits for `n` permits at once, 1 unless told. More than there are is `INVALID`. */
  acquire(options?: PermitOptions): Promise<Held>
  acquire(n: number | undefined, options?: WaitOptions): Promise<Held>
  /** One attempt: null when that many are not free, or others queue for them. */
  tryAcquire(n?: number): Promise<Held | null>
  /** As `lock.run`, with permits. */
  run<T>(body: (held: Held) => T | PromiseLike<T>, options?: PermitOptions): Promise<T>
  /** Wakes the waits in progress on this handle with an `AbortError`, never later ones. */
  cancel(): void
  /** Releases the acquisition made last through this handle, whose are also the members below. */
  release(options?: ReleaseOptions): Promise<void>
  readonly isHeld: boolean
  readonly fencingToken: bigint
  verify(): Promise<void>
  guarded(): Transaction
  onLost(callback: (error: ZkRecipesError) => unknown): () => void
  /** Who holds permits, one entry each. */
  holders(): Promise<Contender[]>
  /** The same, and then who waits for permits, in order. */
  contenders(): Promise<Contender[]>
  /**
   * Asks for permits, as `lock.revoke`: everybody who holds, or the contender of that node. Whoever loses one permit to
   * `forceAfter` loses the acquisition.
   */
  revoke(options?: RevokeOptions): Promise<boolean>
  revoke(contender: Contender | string | null | undefined, options: Omit<RevokeOptions, 'contender'>): Promise<boolean>
  revoke(contender: Contender | string | null | undefined): Promise<boolean>
  /**
   * Changes how many permits there are, for everybody; handles that say the old number get `MISMATCH`. Fewer than are held
   * now takes effect as they are released.
   */
  resize(permits: number): Promise<void>
}

/**
 * One acquisition, of whatever recipe. When nobody refers to it and to its handle any more, it is released in the background.
 *
 * ```js
 * await using held = await lock.acquire()
 * ```
 */
export class Held {
  private constructor()
  readonly path: string
  /** The full path of the node that stands for this acquisition. */
  readonly node: string
  /** Rises strictly from one acquisition of a path to the next: give it to whatever the lock protects. */
  readonly fencingToken: bigint
  /** The tokens of all that is held together, in the order of their paths: several for a multi-lock. */
  readonly fencingTokens: bigint[]
  /**
   * How often the turn was passed on in memory since it was won (`localHandoff`): acquisitions that share a token rise
   * strictly in this number. 0 without hand-off.
   */
  readonly passes: number
  /** How many nodes stand for this acquisition: the permits of a semaphore, the locks of a multi-lock. */
  readonly permits: number
  /** A comparison with the clock: certain, or false. A loss is final. */
  readonly isHeld: boolean
  /** Names this acquisition to third parties, who can ask `client.checkSequencer` whether it still stands. */
  readonly sequencer: string
  /** Asks the server: resolves, or rejects with `NOT_HELD`, or with `CONNECTION_LOST` when it cannot know. */
  verify(): Promise<void>
  /** Node writes that the server applies only while this acquisition stands. */
  guarded(): Transaction
  /** Calls back once when it is lost, at once if it already is, never for a release; returns what ends that. */
  onLost(callback: (error: ZkRecipesError) => unknown): () => void
  /** Aborts when it is lost, with the `LOST` error as the reason; never on release. */
  readonly signal: AbortSignal
  /** Calls back once when somebody asks for it (`lock.revoke`), at once if that has happened: finish, then release. */
  onRevoke(callback: (reason: ZkRecipesError) => unknown): () => void
  /** Aborts when somebody asks for it; it is still held. */
  readonly revokeSignal: AbortSignal
  /** Gives it back. A second time is `NOT_HELD`. `CONNECTION_LOST`: unconfirmed, and the deletion goes on in the background. */
  release(options?: ReleaseOptions): Promise<void>
  /** Leaves the scope: releases, in silence if it was released already; rejects with `LOST` if it was lost. */
  [Symbol.asyncDispose](): Promise<void>
}

export type CreateMode = 'persistent' | 'ephemeral' | 'persistent_sequential' | 'ephemeral_sequential' | 'container'

export interface Stat {
  czxid: bigint
  mzxid: bigint
  pzxid: bigint
  ctime: Date
  mtime: Date
  version: number
  cversion: number
  aversion: number
  ephemeralOwner: bigint
  dataLength: number
  numChildren: number
}

/** A node's content, which also comes apart as `[data, stat]`. */
export interface Content {
  data: Buffer
  stat: Stat
  [Symbol.iterator](): Generator<Buffer | Stat, void, undefined>
}

/** Plain node operations. */
export class Nodes {
  private constructor()
  /** Creates a node and returns its full path, which for a sequential one the server completes. */
  create(path: string, data?: Data, mode?: CreateMode): Promise<string>
  get(path: string): Promise<Content>
  /** Left out, any version will do; another than the node's is `BAD_VERSION`. */
  set(path: string, data: Data, version?: number): Promise<Stat>
  delete(path: string, version?: number): Promise<void>
  exists(path: string): Promise<Stat | null>
  /** The names of the children, sorted. */
  children(path: string): Promise<string[]>
  /** Creates what is missing of the path. */
  ensure(path: string): Promise<void>
  /** Deletes the node and all below it. */
  deleteAll(path: string): Promise<void>
  /** Writes that happen all or not at all. */
  transaction(): Transaction
}

/** Writes that are collected, and sent together by `commit()`. */
export class Transaction {
  private constructor()
  create(path: string, data?: Data, mode?: CreateMode): this
  set(path: string, data: Data, version?: number): this
  delete(path: string, version?: number): this
  /** Makes the whole fail unless the node exists, with this version if one is given. */
  check(path: string, version?: number): this
  /** Guarded, and no longer held: `NOT_HELD`. `CONNECTION_LOST`: the outcome is unknown, and it is never sent twice. */
  commit(): Promise<void>
}
