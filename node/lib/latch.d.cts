// Generated from api/latch.toml by api/generate; do not edit.

import { SignalOptions, WaitOptions } from './abort_signals.cjs'

/**
 * Closed until it was counted down as often as it says, by whomever, and open from then on.
 *
 * ```js
 * const imports = client.latch('/latches/imports', 3)
 * await imports.countDown()
 * // elsewhere: await imports.wait({ timeout: 60_000 })
 * ```
 *
 * Every count is made exactly once, also when its answer gets lost; `CONNECTION_LOST` is told only where nobody can know any
 * more.
 */
export class Latch {
  private constructor()
  /** What it is made with. */
  readonly path: string
  /** Counts it down by n, at least 1, and resolves with how much is left; 0 is open. */
  countDown(n?: number, options?: SignalOptions): Promise<number>
  /** How much is left until it is open, no older than this call. */
  remaining(options?: SignalOptions): Promise<number>
  /** Sets how much is left to count, at least 1: it is closed. Who waits for it goes on waiting. */
  reset(count: number, options?: SignalOptions): Promise<void>
  /**
   * Waits until it is open, at once if it is, through outages and into the next session. Who has seen it closed when it is
   * opened goes on, also if it is reset at once; `NO_NODE` if somebody deletes it meanwhile.
   */
  wait(options?: WaitOptions): Promise<void>
}
