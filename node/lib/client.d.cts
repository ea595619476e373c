/// <reference types="node" />
/// <reference lib="esnext.disposable" />

import { DoubleBarrier, DoubleBarrierOptions } from './barrier.cjs'
import { CommitMode, TwoPhaseCommit, TwoPhaseCommitOptions } from './commit.cjs'
import { Lock, LockOptions, MultiLock, ReadWriteLock } from './lock.cjs'
import { Metrics } from './metrics.cjs'
import { Nodes } from './nodes.cjs'
import { Data, SignalOptions, WaitOptions } from './abort_signals.cjs'
// --- generated from api: types of recipes
import { Barrier } from './barrier.cjs'
import { Config } from './config.cjs'
import { Counter, CounterOptions } from './counter.cjs'
import { Discovery } from './discovery.cjs'
import { Election, ElectionOptions } from './election.cjs'
import { Group, GroupOptions } from './group.cjs'
import { Latch } from './latch.cjs'
import { Names } from './names.cjs'
import { Partitioner, PartitionerOptions } from './partitioner.cjs'
import { DelayQueue, PriorityQueue, Queue, QueueOptions } from './queue.cjs'
import { Semaphore } from './semaphore.cjs'
// --- end of generated

/** The version of the library. */
export function version(): string

export interface Auth {
  /** Such as `digest`. */
  scheme: string
  /** Such as `user:password`. */
  credential: Data
}

export interface AclEntry {
  /** `world`, `auth`, `digest`, `ip`, `x509` or `sasl`. */
  scheme: string
  /** The identity under that scheme, `anyone` for `world`. */
  id: string
  /** Letters of `rwcda`: read, write, create, delete, admin. */
  permissions: string
}

// --- generated from api: options of Client
export interface ConnectOptions {
  /**
   * How long the servers keep the session of a client that they do not hear from. After that, what it held is free for others.
   * The servers may grant more or less: `client.sessionTimeout` tells. In milliseconds. Unless told: 10,000.
   */
  sessionTimeout?: number | undefined
  /** How long connecting may take before `CONNECTION_LOST`. In milliseconds. Unless told: 10,000. */
  connectTimeout?: number | undefined
  /** Written into contender nodes so that people see who holds what; `host:pid` when not given. */
  identity?: string | undefined
  /** Credentials to present to the servers: a scheme such as `digest`, and a credential such as `user:password`. */
  auth?: Auth | readonly Auth[] | undefined
  /**
   * Whether `auth` and `sasl` may travel over plain text, where everybody on the way can read the one, and guess the password of
   * the other. Without it, they travel over TLS and to servers on this machine (`localhost`, 127.0.0.0/8, `::1`) only.
   */
  allowPlaintextAuth?: boolean | undefined
  /**
   * Whether to refuse (`DENIED`) a path that somebody else has made so that everybody may delete below it, where nodes of ours
   * are not everybody's. Without it there is a warning in the log, once per path.
   */
  refuseOpenParents?: boolean | undefined
  /**
   * Who may touch the nodes that we create: everybody (`open`), whoever presents the same credentials (`creator`), or a list of
   * scheme, id and letters of `rwcda`. By default `creator` if credentials are given, else `open`.
   */
  acl?: 'open' | 'creator' | readonly AclEntry[] | undefined
  /** TLS towards the servers. */
  tls?:
    | {
        /** The authorities to trust, and their revocation lists if there are any. It must be given. */
        ca?: string | undefined
        /** Our own certificate and what leads from it to an authority, for servers that ask who we are; together with `key`. */
        cert?: string | undefined
        /** The private key of `cert`, without a passphrase. */
        key?: string | undefined
        /** Whether the server's certificate must name the host of the connect string. Unless told: `true`. */
        verifyHostname?: boolean | undefined
        /**
         * Whether a revocation list in `ca` still counts when its time has passed (its `nextUpdate`). Without it, the
         * certificates that the list is about are refused then: nobody says which were revoked since.
         */
        allowExpiredCrls?: boolean | undefined
      }
    | undefined
  /** SASL towards the servers, with DIGEST-MD5. */
  sasl?:
    | {
        /** Who we are. */
        user: string
        /** How we prove it; it does not travel itself. */
        password: string
      }
    | undefined
  /**
   * Whose node names to use, so that others on the same path take part: Curator's (`curator`), kazoo's (`kazoo`), or those of
   * the recipes that ship with ZooKeeper (`zookeeper`). Unless told: `curator`.
   */
  naming?: 'curator' | 'kazoo' | 'zookeeper' | undefined
  /**
   * What the heartbeat of a holder proves. `strict`: that a majority of the servers still honours the session. `relaxed`: less,
   * for less work of the servers; for a few seconds around a partition two clients may both believe that they hold. Unless told:
   * `strict`.
   */
  lease?: 'strict' | 'relaxed' | undefined
  /** How calls try again when the connection breaks. */
  retry?:
    | {
        /** The first pause before a call tries again. In milliseconds. Unless told: 50. */
        base?: number | undefined
        /** The longest pause; pauses double up to it. In milliseconds. Unless told: 5,000. */
        max?: number | undefined
        /** How long a call goes without a server before `CONNECTION_LOST`; `connectTimeout` if it is not given. In milliseconds. */
        giveUpAfter?: number | undefined
      }
    | undefined
  /** Accept a server that has lost its majority and only reads. */
  readOnly?: boolean | undefined
  /**
   * The largest `tickTime` of every server that may lead; doubled for clients of an observer that follows a follower
   * (`observerMasterPort`). With a quarter of the session timeout or less, a pause of half of that costs nothing that is held;
   * without it, of three tenths. `zkrecipes doctor` says what to give. In milliseconds.
   */
  serverTick?: number | undefined
  /**
   * How many requests may be on their way at once. What comes on top waits for an answer, and can be withdrawn meanwhile;
   * heartbeats, pings and deletions do not wait. Unless told: 1,000.
   */
  maxInFlight?: number | undefined
  /** Aborting it ends the attempt to connect; once connected, it has no effect. */
  signal?: AbortSignal | undefined
}
// --- end of generated

