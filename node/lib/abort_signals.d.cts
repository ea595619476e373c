/**
 * A payload: bytes, or a string that is sent as UTF-8. Any view of a buffer, and a buffer itself, is the bytes that it has in
 * memory, whichever realm made it.
 */
export type Data = string | ArrayBufferView | ArrayBufferLike

/** Options of every verb that asks a server. */
export interface SignalOptions {
  /**
   * Aborting withdraws: the promise rejects with `signal.reason`. Of a write that was on its way, nobody knows whether it
   * arrived; with a signal that is aborted already nothing is sent.
   */
  signal?: AbortSignal | undefined
}

/** Options of every verb that waits. */
export interface WaitOptions {
  /** Milliseconds; left out or `Infinity`, for ever; 0, one attempt. Running out rejects with `TIMEOUT`. */
  timeout?: number | undefined
  /** Aborting withdraws: the promise rejects with `signal.reason`, and nothing is left behind. */
  signal?: AbortSignal | undefined
}
