import { WaitProgress } from './handle.cjs'
import { SignalOptions, WaitOptions } from './abort_signals.cjs'

// --- generated from api: types of Barrier
/**
 * A barrier: while it is up, everybody who comes to it waits.
 *
 * ```js
 * const barrier = client.barrier('/barriers/import')
 * await barrier.create()
 * // elsewhere: await barrier.wait({ timeout: 60_000 })
 * await barrier.remove()
 * ```
 */
export class Barrier {
  private constructor()
  /** What it is made with. */
  readonly path: string
  /** Puts it up; if it is up already, that is fine. It stays up until somebody removes it, also when this client is gone. */
  create(options?: SignalOptions): Promise<void>
  /** Lifts it: everybody who waits goes on. If it is not up, that is fine. */
  remove(options?: SignalOptions): Promise<void>
  /** Whether the barrier is up. */
  isUp(options?: SignalOptions): Promise<boolean>
  /**
   * Calls back while a wait through this barrier goes on: after a second, and then ever less often, up to once a minute.
   * `holder` is who has put it up. Returns a function that unsubscribes.
   *
   * ```js
   * barrier.onWait(({ holder, waited }) => console.log(`${holder?.identity} has it up, we wait since ${waited} ms`))
   * ```
   */
  onWait(callback: (progress: WaitProgress) => unknown): () => void
  /** Waits until it is lifted, at once if it is not up, through outages and into the next session. */
  wait(options?: WaitOptions): Promise<void>
}
// --- end of generated

export interface DoubleBarrierOptions {
  /** By which name others see this member; the client's `identity` unless told. */
  name?: string
}

/**
 * A double barrier: so many members begin together and end together, any number of times.
 *
 * ```js
 * const barrier = client.doubleBarrier('/barriers/step', 3)
 * for (const step of steps) await barrier.run(() => compute(step))
 * ```
 *
 * A handle is one member. A member that dies frees the others.
 */
export class DoubleBarrier {
  private constructor()
  // --- generated from api: types of DoubleBarrier
  /** What it is made with. */
  readonly path: string
  /** How many enter and leave together. */
  readonly parties: number
  /** By which name others see this member. */
  readonly name: string
  /** Whether this handle has entered and not left. */
  readonly hasEntered: boolean
  /**
   * Calls back while this member enters or leaves: after a second, and then ever less often, up to once a minute. `ahead` is how
   * many have yet to come, or to leave. Returns a function that unsubscribes.
   *
   * ```js
   * barrier.onWait(({ ahead, waited }) => console.log(`${ahead} are missing since ${waited} ms`))
   * ```
   */
  onWait(callback: (progress: WaitProgress) => unknown): () => void
  // --- end of generated
  /**
   * Waits until all parties are there; more than that wait for the next round. One that runs out of time or is withdrawn counts
   * for nobody. `MISMATCH`: others wait there for another number of parties. `EXISTS`: this handle has entered already.
   */
  enter(options?: WaitOptions): Promise<void>
  /**
   * Waits until all members of the round have left or died. Out of time, or withdrawn, we have left all the same. `NOT_HELD`: this
   * handle has not entered. `LOST`: our session or our node has gone since, so the others need not have waited for us.
   */
  leave(options?: WaitOptions): Promise<void>
  /** Gives the round up in the background: nobody waits for us. For work that failed. */
  withdraw(): void
  /**
   * Enters, works, leaves; the options are for both waits. When the body fails, the round is given up, and rejects with what the
   * body threw.
   */
  run<T>(body: () => T | PromiseLike<T>, options?: WaitOptions): Promise<T>
}
