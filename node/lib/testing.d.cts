/// <reference lib="esnext.disposable" />

export interface ServerOptions {
  /** A free one unless told. */
  port?: number | undefined
  /** The tick, in milliseconds: sessions expire at ticks. */
  tick?: number | undefined
  minSessionTimeout?: number | undefined
  maxSessionTimeout?: number | undefined
  /** The packet limit, in bytes. */
  dataLimit?: number | undefined
  /** The release to behave like, such as `3.8`; 3.9 unless told. */
  emulate?: string | undefined
}

/** One request, and how it was answered. */
export interface LogEntry {
  connection: number
  sessionId: bigint
  xid: number
  op: string
  /** As it was asked for; for a multi, that of its first operation. */
  path: string
  /** The operations of a multi. */
  parts: { op: string; path: string }[]
  zxid: bigint
  error: number
  bytesIn: number
  bytesOut: number
  /** Carried out and answered, carried out without an answer, or kept away by a fault. */
  outcome: 'answered' | 'unanswered' | 'lost'
}

/**
 * A ZooKeeper server inside this process, in memory: for tests of code that uses zkrecipes.
 *
 * ```js
 * const server = EmbeddedServer.start()
 * const client = await Client.connect(server.connectString)
 * server.expire(client.sessionId)
 * ```
 */
export class EmbeddedServer {
  private constructor()
  static start(options?: ServerOptions): EmbeddedServer
  readonly connectString: string
  readonly port: number
  /** Stops serving; the tree and the sessions are kept for `restart()`. */
  stop(): void
  restart(): void
  /** Ends it for good. */
  shutdown(): void
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
  /** Expires a session, such as `client.sessionId`; false when there is none of that id. */
  expire(sessionId: bigint): boolean
  dropConnections(): void
  /** Answers nothing until `resume()`. */
  pause(): void
  resume(): void
  /** Stops the server's clock, by which it expires sessions. */
  freezeClock(): void
  /** Moves the server's clock on, by milliseconds. */
  advanceClock(by: number): void
  thawClock(): void
  /** Sets the number that the next sequential child of the path gets; false when there is no such node. */
  setNextSequence(path: string, next: number): boolean
  /** Orders a fault, such as `drop_after create2 path=/locks/** nth=2`, and returns its number for `faultFired`. */
  inject(fault: string): number
  faultFired(fault: number): boolean
  clearFaults(): void
  /** The requests that were answered, in order. */
  log(): LogEntry[]
  clearLog(): void
  /** How many requests of this kind, such as `create2`, concerned a path of this pattern, such as `/locks/**`. */
  count(op: string, path?: string): number
  /** The ids of the sessions that live. */
  sessions(): bigint[]
  connections(): number
  watchCount(): number
  /** The paths of all nodes. */
  paths(): string[]
}
