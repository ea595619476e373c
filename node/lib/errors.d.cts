/** The names of the error table, and Node's own for a wait that `cancel()` ended. */
export type ErrorCode =
  // --- generated from api: codes of errors
  | 'TIMEOUT'
  | 'CANCELLED'
  | 'CONNECTION_LOST'
  | 'LOST'
  | 'NOT_HELD'
  | 'DENIED'
  | 'INVALID'
  | 'TOO_LARGE'
  | 'EXISTS'
  | 'NO_NODE'
  | 'BAD_VERSION'
  | 'NOT_EMPTY'
  | 'MISMATCH'
  | 'CLOSED'
  | 'DEADLOCK'
  | 'FORKED'
  | 'INTERNAL'
  // --- end of generated
  | 'ABORT_ERR'

/** Why something that was held is gone. */
export type LostReason = 'session' | 'revoked' | 'deleted' | 'closed'

/** Every error of the library: what happened and what to do is in `message`. */
export class ZkRecipesError extends Error {
  protected constructor()
  readonly code: ErrorCode
  /** Whether the same call may succeed when it is made again. */
  readonly retryable: boolean
  /** The path concerned, when there is one. */
  readonly path?: string
  /** Why it is gone, for `LOST`. */
  readonly reason?: LostReason
  /**
   * How many items went in before this happened, from the first on, where `queue.putMany` put several. After `CLOSED` and
   * `CONNECTION_LOST` it may be more.
   */
  readonly put?: number
}

/** A wait that `cancel()` ended: name `AbortError`, code `ABORT_ERR`. (An aborted signal rejects with its own reason.) */
export class AbortError extends ZkRecipesError {
  readonly code: 'ABORT_ERR'
}
