import { Contender, Guard } from './handle.cjs'
import { Held } from './held.cjs'
import { SignalOptions, WaitOptions } from './abort_signals.cjs'

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
 * All participants must agree about the number of permits, else `MISMATCH`. A client that holds several permits has one entry in `contenders()` for each.
 */
export class Semaphore extends Guard {
  private constructor()
  readonly path: string
  // --- generated from api: types of Semaphore
  /** How many permits there are, as far as this handle knows. */
  readonly permits: number
  /** The holders among the contenders, one entry for each permit. */
  holders(options?: SignalOptions): Promise<Contender[]>
  /**
   * Changes how many permits there are, for everybody; handles that say the old number get `MISMATCH`. Fewer than are held now
   * takes effect as they are released.
   */
  resize(permits: number, options?: SignalOptions): Promise<void>
  // --- end of generated
  /** Waits for `n` permits at once, 1 unless told. More than there are is `INVALID`. */
  acquire(options?: PermitOptions): Promise<Held>
  acquire(n: number | undefined, options?: WaitOptions): Promise<Held>
  /** One attempt: null when that many are not free, or others queue for them. */
  tryAcquire(options?: SignalOptions & { n?: number | undefined }): Promise<Held | null>
  tryAcquire(n: number | undefined, options?: SignalOptions): Promise<Held | null>
  /** As `lock.run`, with permits. */
  run<T>(body: (held: Held) => T | PromiseLike<T>, options?: PermitOptions): Promise<T>
}
