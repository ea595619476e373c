/** Durations, by how long they were, in milliseconds. */
export interface Histogram {
  /** How many there are. */
  readonly count: number
  /** How long they were together. */
  readonly sum: number
  /** How many were no longer than each bound; `count` has those that were longer, too. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[]
}

/** What a client has done and seen since it connected, and how it stands. Times are in milliseconds. */
export interface Metrics {
  /** Sessions that were opened: one, and one more for each that was lost. */
  readonly sessions: number
  /** How often the session ended, or could no longer be assumed to live. */
  readonly sessionsLost: number
  /** How often the connection broke. */
  readonly suspensions: number
  /** How often a server was found again in time, so that the session went on. */
  readonly reconnections: number
  /** Requests, by kind. */
  readonly requests: Readonly<
    Record<'create' | 'delete' | 'set' | 'multi' | 'get' | 'exists' | 'children' | 'sync' | 'other', number>
  >
  /** How many of the requests were heartbeats of the lease. */
  readonly heartbeats: number
  /** How often an answer was missing, and its request was made again. */
  readonly retries: number
  /** Bytes of the requests. */
  readonly bytesSent: number
  /** Bytes of the answers. */
  readonly bytesReceived: number
  /** What was acquired: locks, permits, leaderships, items of queues; nested acquisitions do not count. */
  readonly acquisitions: number
  /** Acquires that ran out of time, those that had none included. */
  readonly timeouts: number
  /** Acquires that their caller withdrew. */
  readonly cancellations: number
  /** Acquires that ended with another error. */
  readonly failures: number
  /** Acquisitions that came when the one ahead in the line let go. */
  readonly handOffs: number
  /** Acquisitions to which a turn was passed on by local hand-off, between waiters of one client. */
  readonly localHandOffs: number
  /** How long each acquisition was waited for; items of queues aside, whose coming is no wait for others. */
  readonly waits: Histogram
  /** How long each acquisition was held, until it was let go or lost; items of queues aside, which `work` is about. */
  readonly holds: Histogram
  /** Acquires under way. */
  readonly waiting: number
  /** What is held now. */
  readonly holding: number
  /** What was held and lost, by reason. */
  readonly losses: Readonly<Record<'session' | 'revoked' | 'deleted' | 'closed', number>>
  /** How often somebody asked for what was held. */
  readonly revocations: number
  /** Nodes of others that were deleted by force. */
  readonly forced: number
  /** How many stood ahead in the line that an acquire has looked at last. */
  readonly queueDepth: number
  /** The most that were ever ahead. */
  readonly queueDepthMax: number
  /** The least that was left of the lease when it was extended, while something was held. */
  readonly leaseMarginMin: number | undefined
  /** How long the servers keep the session when they do not hear from this client, as they granted it. */
  readonly sessionTimeout: number
  /** Callbacks that took longer than a second. */
  readonly slowCallbacks: number
  /** Items that were put into queues. */
  readonly puts: number
  /** Items that were taken out of queues for good, by a `get`. */
  readonly gets: number
  /** Items that were claimed; they are among the acquisitions, too. */
  readonly claims: number
  /** Items that were acknowledged. */
  readonly acks: number
  /** Items that were given back because the work on them failed, those that went to the dead letters included. */
  readonly nacks: number
  /** Items that this client moved to the dead letters. */
  readonly deadLetters: number
  /** How long each claimed item was worked on, until it was settled or lost. */
  readonly work: Histogram
  /** Partitions that are held now. */
  readonly partitions: number
  /** Partitions that were won. */
  readonly partitionsWon: number
  /** Partitions that were asked for, because they are another member's from now on or this one leaves. */
  readonly partitionsMoved: number
  /** All of it as the text that Prometheus reads; times are in seconds there. */
  readonly prometheus: string
}
