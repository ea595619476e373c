import { Guard } from './handle.cjs'
import { Held } from './held.cjs'
import { SignalOptions } from './abort_signals.cjs'

// --- generated from api: options of Lock
export interface LockOptions {
  /**
   * The handle is the owner: nested acquisitions count. Never share such a handle between threads or tasks that must exclude
   * each other.
   */
  reentrant?: boolean | undefined
  /**
   * How many times waiters of one client may pass the turn on in memory before others get theirs. They then share a fencing
   * token, and only the pair of token and `passes` rises strictly. Unless told: 0.
   */
  localHandoff?: number | undefined
}
// --- end of generated

/**
 * A mutual exclusion lock, or one side of a read/write lock.
 *
 * ```js
 * await client.lock('/locks/report').run(async (held) => {
 *   await publish({ fencingToken: held.fencingToken, signal: held.signal })
 * })
 * ```
 */
export class Lock extends Guard {
  // Nothing else is one to `multiLock`, whatever members it has.
  #private
  private constructor()
  readonly path: string
  /** From writing to reading, for the `write` side of a read/write lock: `downgrade` of what it acquired last. */
  downgrade(options?: SignalOptions): Promise<Held>
}

/**
 * A read/write lock: readers share, writers exclude everybody, in the order in which they came. Each side is a `Lock`.
 *
 * ```js
 * const lock = client.readWriteLock('/locks/catalogue')
 * await lock.read.run(async () => { … })
 * ```
 *
 * What `write` acquired can be downgraded, from writing to reading: nobody writes in between, and the token stays. There is no
 * way back but to release `read` first: who asks for `write` with `read` in hand waits for itself.
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
 *
 * `fencingToken` is the first of the `fencingTokens`; the `contenders()` come in the order of the paths, and their `node` is a
 * whole path.
 */
export class MultiLock extends Guard {
  private constructor()
  /** Sorted: the order in which they are acquired, and in which `fencingTokens` come. */
  readonly paths: string[]
  readonly fencingTokens: bigint[]
}
