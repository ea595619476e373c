import { Held } from './held.cjs'
import { Transaction } from './nodes.cjs'
import { SignalOptions } from './abort_signals.cjs'

export interface NackOptions {
  /**
   * For how many milliseconds it steps aside, 0 for not at all; unless told for a second after the first attempt and twice as
   * long after each further one, up to five minutes.
   */
  delay?: number | undefined
  /** Why the work has failed: it is kept with the dead letter if this was the last attempt. */
  reason?: string | undefined
  /** Whether to wait until the server has confirmed it, which is so unless told. */
  wait?: boolean | undefined
}

/**
 * An item that we work on: nobody else has it as long as it `isHeld`. When nobody refers to it any more it is given back in the
 * background.
 *
 * ```js
 * await using item = await queue.claim()
 * await send(item.data)
 * await item.ack()
 * ```
 *
 * Leaving such a scope gives back what was not settled, as `nack` does. `release` gives it back as if nobody had failed.
 */
export class Item extends Held {
  private constructor()
  // --- generated from api: types of Item
  /** What was put. */
  readonly data: Buffer
  /** How often it was claimed, this time included. */
  readonly attempts: number
  // --- end of generated
  /** It is done, and leaves the queue. `NOT_HELD` if our claim is gone: then it is somebody else's. */
  ack(options?: SignalOptions): Promise<void>
  /**
   * The same, together with writes, all in one transaction: what the work has brought about is there exactly if the item is
   * done. Writes that are refused leave the item claimed; the transaction is used up either way.
   *
   * ```js
   * await item.ackWith(item.guarded().create('/bill', item.data))
   * ```
   */
  ackWith(writes: Transaction, options?: SignalOptions): Promise<void>
  /**
   * The work has failed: gives it back, and lets it step aside for the others. Then it is at its old place again; after the last
   * of `maxAttempts` it goes to the dead letters.
   *
   * ```js
   * await item.nack({ delay: 60_000, reason: 'the mail server is down' })
   * ```
   */
  nack(options?: NackOptions): Promise<void>
}