export type State = 'connected' | 'suspended' | 'lost' | 'closed'

/**
 * One session with ZooKeeper, shared by any number of recipes.
 *
 * ```js
 * const client = await Client.connect('zk1:2181')
 * await client.lock('/locks/report').run(async (held) => {
 *   await publish({ fencingToken: held.fencingToken, signal: held.signal })
 * })
 * await client.close()
 * ```
 *
 * The process stays alive while something is held or waited for, unless `unref()` was called; an idle client does not keep it
 * alive. A process that ends, or a worker, ends the sessions that are still open, so that nobody waits for what they held;
 * one that is killed by a signal cannot.
 */
export class Client {
  private constructor()
  /**
   * Connects. `hosts` is a ZooKeeper connect string such as `h1:2181,h2:2181/app`, or `embedded:` for a server inside this
   * process; left out, it is the environment's `ZKRECIPES_HOSTS`. Running out of time is `CONNECTION_LOST`.
   */
  static connect(hosts?: string | null, options?: ConnectOptions): Promise<Client>
  /**
   * Replaces the list of servers, as when some are moved. A connection with a server of the new list stays; otherwise it goes on
   * with another one in the same session, as after a break. The chroot has to be the same. A list that cannot be used is
   * `INVALID`, and changes nothing. It waits for no server.
   */
  updateHosts(hosts: string): void
  /**
   * Ends the session: waiters get `CLOSED`, holders are released, background deletions are awaited. Keeps the process alive
   * until it is done. `TIMEOUT`: no server has confirmed the end of the session by then. The client is closed all the same, and
   * the servers end the session after its timeout.
   */
  close(options?: { timeout?: number | undefined }): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
  readonly state: State
  readonly sessionId: bigint
  /** Milliseconds, as negotiated with the server. */
  readonly sessionTimeout: number
  /** How many milliseconds the server certainly still honours this session; 0 while nothing is held. */
  readonly leaseRemaining: number
  /** What this client has done and seen since it connected, and how it stands: a snapshot, for which no server is asked. */
  readonly metrics: Metrics
  /**
   * The nodes that recipes of this client went on without since it connected, because they may not be read or what they say is
   * not understood, by path, and why. The last thousand at most; one that can be read again stays among them. Asks no server.
   */
  readonly skipped: Record<string, 'denied' | 'encoding' | 'children' | 'size'>
  version(): string
  /**
   * Keeps the process alive while this client holds something or one of its calls is under way, which is so until `unref()`.
   * As on a `net.Socket`, calling it again does nothing.
   */
  ref(): this
  /** Lets the process end although this client holds something or waits; what it held is released then. */
  unref(): this
  /** Calls back with every new state; returns what ends that. */
  onState(callback: (state: State) => unknown): () => void
  /** A handle on the lock at this path; nothing is sent yet. */
  lock(path: string, options?: LockOptions): Lock
  /** A handle on the read/write lock at this path; nothing is sent yet. */
  readWriteLock(path: string): ReadWriteLock
  /** Several locks of this client as one: all or none, acquired in the order of their paths whatever order they are given in. */
  multiLock(locks: readonly Lock[]): MultiLock
  // --- generated from api: types of factories
  /** Makes a handle of a barrier. Validates, but sends nothing: create() puts the barrier up. */
  barrier(path: string): Barrier
  /** Makes a handle of a config. Validates, but sends nothing. */
  config(path: string): Config
  /** Makes a handle of a counter. Validates, but sends nothing. */
  counter(path: string, options?: CounterOptions): Counter
  /** Makes a handle of a delay queue. Validates, but sends nothing. */
  delayQueue(path: string, options?: QueueOptions): DelayQueue
  /** Makes a handle of the services below a path. Validates, but sends nothing. */
  discovery(path: string): Discovery
  /** A candidate in the election at this path, who says `data` to whoever asks for the leader; nothing is sent yet. */
  election(path: string, data?: Data, options?: ElectionOptions): Election
  /** Makes a handle of a group. Validates, but sends nothing. */
  group(path: string, options?: GroupOptions): Group
  /**
   * Makes a handle of a latch that has to be counted down count times, at least 1. Who counts first decides: a latch that is
   * there keeps what is left of it. Validates, but sends nothing.
   */
  latch(path: string, count: number): Latch
  /** Makes a handle of the names below a path. Validates, but sends nothing. */
  names(path: string): Names
  /**
   * A member of those who share partitions at this path: names, or how many, which names them `'0'`, `'1'` and so on. All
   * members have to name the same. Nothing is sent yet.
   */
  partitioner(path: string, partitions: number | string[], options?: PartitionerOptions): Partitioner
  /** Makes a handle of a priority queue. Validates, but sends nothing. */
  priorityQueue(path: string, options?: QueueOptions): PriorityQueue
  /** Makes a handle of a queue. Validates, but sends nothing. */
  queue(path: string, options?: QueueOptions): Queue
  /** A handle on the semaphore at this path, of so many permits; nothing is sent yet. */
  semaphore(path: string, permits: number): Semaphore
  // --- end of generated
  /** A member of the double barrier at this path, of so many; its name is the client's `identity` unless told. Nothing is sent yet. */
  doubleBarrier(path: string, parties: number, name?: string | DoubleBarrierOptions): DoubleBarrier
  doubleBarrier(path: string, options: DoubleBarrierOptions & { parties: number }): DoubleBarrier
  /** A handle on the transactions at this path; those that it begins are of this mode, `coordinator` unless told. Nothing is sent yet. */
  twoPhaseCommit(path: string, mode?: CommitMode | TwoPhaseCommitOptions): TwoPhaseCommit
  // --- generated from api: types of Client
  /** Whether the acquisition that this `held.sequencer`, of anybody in any language, names still stands. */
  checkSequencer(sequencer: string, options?: SignalOptions): Promise<boolean>
  /** Resolves when the acquisition that this `held.sequencer` names no longer stands; `TIMEOUT` when it still does then. */
  watchSequencer(sequencer: string, options?: WaitOptions): Promise<void>
  /**
   * As whom the server knows this client, each as `scheme:id`, which is what an access list names: by the address it comes from,
   * by its credentials and by its certificate. Of digest credentials it is the user alone. `INVALID`: servers before 3.7 do not
   * tell.
   */
  whoami(options?: SignalOptions): Promise<string[]>
  // --- end of generated
  /** Plain node operations. */
  readonly nodes: Nodes
}
