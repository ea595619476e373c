/// <reference lib="esnext.disposable" />

import { Client, ConnectOptions } from './client.cjs'

export interface ServerOptions {
  /** A free one unless told. */
  port?: number | undefined
  /** The tick, in milliseconds: sessions expire at ticks. */
  tick?: number | undefined
  minSessionTimeout?: number | undefined
  maxSessionTimeout?: number | undefined
  /** The packet limit, in bytes. */
  dataLimit?: number | undefined
  /** The release to behave like, such as `3.8`, or another server that speaks the protocol: `clickhouse-keeper`, `raftkeeper`; 3.9 unless told. */
  emulate?: string | undefined
  /** Whether it takes nodes with a time to live, as a real one does with `zookeeper.extendedTypesEnabled=true`; not unless told. */
  extendedTypes?: boolean | undefined
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

/** What is done to servers and proxies alike: connections, faults and the request log. */
declare abstract class Control {
  protected constructor()
  readonly connectString: string
  readonly port: number
  /** Ends it for good. */
  shutdown(): void
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
  /** Breaks all connections, a proxy's on both sides; the sessions live on. */
  dropConnections(): void
  /** Answers nothing and passes nothing on until `resume()`. */
  pause(): void
  resume(): void
  /** Orders a fault, such as `drop_after create2 path=/locks/** nth=2`, and returns its number for `faultFired`. */
  inject(fault: string): number
  faultFired(fault: number): boolean
  clearFaults(): void
  /** The requests so far, in order; a proxy has them in the order of their answers. */
  log(): LogEntry[]
  clearLog(): void
  /** How many requests of this kind, such as `create2`, concerned a path of this pattern, such as `/locks/**`. */
  count(op: string, path?: string): number
  /** The ids of the sessions that live, as far as a proxy has seen them. */
  sessions(): bigint[]
  connections(): number
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
export class EmbeddedServer extends Control {
  protected constructor()
  static start(options?: ServerOptions): EmbeddedServer
  /** Stops serving; the tree and the sessions are kept for `restart()`. */
  stop(): void
  restart(): void
  /** Expires a session, such as `client.sessionId`; false when there is none of that id. */
  expire(sessionId: bigint): boolean
  /** Stops the server's clock, by which it expires sessions. */
  freezeClock(): void
  /** Moves the server's clock on, by milliseconds. */
  advanceClock(by: number): void
  thawClock(): void
  /** Sets the number that the next sequential child of the path gets; false when there is no such node. */
  setNextSequence(path: string, next: number): boolean
  watchCount(): number
  /** The paths of all nodes. */
  nodes(): string[]
}

export interface EnsembleOptions extends ServerOptions {
  /** How many servers; 3 unless told. */
  members?: number | undefined
}

/**
 * Several servers as one ensemble, with followers that lag and can be cut off, as real ones do. Member 0 leads. What a
 * follower's clients read may be old, until they ask for a `sync`.
 *
 * What an `EmbeddedServer` can do is done to all members at once; `connectString` names them all.
 *
 * ```js
 * const ensemble = Ensemble.start({ members: 3 })
 * const client = await Client.connect(ensemble.member(2))
 * ensemble.isolate(2)
 * ```
 */
export class Ensemble extends EmbeddedServer {
  private constructor()
  static start(options?: EnsembleOptions): Ensemble
  /** What clients of one member connect to. */
  member(member: number): string
  /** How many milliseconds late a follower learns of transactions, and of answers; false when there is no such follower. */
  lag(follower: number, by: number): boolean
  /** Keeps everything from a follower until `release()`: no answers to writes, old ones to reads. */
  hold(follower: number): boolean
  /** Lets a follower catch up. */
  release(follower: number): boolean
  /**
   * Cuts a follower off from the leader until `heal()`. It goes on answering reads and pings, but vouches for nobody, and
   * after five ticks it sends its clients away. False when there is no such follower, or the leader would be left without a
   * majority.
   */
  isolate(follower: number): boolean
  /** Connects a follower again; false when it was not cut off. */
  heal(follower: number): boolean
  /** How many transactions a member is behind the leader. */
  behind(member: number): number
}

/**
 * Stands in front of a real server, passes everything through, and has the same faults and the same log as an
 * `EmbeddedServer`.
 *
 * ```js
 * const proxy = Proxy.start('127.0.0.1:2181')
 * const client = await Client.connect(proxy.connectString)
 * proxy.inject('drop_after create* path=/locks/**')
 * ```
 */
export class Proxy extends Control {
  private constructor()
  /** Starts a proxy on a free port in front of one server, named as `host:port`. */
  static start(upstream: string): Proxy
  /**
   * Ends a session for real, at the server: its ephemeral nodes go. False when none of that id went by.
   *
   * Call `pause()` before and `resume()` after: a real server keeps only the latest connection of a session, and a client that
   * comes back at once takes it away (`CONNECTION_LOST`).
   */
  expire(sessionId: bigint): Promise<boolean>
}

/** A hook of a test runner. */
type Hook = (run: () => Promise<void> | void) => unknown

/** What has the hooks of a test runner: `vitest`, `@jest/globals` or `node:test` as a module, or `globalThis` where they are global. */
export type TestRunner = { beforeEach: Hook; afterEach: Hook } & (
  | { beforeAll: Hook; afterAll: Hook }
  | { before: Hook; after: Hook }
)

export interface EmbeddedZookeeperOptions {
  /** How the server behaves. */
  server?: ServerOptions | undefined
  /** How the clients connect. */
  client?: ConnectOptions | undefined
}

/** A server for the tests of one file, and for each of them a chroot of its own with a client. Made by `embeddedZookeeper()`. */
export class EmbeddedZookeeper {
  private constructor()
  /** The server, from the first test of the file to the last one. What a test has injected, paused or stopped is over after it. */
  readonly server: EmbeddedServer
  /** A client in the chroot of this test, which is closed after it. */
  readonly client: Client
  /** Where the chroot of this test is. */
  readonly connectString: string
  /** Another client in that chroot, as another process would be; it is closed after the test, too. */
  connect(options?: ConnectOptions): Promise<Client>
}

/**
 * For the tests of a file: starts a server before them, connects a client in a new chroot for each, closes it afterwards, and
 * ends the server. Where the hooks of the test runner are global, as in Jest, it finds them; else give it the runner. It is
 * called where hooks are: at the top of the file, or inside a `describe`.
 *
 * ```js
 * const runner = await import('node:test') // or 'vitest'
 * const zookeeper = embeddedZookeeper(runner)
 *
 * runner.test('the report is written once', async () => {
 *   await zookeeper.client.lock('/locks/report').run(async () => {})
 * })
 * ```
 *
 * Tests that run at the same time, as `test.concurrent` makes them, cannot share it: a client belongs to one test.
 */
export function embeddedZookeeper(runner?: TestRunner, options?: EmbeddedZookeeperOptions): EmbeddedZookeeper

// Without this line, what says no `export` would be exported as well.
export {}
