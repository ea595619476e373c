import { Held, ReleaseOptions } from './held.cjs'
import { Transaction } from './nodes.cjs'
import { SignalOptions } from './waits.cjs'

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
 * Leaving such a scope gives back what was not settled.
 */
export class Item extends Held {
  private constructor()
  /** What was put. */
  readonly data: Buffer
  /** How often it was claimed, this time included. */
  readonly attempts: number
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
   * Gives it back to its old place, where the next one gets it; after the last of `maxAttempts` it goes to the dead letters.
   * `release` is the same.
   */
  nack(options?: ReleaseOptions): Promise<void>
}
