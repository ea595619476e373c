// Generated from api/counter.toml by api/generate; do not edit.

import { SignalOptions } from './abort_signals.cjs'
import { Feed } from './feed.cjs'

export interface CounterOptions {
  /**
   * Whose counter it takes part in: Curator's `DistributedAtomicLong`, 64 bits (`atomic`), or `SharedCount`, 32 bits (`shared`).
   * kazoo has one layout of its own, which `naming` chooses. Unless told: `atomic`.
   */
  layout?: 'atomic' | 'shared' | undefined
}

/**
 * A number that many count on: signed, of 64 bits. It is 0 until the first change, which creates it.
 *
 * ```js
 * const orders = client.counter('/counters/orders')
 * const number = await orders.add(1)
 * ```
 *
 * Every change is applied exactly once, also when its answer gets lost; `CONNECTION_LOST` is told only where nobody can know any
 * more. Numbers may be safe integers or bigints, and the answers are bigints. What would pass the range is `INVALID`, and
 * nothing is changed.
 */
export class Counter {
  private constructor()
  /** What it is made with. */
  readonly path: string
  /** The value, no older than this call. */
  get(options?: SignalOptions): Promise<bigint>
  /** Adds n, which may be negative, and resolves with the new value. Rejects with `INVALID` where that is out of range. */
  add(n: bigint | number, options?: SignalOptions): Promise<bigint>
  /** Sets the value, whatever it was. Rejects with `INVALID` where that is out of range. */
  set(value: bigint | number, options?: SignalOptions): Promise<void>
  /** Sets it to `value` if it is `old`, in one step, and resolves with whether it was. */
  compareAndSet(old: bigint | number, value: bigint | number, options?: SignalOptions): Promise<boolean>
  /** The value now and whenever it has changed, always the latest; 0 where nobody has counted. */
  watch(options?: SignalOptions): Feed<bigint>
}
