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
  /**
   * How much it is to lead: of all who stand the one with the highest priority. A leader with a lower one is asked to hand over.
   * Peers that know of no priorities stand in the order in which they came, as those of one priority do. Unless told: 0.
   */
  priority?: number | undefined
  /**
   * How long the work of a term of `run` may go on that somebody has asked for, such as a candidate with a higher priority. Then
   * the leadership is lost. In milliseconds. Unless told: 1,000.
   */
  drain?: number | undefined
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

export interface ElectionRunOptions extends SignalOptions {
  /**
   * Whether this candidate can do the work of a leader, or a promise of that: asked before it stands, and every half a second. While
   * it is not it does not stand; a leader that is not hands over. What it throws counts as false, and is a process warning.
   */
  healthy?: (() => unknown) | undefined
}

/**
 * One term of a leader. Releasing it is resigning. In `election.run` its `signal` aborts whatever ends the term: it is lost,
 * somebody asks for it, the run is stopped, or code outside of the work resigns.
 */
export class Leadership extends Held {
  private constructor()
  /** Rises strictly from one leader to the next: the `fencingToken`. */
  readonly epoch: bigint
  /** Aborts when the work of a run is to end, whatever the reason; outside of one when the leadership is lost. */
  readonly signal: AbortSignal
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
   * then. Where somebody else is to lead it may finish for as long as `drain`; then the leadership is lost. An error of it is a process warning, and the next campaign begins after a pause. Aborting the signal stops the run, which
   * then rejects with `signal.reason`; `cancel()` stops it, too, and then it resolves. It rejects with what trying again cannot
   * help, such as `CLOSED`.
   */
  run(work: (leadership: Leadership) => unknown, options?: ElectionRunOptions): Promise<void>
  /**
   * Hands the leadership over to a candidate: one of `candidates()`, its node, or an identity. Those who stand before it are asked to
   * move behind, then this one resigns. Answers whether the other one leads: false if there is no such candidate, or if others stand
   * before it that do not go within five seconds. Nothing has changed for the leader then, and who was asked may stand further back.
   * `NOT_HELD` without leading.
   */
  transfer(to: Contender | string, options?: SignalOptions): Promise<boolean>
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
