import { Data, SignalOptions, WaitOptions } from './abort_signals.cjs'

/** Who decides a transaction before its deadline: the coordinator, or the site whose vote is the last. */
export type CommitMode = 'coordinator' | 'peer'

export type CommitOutcome = 'commit' | 'abort'

export interface TwoPhaseCommitOptions {
  /** Of the transactions that the handle begins; `coordinator` unless told. */
  mode?: CommitMode
}

export interface BeginOptions extends SignalOptions {
  /** How many milliseconds the sites have to vote. */
  timeout: number
}

/** A transaction by the names of what it is told. */
export interface Beginning extends BeginOptions {
  /** Who votes. */
  sites: readonly string[]
  /** What it is about. */
  payload: Data
}

/** How a transaction stands. */
export interface CommitStatus {
  id: string
  mode: CommitMode
  payload: Buffer
  /** Milliseconds since it began, by the server's clock. */
  age: number
  /** How many milliseconds the sites have to vote. */
  timeout: number
  /** Null while it is open. */
  outcome: CommitOutcome | null
  /** Why it was aborted. */
  reason: string
  /** Whether the one who began it is there; `done` when there is nothing left for it to do. */
  coordinator: 'present' | 'absent' | 'done'
  sites: SiteStatus[]
  /**
   * Why only its id is known: it may not be read with the identities of this client, or what it says is not understood. Empty if
   * it is known how it stands.
   */
  problem: string
}

export interface SiteStatus {
  site: string
  isPresent: boolean
  hasVoted: boolean
  hasAcknowledged: boolean
}

/**
 * Transactions that all sites commit or none. The decision is written once, and survives everybody's crash.
 *
 * ```js
 * // The coordinator:
 * const order = await client.twoPhaseCommit('/commits/orders').begin('order-17', ['stock', 'billing'], '3 chairs', 10_000)
 * if (await order.outcome() === 'abort') apologize()
 *
 * // A site:
 * const site = client.twoPhaseCommit('/commits/orders')
 * await site.join('stock')
 * const proposal = await site.next()
 * if (await canDo(proposal.payload)) await proposal.voteCommit()   // from here on it must be possible, also after a crash
 * else await proposal.voteAbort('sold out')
 * if (await proposal.outcome() === 'commit') await doIt(proposal.payload)
 * await proposal.acknowledge()
 * ```
 */
export class TwoPhaseCommit {
  private constructor()
  // --- generated from api: types of TwoPhaseCommit
  /** What it is made with. */
  readonly path: string
  /** The mode of the transactions that this handle begins. */
  readonly mode: CommitMode
  /** All transactions that have not been collected, the oldest first. */
  history(options?: SignalOptions): Promise<CommitStatus[]>
  /** How a transaction stands; null if there is none of that id. */
  show(id: string, options?: SignalOptions): Promise<CommitStatus | null>
  /** Decides the abort, unless something is decided already; resolves with what is. */
  decideAbort(id: string, reason: string, options?: SignalOptions): Promise<CommitOutcome>
  // --- end of generated
  /**
   * Begins a transaction: every site is asked, also one that is not there now. It is decided in the background, whether or not
   * somebody waits for the outcome, as long as the client is there: the commit when all have voted for it, the abort when
   * `timeout` milliseconds are over. `EXISTS`: there is one of that id. One that is withdrawn, or that may have begun when a
   * `CONNECTION_LOST` is told, is aborted in the background, unless all sites have voted before that arrives; `recover` of the same
   * handle waits for that, and resolves with it if it was committed.
   */
  begin(id: string, sites: readonly string[], payload: Data, timeout: number, options?: SignalOptions): Promise<CommitTransaction>
  begin(id: string, sites: readonly string[], payload: Data, options: BeginOptions): Promise<CommitTransaction>
  begin(id: string, transaction: Beginning): Promise<CommitTransaction>
  /**
   * Takes over the transactions whose coordinator is not there any more, the oldest first, and sees to it that they are decided:
   * at once if all have voted, the abort when the time is over, of which half at least is left from now on. Ask each for its
   * outcome.
   */
  recover(options?: SignalOptions): Promise<CommitTransaction[]>
  /**
   * Becomes a site, over all sessions, until it leaves or the client is closed. `EXISTS`: this handle is a site already, or another
   * one that is there is that site.
   */
  join(site: string, options?: SignalOptions): Promise<void>
  /** Is that site no longer; what it was asked stays. `NOT_HELD`: this handle has not joined. */
  leave(options?: SignalOptions): Promise<void>
  /** The next transaction on which this site has to vote; each is told once. */
  next(options?: WaitOptions): Promise<Proposal>
  /** Everything that this site has not acknowledged, the oldest first: what a site asks for after a restart. */
  pending(options?: SignalOptions): Promise<Proposal[]>
}

// --- generated from api: types of CommitTransaction
/** A transaction that was begun here, or taken over. */
export class CommitTransaction {
  private constructor()
  /** By which name it began. */
  readonly id: string
  /** Who votes. */
  readonly sites: string[]
  /** What it is about. */
  readonly payload: Buffer
  /**
   * Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of a commit, and as
   * long as the outcome is not known here: ask for that first. Empty, too, where no more is left of it than that it was aborted.
   */
  readonly reason: string
  /**
   * Waits for the decision; `TIMEOUT`: ask again. It is the true outcome, whoever decided it, also if others took the
   * transaction over and are done with it. `NO_NODE`: this client was cut off for more than a day, for so long it is kept.
   */
  outcome(options?: WaitOptions): Promise<CommitOutcome>
}
// --- end of generated

// --- generated from api: types of Proposal
/** A transaction on which this site votes. */
export class Proposal {
  private constructor()
  /** By which name it began. */
  readonly id: string
  /** Who votes. */
  readonly sites: string[]
  /** What it is about. */
  readonly payload: Buffer
  /**
   * Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of a commit, and as
   * long as the outcome is not known here: ask for that first. Empty, too, where no more is left of it than that it was aborted.
   */
  readonly reason: string
  /** Waits for the decision; `TIMEOUT`: ask again. `NOT_HELD`: this site has acknowledged it elsewhere, and it is over. */
  outcome(options?: WaitOptions): Promise<CommitOutcome>
  /** Whether this site had voted when it was told of it: before a restart. */
  readonly hasVoted: boolean
  /** Doing it again is fine, also after the abort: the outcome tells. `EXISTS`: this site has voted for the abort. */
  voteCommit(options?: SignalOptions): Promise<void>
  /** Decides the abort. `EXISTS`: this site has voted for the commit. */
  voteAbort(reason?: string, options?: SignalOptions): Promise<void>
  /** What was decided is done here, and is needed no more. `NOT_HELD`: it is not decided yet. */
  acknowledge(options?: SignalOptions): Promise<void>
}
// --- end of generated
