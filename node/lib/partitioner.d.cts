import { Feed } from './feed.cjs'
import { Held } from './held.cjs'
import { SignalOptions, WaitOptions } from './abort_signals.cjs'

// --- generated from api: options of Partitioner
export interface PartitionerOptions {
  /** How much of the partitions this member is to have, beside the weights of the others. Unless told: 1. */
  weight?: number | undefined
  /** What the member is called. A process that is started again under the same name gets what it had, and nothing moves. */
  name?: string | undefined
  /**
   * How long a partition that is to move may still be worked on. Then it is taken away: it is lost. In milliseconds. Unless
   * told: 30,000.
   */
  drain?: number | undefined
}
// --- end of generated

/**
 * Partitions shared among the members who are there. Each is a turn of its own: two members never have one at the same time, and its
 * tokens rise.
 *
 * ```js
 * const imports = client.partitioner('/partitions/imports', ['eu', 'us'], { name: 'worker-1' })
 * await imports.run(async (partition) => {
 *   while (!partition.revokeSignal.aborted) await publish({ fencingToken: partition.fencingToken, signal: partition.signal })
 * }, { signal })
 * ```
 */
export class Partitioner {
  private constructor()
  // --- generated from api: types of Partitioner
  /** What it is made with. */
  readonly path: string
  /** By which name others see this member. */
  readonly name: string
  /**
   * Takes part no more: what it has is asked for, and taken from it after the time for draining. Resolves when all is let go of;
   * `NOT_HELD` if it is no member.
   */
  leave(options?: SignalOptions): Promise<void>
  /** Who has which partition now, no older than this call: the identity of its owner, null where nobody has it. */
  owners(options?: SignalOptions): Promise<Record<string, string | null>>
  /**
   * Who has which partition, now and whenever one has another owner: always the latest, as `owners()` does. A change costs one
   * or two requests, however many partitions there are.
   */
  watch(options?: SignalOptions): Feed<Record<string, string | null>>
  /** Who shares the partitions now, no older than this call: by name, with their weights. */
  members(options?: SignalOptions): Promise<Record<string, number>>
  // --- end of generated
  /**
   * Waits for the next partition that this member wins, a `Held` with the partition's `name`; the first call makes it a member.
   * It is the caller's until it is released or lost. Its `revokeSignal` tells that it is to move: finish, then release; after the
   * time for draining it is lost. What was released unasked comes again, after a pause. `MISMATCH`: the others share other
   * partitions. `CANCELLED`: this member leaves meanwhile.
   */
  next(options?: WaitOptions): Promise<Held>
  /**
   * Ends the waits in progress on this handle, never later ones; and the loops over it, also while the body of one runs, and
   * `run`, which then leaves.
   */
  cancel(): void
  /** One partition after the other, as they are won, until it leaves. */
  [Symbol.asyncIterator](): AsyncIterator<Held>
  /**
   * Works on all partitions that it wins at the same time, until it leaves; an aborted `signal` makes it leave. What ends lets go of
   * its partition; as long as that is this member's, it is begun again, after a pause. An error of the work is logged.
   */
  run(work: (partition: Held) => unknown, options?: SignalOptions): Promise<void>
}
