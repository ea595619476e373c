import { ZkRecipesError } from './errors.cjs'
import { Held, ReleaseOptions } from './held.cjs'
import { Transaction } from './nodes.cjs'
import { SignalOptions, WaitOptions } from './abort_signals.cjs'

export interface Contender {
  /**
   * Its node, which `revoke` of the same handle takes: the path below the recipe's, such as `_c_…-lock-0000000003` or
   * `leases/_c_…`; the whole path for a multi-lock, which has several, and for others a whole path will do.
   */
  node: string
  identity: string
  /** What it waits for or holds: `lock`, `read`, `write`, or `lease` for the permit of a semaphore. */
  kind: 'lock' | 'read' | 'write' | 'lease'
  sessionId: bigint
  since: Date
  holds: boolean
}

/** How a wait stands that goes on. */
export interface WaitProgress {
  /** What is waited for. */
  path: string
  /** How long already, in milliseconds. */
  waited: number
  /**
   * How many are waited for. In a line, those ahead, when it was looked last; at a double barrier, those who have yet to come,
   * or to leave. Null if nobody counts them: it waits for its own handle, for permits, for an item.
   */
  ahead: number | null
  /** Who holds, or one of them; of a barrier, who has put it up. Null if that is not known at the moment. */
  holder: Contender | null
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
 * Everything that can be acquired. A handle is used by one owner at a time: a second acquire on a held handle waits, unless the
 * recipe says otherwise.
 *
 * `release`, `isHeld`, `fencingToken`, `verify`, `guarded`, `onLost` and `onRevoke` concern the handle's current `Held`, the one
 * acquired last, which the handle keeps until it is released, also when nobody else does. An acquire that has waited for that
 * for ten seconds is told of by a process warning.
 */
export abstract class Handle {
  protected constructor()
  /**
   * Waits until it is ours.
   *
   * ```js
   * const held = await lock.acquire({ timeout: 5000, signal })
   * try { … } finally { await held.release() }
   * ```
   */
  acquire(options?: WaitOptions): Promise<Held>
  /** One attempt: null when somebody else holds it, or a part of it; then nothing is held. */
  tryAcquire(options?: SignalOptions): Promise<Held | null>
  /**
   * Calls back while an acquire through this handle waits: after a second, and then ever less often, up to once a minute.
   * Returns a function that unsubscribes. A callback that refers to the lock does not keep it.
   *
   * ```js
   * lock.onWait(({ waited, holder }) => console.log(`waiting for ${holder?.identity} since ${waited} ms`))
   * ```
   */
  onWait(callback: (progress: WaitProgress) => unknown): () => void
  /** Wakes the waits in progress on this handle with an `AbortError`, never later ones. */
  cancel(): void
  release(options?: ReleaseOptions): Promise<void>
  readonly isHeld: boolean
  readonly fencingToken: bigint
  verify(options?: SignalOptions): Promise<void>
  guarded(): Transaction<[]>
  onLost(callback: (error: ZkRecipesError) => unknown): () => void
  onRevoke(callback: (reason: ZkRecipesError) => unknown): () => void
  /** Who holds and who waits, in order. */
  contenders(options?: SignalOptions): Promise<Contender[]>
  /**
   * Asks for it: whoever holds, or the contender of that node, hears of it (`held.onRevoke`) and lets go when it can.
   *
   * With `forceAfter`, its node is deleted when it has not let go in time; who loses a part of what it holds so, one permit or
   * one of several locks, loses all of it. A holder that cannot be reached does not know that it lost until its lease runs out:
   * only a resource that checks `fencingToken`, and `guarded()` writes, are protected from it. Resolves with whether there was
   * anybody to ask.
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

/** What is acquired for as long as something runs: all but elections. */
export abstract class Guard extends Handle {
  /**
   * Holds while the body runs, and releases on any exit. Rejects with what the body throws, or with `LOST` when the body
   * succeeded but what was held was lost. The options concern the waiting only; `held.signal` tells the body of a loss.
   */
  run<T>(body: (held: Held) => T | PromiseLike<T>, options?: WaitOptions): Promise<T>
}
