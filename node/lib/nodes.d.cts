import { Feed } from './feed.cjs'
import { Data, SignalOptions } from './abort_signals.cjs'

export type CreateMode = 'persistent' | 'ephemeral' | 'persistent_sequential' | 'ephemeral_sequential' | 'container'

export interface Stat {
  czxid: bigint
  mzxid: bigint
  pzxid: bigint
  ctime: Date
  mtime: Date
  version: number
  cversion: number
  aversion: number
  ephemeralOwner: bigint
  dataLength: number
  numChildren: number
}

/** A node's content: `[data, stat]`, whose parts have names too. */
export type Content = readonly [data: Buffer, stat: Stat] & { readonly data: Buffer; readonly stat: Stat }

export interface LifeOptions {
  /**
   * A persistent node's time to live: the server removes it once it has had neither children nor changes for so many
   * milliseconds. Servers take that only with `zookeeper.extendedTypesEnabled=true`; others make it `INVALID`.
   */
  ttl?: number | undefined
}

export interface CreateOptions extends LifeOptions, SignalOptions {}

/** Options of a write that a version may guard. */
export interface VersionOptions extends SignalOptions {
  /** Left out, any version will do; another than the node's is `BAD_VERSION`. */
  version?: number | undefined
}

/** Plain node operations. The options may stand in the place of a mode or a version, which they may say too. */
export class Nodes {
  private constructor()
  /** Creates a node and returns its full path, which for a sequential one the server completes. */
  create(path: string, data?: Data, mode?: CreateMode, options?: CreateOptions): Promise<string>
  create(path: string, data: Data | undefined, options: CreateOptions & { mode?: CreateMode | undefined }): Promise<string>
  // --- generated from api: types of Nodes
  /** What stands in a node, and what else the server knows about it. */
  get(path: string, options?: SignalOptions): Promise<Content>
  /** Replaces a node's data. Without a version any will do; another than the node's is `BAD_VERSION`. */
  set(path: string, data: Data, version?: number, options?: SignalOptions): Promise<Stat>
  set(path: string, data: Data, options: VersionOptions): Promise<Stat>
  /** Deletes a node without children. Without a version any will do; another than the node's is `BAD_VERSION`. */
  delete(path: string, version?: number, options?: SignalOptions): Promise<void>
  delete(path: string, options: VersionOptions): Promise<void>
  /** What the server knows about a node; null if there is none. */
  exists(path: string, options?: SignalOptions): Promise<Stat | null>
  /** The names of the children, sorted. */
  children(path: string, options?: SignalOptions): Promise<string[]>
  /**
   * The paths of the ephemeral nodes that the session of this client has at path and below it, sorted. Rejects with `INVALID` if
   * the server is older than 3.6.
   */
  ephemerals(path: string, options?: SignalOptions): Promise<string[]>
  /** Creates what is missing of the path. */
  ensure(path: string, options?: SignalOptions): Promise<void>
  /** Deletes the node and all below it. */
  deleteAll(path: string, options?: SignalOptions): Promise<void>
  // --- end of generated
  /**
   * Replaces the data of a node by what `change` returns or resolves with. If somebody sets it meanwhile, `change` is called again, with
   * that. `NO_NODE`: there is no such node. `CONNECTION_LOST`: the data may have been replaced, or not.
   */
  update(path: string, change: (data: Buffer) => Data | Promise<Data>, options?: SignalOptions): Promise<Stat>
  /**
   * Keeps a node and all that is below it here: resolves when all of it is known, and follows it from then on. The node need not exist;
   * what we may not read is left out. It costs two requests for each node at first, then one or two for each change, whoever reads it
   * how often.
   *
   * ```js
   * const flags = await client.nodes.cache('/flags')
   * console.log(String(flags.get('/flags/dark-mode')?.data) === 'on')
   * ```
   */
  cache(path: string, options?: SignalOptions): Promise<NodeCache>
  /**
   * The state of a node now and whenever it has changed, always the latest, over reconnections, new sessions, deletion and
   * re-creation; the node need not exist. Of a kind: its `data`, unless told, or the names of its `children`, null while there is
   * no such node; or the `subtree`, the content of it and of all nodes below it by path, which costs a watch for each of them.
   *
   * ```js
   * for await (const names of client.nodes.watch('/services', 'children', { signal })) show(names ?? [])
   * ```
   */
  watch(path: string, kind?: 'data', options?: SignalOptions): Feed<Content | null>
  watch(path: string, kind: 'children', options?: SignalOptions): Feed<string[] | null>
  watch(path: string, kind: 'subtree', options?: SignalOptions): Feed<Record<string, Content>>
  watch(path: string, options: SignalOptions & { kind?: 'data' | undefined }): Feed<Content | null>
  watch(path: string, options: SignalOptions & { kind: 'children' }): Feed<string[] | null>
  watch(path: string, options: SignalOptions & { kind: 'subtree' }): Feed<Record<string, Content>>
  /** Writes that happen all or not at all. */
  transaction(): Transaction<[]>
}

/** A node and all that is below it, kept here: reading it asks nobody. It is followed until it is garbage, and so are its feeds. */
export class NodeCache {
  private constructor()
  // --- generated from api: types of NodeCache
  /** The path of the topmost node. */
  readonly path: string
  /**
   * The paths of what has come, has gone or is different; at first of all that is there. The cache knows it by then, and a slow
   * reader is told of a path once, however often it has changed.
   */
  changes(options?: SignalOptions): Feed<string[]>
  // --- end of generated
  /** What stands in a node at or below the path; null if there is none. Asks nobody. `INVALID`: another path. */
  get(path: string): Content | null
  /** The names of the children of such a node, sorted; null if there is no such node. Asks nobody. */
  children(path: string): string[] | null
  /**
   * Milliseconds: how old what is known may be. So long ago, for certain, it was still so. While servers answer, less than half of the
   * session timeout.
   */
  readonly age: number
}

/** What became of one part of a transaction: the path that was created, the stat of what was set, null for the others. */
export type PartResult = string | Stat | null

/**
 * Writes that are collected, and sent together by `commit()`.
 *
 * ```js
 * const [path, stat] = await client.nodes.transaction()
 *   .create('/orders/order-', order, 'persistent_sequential')
 *   .set('/orders/last', order)
 *   .commit()
 * ```
 *
 * `R` is what is known of the results: of the parts that were added to this very expression.
 */
export class Transaction<R extends readonly PartResult[] = readonly PartResult[]> {
  private constructor()
  create(path: string, data?: Data, mode?: CreateMode, options?: LifeOptions): Transaction<[...R, string]>
  create(path: string, data: Data | undefined, options: LifeOptions & { mode?: CreateMode | undefined }): Transaction<[...R, string]>
  // --- generated from api: types of Transaction
  /** Replaces a node's data, of this version if one is given. */
  set(path: string, data: Data, version?: number): Transaction<[...R, Stat]>
  /** Deletes a node, of this version if one is given. */
  delete(path: string, version?: number): Transaction<[...R, null]>
  /** Makes the whole fail unless the node exists, with this version if one is given. */
  check(path: string, version?: number): Transaction<[...R, null]>
  /**
   * Sends them, and answers what became of each, in the order in which they were added. Guarded, and no longer held: `NOT_HELD`.
   * `CONNECTION_LOST`: the outcome is unknown, and it is never sent twice.
   */
  commit(options?: SignalOptions): Promise<[...R, ...PartResult[]]>
  // --- end of generated
}
