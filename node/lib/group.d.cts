import { Feed } from './feed.cjs'
import { Data, SignalOptions, WaitOptions } from './abort_signals.cjs'

// --- generated from api: options of Group
export interface GroupOptions {
  /**
   * Whose group it takes part in: Curator's `GroupMember` (`member`), kazoo's `Party` (`party`) or `ShallowParty`
   * (`shallow_party`). By default `party` where `naming` is kazoo's, else `member`.
   */
  layout?: 'member' | 'party' | 'shallow_party' | undefined
  /**
   * Whether `join` takes its name at once from a member that has it, such as the one that this process was before it crashed,
   * which would keep the name until its session timeout. Of two processes that are both there the one that joins last is the
   * member.
   */
  replace?: boolean | undefined
}
// --- end of generated

/** What happened in a group: all members at first, then one at a time. */
export type GroupEvent =
  | { type: 'snapshot'; members: Record<string, Buffer> }
  | { type: 'joined'; name: string; data: Buffer }
  | { type: 'left'; name: string }
  | { type: 'changed'; name: string; data: Buffer }

/**
 * Members that know each other by name.
 *
 * ```js
 * const workers = client.group('/workers')
 * await workers.join('worker-1', 'idle')
 * for await (const event of workers.watch({ signal })) {
 *   if (event.type === 'left') takeOver(event.name)
 * }
 * ```
 */
export class Group {
  private constructor()
  // --- generated from api: types of Group
  /** What it is made with. */
  readonly path: string
  /** Replaces what this member says of itself; without a membership, `NOT_HELD`. */
  update(data: Data, options?: SignalOptions): Promise<void>
  /** The members by name, and what they say of themselves. One that may not be read is left out: `client.skipped` names it. */
  members(options?: SignalOptions): Promise<Record<string, Buffer>>
  /**
   * Waits until there are at least `n` members, whoever they are, and resolves with them, through outages and into the next
   * session.
   */
  waitFor(n: number, options?: WaitOptions): Promise<Record<string, Buffer>>
  /**
   * All members at first, then who joins, who leaves and whose data changes. After a gap, what differs is told. One that may not
   * be read is left out: `client.skipped` names it.
   */
  watch(options?: SignalOptions): Feed<GroupEvent>
  // --- end of generated
  /**
   * Becomes a member, over all sessions of the client, until it leaves or the client is closed; whether or not anybody has this
   * handle in a variable. `EXISTS`: this handle has joined already, or another member has that name. A membership does not keep
   * the process alive.
   */
  join(name: string, data?: Data, options?: SignalOptions): Promise<void>
  /** Ends the membership; without one, `NOT_HELD`. `CONNECTION_LOST`: unconfirmed, and it goes on in the background. */
  leave(options?: SignalOptions): Promise<void>
}
