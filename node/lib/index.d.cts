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
  /** Plain node operations. */
  readonly nodes: Nodes
}

export interface LockOptions {
  /** The handle is the owner: nested acquisitions count, everyone who uses the handle is inside together. */
  reentrant?: boolean | undefined
  /** How many times waiters of this process may pass the lock on in memory before others get their turn. */
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
  /** `false`: confirm in the background. */
  wait?: boolean | undefined
}

export interface Contender {
  /** The name of its node. */
  node: string
  identity: string
  /** What it waits for, such as `lock`. */
  kind: string
  sessionId: bigint
  since: Date
  holds: boolean
}

/**
 * A mutual exclusion lock. A handle is used by one owner at a time: a second acquire on a held, non-reentrant handle waits.
 *
 * `release`, `isHeld`, `fencingToken`, `verify`, `guarded` and `onLost` concern the handle's current `Held`.
 */
export class Lock {
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
}

/**
 * One acquisition. When nobody refers to it and to its lock any more, it is released in the background.
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
  /** A comparison with the clock: certain, or false. A loss is final. */
  readonly isHeld: boolean
  /** Names this acquisition to third parties. */
  readonly sequencer: string
  /** Asks the server: resolves, or rejects with `NOT_HELD`, or with `CONNECTION_LOST` when it cannot know. */
  verify(): Promise<void>
  /** Node writes that the server applies only while this acquisition stands. */
  guarded(): Transaction
  /** Calls back once when it is lost, at once if it already is, never for a release; returns what ends that. */
  onLost(callback: (error: ZkRecipesError) => unknown): () => void
  /** Aborts when it is lost, with the `LOST` error as the reason; never on release. */
  readonly signal: AbortSignal
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
