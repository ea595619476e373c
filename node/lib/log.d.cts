/** How much it matters; as a limit, each includes those before it. */
export type LogLevel = 'off' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** One thing that the library says of itself. */
export interface LogRecord {
  /** When, in milliseconds since 1970. */
  readonly time: number
  readonly level: LogLevel
  /** What happened, in a word of the table in docs/observability.md. */
  readonly event: string
  /** The same in a sentence. */
  readonly message: string
  /** The details by name, such as `session` or `waited_ms`. */
  readonly fields: Readonly<Record<string, number | boolean | string>>
}

/**
 * Calls back with what the library says of itself, up to a level (`info` unless another is given): about connections,
 * sessions, leases, waits and losses of all clients of this process. The channel `zkrecipes:log` of
 * `node:diagnostics_channel` has the same records. Where nobody listens, warnings and errors are warnings of the process.
 * Returns a function that unsubscribes.
 */
export function onLog(callback: (record: LogRecord) => void, options?: { level?: LogLevel }): () => void
