import { WaitProgress } from './handle.cjs'
import { Item } from './item.cjs'
import { Data, SignalOptions, WaitOptions } from './abort_signals.cjs'

// --- generated from api: options of Queue
export interface QueueOptions {
  /**
   * How many items there may be; without it there is no bound. All who put have to give the same number; a full queue makes them
   * wait.
   */
  maxItems?: number | undefined
  /** Whether an item goes when the session of the client that put it ends. */
  ephemeral?: boolean | undefined
  /** Over how many nodes the items are spread. More than one is faster, and keeps the order only within each. Unless told: 1. */
  shards?: number | undefined
  /** How often an item is claimed before it goes to the dead letters, 16 times unless told; 0 for no end. */
  maxAttempts?: number | undefined
  /**
   * Whose queue it takes part in: Curator's `SimpleDistributedQueue` and ZooKeeper's own, or kazoo's `Queue` where `naming` is
   * kazoo's (`simple`); Curator's `DistributedQueue` (`distributed`); kazoo's `LockingQueue` (`locking`). Priority and delay
   * queues have one layout with each naming. Unless told: `simple`.
   */
  layout?: 'simple' | 'distributed' | 'locking' | undefined
  /**
   * For how long the key of a put counts, by the servers' clock: the same key within that time puts once. All who put with keys
   * should give the same. In milliseconds. Unless told: 600,000.
   */
  keyWindow?: number | undefined
}
// --- end of generated

export interface PutOptions extends WaitOptions {
  /**
   * What names this put, such as the id of a request, in at most 1,000 bytes. The same key within the `keyWindow` puts once, whoever
   * puts with it; all others resolve as the first, also if the item was taken since. What is on its way with a key is not taken back:
   * after `CONNECTION_LOST`, or when it was withdrawn, put it again with the same key.
   */
  key?: string | undefined
}

export interface ProcessOptions extends SignalOptions {
  /** How many items are worked on at once, 1 unless told and 10,000 at most. */
  concurrency?: number | undefined
}

/**
 * Items that wait to be taken: what all queues have, and what the dead letters of one are.
 *
 * ```js
 * for await (const item of queue) {
 *   await send(item.data)
 *   await item.ack()
 * }
 * ```
 *
 * Such a loop claims one item after the other. One that was not settled is given back as by `nack` when the loop goes on, breaks or throws.
 * It ends when the queue is cancelled or the client is closed.
 */
export class Backlog<Entry = Buffer> {
  protected constructor()
  // --- generated from api: types of Backlog
  /** What it is made with. */
  readonly path: string
  /**
   * Calls back while a verb of this queue waits, for an item or for room: after a second, and then ever less often, up to once a
   * minute. Returns a function that unsubscribes.
   *
   * ```js
   * queue.onWait(({ waited }) => console.log(`nothing to do since ${waited} ms`))
   * ```
   */
  onWait(callback: (progress: WaitProgress) => unknown): () => void
  /** The data of the next item that could be taken, which stays; null if there is none. */
  peek(options?: SignalOptions): Promise<Buffer | null>
  /** How many items there are, claimed ones included. */
  len(options?: SignalOptions): Promise<number>
  /**
   * How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted by the lists of items
   * and claims.
   */
  stats(options?: SignalOptions): Promise<QueueStats>
  /** The data of all items in order, claimed ones included. What cannot be read is left out, and the log names it. */
  items(options?: SignalOptions): Promise<Entry[]>
  /**
   * Deletes the dead letters that have been there for `olderThan` milliseconds, 0 for all; resolves with how many:
   * `queue.dead.purge(7 * 24 * 3600_000)`. Nothing else of the queue goes.
   */
  purge(olderThan: number, options?: SignalOptions): Promise<number>
  // --- end of generated
  /**
   * Puts the dead letters back into their queue, each in one transaction, or the one with that `id`; resolves with how many:
   * `queue.dead.replay()`.
   */
  replay(id?: string, options?: SignalOptions): Promise<number>
  replay(options?: SignalOptions): Promise<number>
  /**
   * Takes the next item, and waits for one: at most once, for it is removed before it is here. Who crashes then takes it along;
   * `claim` is for items that must not be lost. Of a call that is withdrawn the item goes back to its old place.
   */
  get(options?: WaitOptions): Promise<Buffer>
  /** One attempt: null when there is no item that nobody has claimed. */
  tryGet(options?: SignalOptions): Promise<Buffer | null>
  /**
   * Claims the next item, and waits for one: at least once. Nobody else has it until it is acknowledged, given back, or our
   * session ends; then the next one gets it.
   */
  claim(options?: WaitOptions): Promise<Item>
  /** One attempt: null when there is no item that nobody has claimed. */
  tryClaim(options?: SignalOptions): Promise<Item | null>
  /**
   * Claims up to `n` at once: waits for the first, and takes the next ones along that are there already. Each is an item of its own.
   *
   * ```js
   * const items = await queue.claimMany(100)
   * await Promise.all(items.map((item) => send(item.data)))
   * await queue.ackMany(items)
   * ```
   */
  claimMany(n: number, options?: WaitOptions): Promise<Item[]>
  /**
   * Acknowledges several at once, each as by its `ack`: the requests leave together, and one that fails holds up no other. It rejects with
   * the error of the first of them that failed.
   */
  ackMany(items: readonly Item[], options?: SignalOptions): Promise<void>
  /** The items that were claimed `maxAttempts` times in vain, or that nobody can read. */
  readonly dead: DeadLetters
  /** Wakes the waits in progress on this handle with an `AbortError`, and ends its loops and its `process`; never later ones. */
  cancel(): void
  [Symbol.asyncIterator](): AsyncIterableIterator<Item>
  /**
   * Works on items as they come, several at once with `concurrency`. An item is done when the work has succeeded, unless the
   * work has settled it, and given back as by `nack` when it fails, with the error as the reason; the log
   * has the event `item_failed` then, with `queue`, `item`, `attempt` and `error`, and that of a loss is `lost`. What is lost is not given back.
   *
   * ```js
   * await queue.process(async (item) => send(item.data), { concurrency: 8, signal: shutdown })
   * ```
   *
   * Aborting the signal ends it when the work in progress is over; it rejects with `signal.reason` then. `cancel()` ends it, too,
   * and then it resolves. Work that ends with `signal.reason` or with an `AbortError` from then on has not failed: its item is
   * given back as by `release`. It rejects with what trying again cannot help, such as `CLOSED`.
   */
  process(work: (item: Item) => unknown, options?: ProcessOptions): Promise<void>
}

