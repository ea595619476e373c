import { Feed } from './feed.cjs'
import { Contender, Handle } from './handle.cjs'
import { Held, ReleaseOptions } from './held.cjs'
import { Data, SignalOptions, WaitOptions } from './abort_signals.cjs'

// --- generated from api: options of Election
export interface ElectionOptions {
  /**
   * Whose election it takes part in: Curator's `LeaderLatch` (`latch`) or `LeaderSelector` (`selector`). kazoo has one layout of
   * its own, which `naming` chooses. Unless told: `latch`.
   */
  layout?: 'latch' | 'selector' | undefined
}
// --- end of generated

/** Who leads an election. */
export interface Leader {
  /** Who it says it is, `host:pid` unless told. */
  identity: string
  /** What it says: as a candidate, or, once it has begun its work, when it said so. */
  data: Buffer
  /** Rises from one leader to the next. */
  epoch: bigint
  /** Whether it has begun its work: `leadership.acknowledge`. */
  acknowledged: boolean
}

/**
 * One term of a leader. Releasing it is resigning. In `election.run` its `signal` aborts whatever ends the term: not only when it
 * is lost, also when the run is stopped, or when somebody resigns, unless that is the work itself.
 */
export class Leadership extends Held {
  private constructor()
  /** Rises strictly from one leader to the next: the `fencingToken`. */
  readonly epoch: bigint
  /**
   * Aborts only when the leadership is lost, with the `LOST` error as the reason: what must not go on then, while a run that is
   * stopped still finishes what it has begun.
   */
  readonly lostSignal: AbortSignal
  // --- generated from api: types of Leadership
  /**
   * Tells everybody that this leader has begun its work. The server refuses it once somebody else leads: `NOT_HELD`. Doing it
   * again replaces the data.
   */
  acknowledge(data?: Data, options?: SignalOptions): Promise<void>
  // --- end of generated
}

/**
 * One candidate among those of whom one leads.
 *
 * ```js
 * const election = client.election('/leader', '10.0.0.7:80')
 * await election.run(async (leadership) => {
 *   await leadership.acknowledge()
 *   await serve({ epoch: leadership.epoch, signal: leadership.signal })
 * }, { signal: shutdown })
 *
 * for await (const leader of election.observe({ signal })) show(leader?.identity ?? 'nobody')
 * ```
 *
 * What this handle acquires is the leadership: `acquire` is `campaign`, `release` is `resign`, `isHeld` is `isLeader`.
 */
export class Election extends Handle {
  private constructor()
  readonly path: string
  /** Queues and waits until this candidate leads. */
  campaign(options?: WaitOptions): Promise<Leadership>
  acquire(options?: WaitOptions): Promise<Leadership>
  tryAcquire(options?: SignalOptions): Promise<Leadership | null>
  /**
   * Campaigns, lets `work` work for as long as this candidate leads, resigns, and campaigns again.
   *
   * The work is told by `leadership.signal` that its term is over, and waited for before anything else happens: it should end
   * then. An error of it is a process warning, and the next campaign begins after a pause. Aborting the signal stops the run, which
   * then rejects with `signal.reason`; `cancel()` stops it, too, and then it resolves. It rejects with what trying again cannot
   * help, such as `CLOSED`.
   */
  run(work: (leadership: Leadership) => unknown, options?: SignalOptions): Promise<void>
  /** The next candidate leads; a `run` in progress campaigns again, behind all others. `NOT_HELD` without leading. */
  resign(options?: ReleaseOptions): Promise<void>
  /** Whether this candidate certainly leads. */
  readonly isLeader: boolean
  // --- generated from api: types of Election
  /** Who leads now, whether or not we stand; null while nobody does. */
  leader(options?: SignalOptions): Promise<Leader | null>
  /** All who stand, in the order in which they will lead. */
  candidates(options?: SignalOptions): Promise<Contender[]>
  /** Who leads, now and whenever that changes; null while nobody does. Epochs never fall. */
  observe(options?: SignalOptions): Feed<Leader | null>
  // --- end of generated
}
