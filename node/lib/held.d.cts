import { ZkRecipesError } from './errors.cjs'
import { Transaction } from './nodes.cjs'
import { SignalOptions } from './abort_signals.cjs'

export interface ReleaseOptions {
  /**
   * `false`: do not wait for the server, which is told in the background. `isHeld` is false at once all the same; a release that
   * cannot be confirmed is repeated until the server answers or the session ends.
   */
  wait?: boolean | undefined
}

/**
 * One acquisition, of whatever recipe. When nobody refers to it and to its handle any more, it is released in the background.
 *
 * ```js
 * await using held = await lock.acquire()
 * ```
 */
export class Held {
  protected constructor()
  // --- generated from api: types of Held
  /** A comparison with the clock: certain, or false. A loss is final. */
  readonly isHeld: boolean
  /** Rises strictly from one acquisition of a path to the next: give it to whatever the lock protects. */
  readonly fencingToken: bigint
  /** Asks the server: resolves, or rejects with `NOT_HELD`, or with `CONNECTION_LOST` when it cannot know. */
  verify(options?: SignalOptions): Promise<void>
  /** What is held; the paths of a multi-lock with spaces between. */
  readonly path: string
  /** The last part of the path of what is held: of a partition, its name. */
  readonly name: string
  /** The full path of the node that stands for this acquisition. */
  readonly node: string
  /** Names this acquisition to third parties, who can ask `client.checkSequencer` whether it still stands. */
  readonly sequencer: string
  /**
   * How often the turn was passed on in memory since it was won (`localHandoff`): acquisitions that share a token rise strictly
   * in this number. 0 without hand-off.
   */
  readonly passes: number
  /** How many nodes stand for this acquisition: the permits of a semaphore, the locks of a multi-lock. */
  readonly permits: number
  // --- end of generated
  /** The tokens of all that is held together, in the order of their paths: several for a multi-lock. */
  readonly fencingTokens: bigint[]
  /** Node writes that the server applies only while this acquisition stands. */
  guarded(): Transaction<[]>
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
  /**
   * From writing to reading, for what the `write` side of a read/write lock acquired: nobody writes in between, readers may come
   * in, and the fencing token stays. This acquisition is over then, as after a release; what it resolves with is held by the
   * `read` side. `INVALID` for what was acquired otherwise. If it rejects, `write` is still held, unless it is lost or the wait
   * was withdrawn too late: then nothing is.
   */
  downgrade(options?: SignalOptions): Promise<Held>
  /** Leaves the scope: releases, in silence if it was released already; rejects with `LOST` if it was lost. */
  [Symbol.asyncDispose](): Promise<void>
}