/** How many items a queue has. */
export interface QueueStats {
  /** Those that can be taken now, or have failed for the last time and go to the dead letters next. */
  readonly ready: number
  /** Those that were given back and step aside, or that are not due yet. */
  readonly delayed: number
  /** Those that somebody works on. */
  readonly claimed: number
  /** The dead letters. */
  readonly dead: number
}

/** An item that is over. */
export interface DeadLetter {
  /** The name of its node among the dead letters. */
  readonly id: string
  /** What was put; of a letter with a `problem` what stands in its node. */
  readonly data: Buffer
  /** What was said with the last `nack`, the error of the work of `process`, or what the library knows of it; or null. */
  readonly reason: string | null
  /** How often it was claimed; 0 if that is not known. */
  readonly attempts: number
  /** When it came to the dead letters, by the clock of the server. */
  readonly diedAt: Date
  /** Why it cannot be read, if so. It stands in nobody's way, and nobody takes it. */
  readonly problem: string | null
}

/**
 * The dead letters of a queue: items that were claimed `maxAttempts` times in vain, or that nobody can read. `get`, `claim` and loops take
 * them, as they take the items of a queue.
 *
 * ```js
 * for (const { data, reason, attempts } of await queue.dead.items()) console.log(String(data), reason, attempts)
 * ```
 */
export class DeadLetters extends Backlog<DeadLetter> {
  private constructor()
  /** All in order, with what is known of their end. One that cannot be read hides no other: its `problem` says why. */
  items(options?: SignalOptions): Promise<DeadLetter[]>
}

/**
 * Items in the order in which they were put.
 *
 * ```js
 * const queue = client.queue('/queues/mail', { maxAttempts: 5 })
 * await queue.put('hello')
 * ```
 *
 * A put is applied exactly once, also when its answer gets lost.
 */
export class Queue extends Backlog {
  private constructor()
  /**
   * Puts an item; waits while the queue is full. `TIMEOUT`: it is not in, and will not be; if it is on its way when the time is
   * over, half a second more is waited for the answer. `CONNECTION_LOST`: nobody can know whether it went in. Of a call that is
   * withdrawn the item is taken back, unless somebody has it by then. With a `key` it is put once, whoever puts with that key.
   */
  put(data: Data, options?: PutOptions): Promise<void>
  /** Puts several in as few transactions as carry them. `error.put` says how many went in. */
  putMany(items: readonly Data[], options?: WaitOptions): Promise<void>
}

/** Items of which the lowest priority comes first, and among equals the one that was put first. */
export class PriorityQueue extends Backlog {
  private constructor()
  /** Priorities are signed integers of 32 bits. */
  put(data: Data, priority: number, options?: PutOptions): Promise<void>
}

/** Items that are taken when they are due, the first due first, by the clocks of those who put and take. */
export class DelayQueue extends Backlog {
  private constructor()
  /** Nobody gets it before `delay` milliseconds have passed. */
  put(data: Data, delay: number, options?: PutOptions): Promise<void>
}
