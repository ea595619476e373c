/**
 * What goes on changing, such as `config.watch()`, as an async iterator.
 *
 * ```js
 * for await (const value of config.watch({ signal })) apply(value)
 * ```
 *
 * The first item is the present state, and the next one comes when it has changed; who reads slowly gets the latest state and
 * not every state, because nothing is asked of the server meanwhile. It goes on over reconnections and new sessions. It ends when
 * the signal aborts, after `break` or `return()`, and when the client is closed; and it rejects once when it cannot go on, such
 * as with `DENIED`. Only a `next()` that waits keeps the process alive.
 */
export class Feed<T> implements AsyncIterableIterator<T> {
  private constructor()
  /** The next item; several at once are answered one after the other. */
  next(): Promise<IteratorResult<T, undefined>>
  /** Ends it: no further items come, and a `next()` that waits is told so. */
  return(): Promise<IteratorReturnResult<undefined>>
  [Symbol.asyncIterator](): this
  [Symbol.asyncDispose](): Promise<void>
}
