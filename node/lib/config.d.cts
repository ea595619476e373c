import { Feed } from './feed.cjs'
import { VersionOptions } from './nodes.cjs'
import { Data, SignalOptions } from './abort_signals.cjs'

/** A value, and how often it has been changed. */
export interface Versioned {
  value: Buffer
  /** 0 when it was created, one more with every change. */
  version: number
}

/** What a handle has been told last. */
export interface Cached {
  /** Null where there was none. */
  value: Versioned | null
  /**
   * Milliseconds: so long ago it was certainly still so. While a feed of the handle is open and servers answer, less than half of the
   * session timeout; otherwise it counts from when the value was asked for.
   */
  age: number
}

/**
 * A value that many follow.
 *
 * ```js
 * const config = client.config('/config/limits')
 * await config.set(JSON.stringify({ exports: 3 }))
 * for await (const now of config.watch({ signal })) {
 *   apply(now === null ? defaults : JSON.parse(String(now.value)))
 * }
 * ```
 */
export class Config {
  private constructor()
  // --- generated from api: types of Config
  /** What it is made with. */
  readonly path: string
  /** The value, or null if nobody has set it. */
  get(options?: SignalOptions): Promise<Versioned | null>
  /**
   * Sets the value, and creates it if it is missing; resolves with the new version. With a version, only while the value has
   * that one: `BAD_VERSION` if somebody has changed it since, `NO_NODE` if there is none. A lost answer is resolved by looking;
   * `CONNECTION_LOST`: nobody can tell whether it was set.
   */
  set(value: Data, version?: number, options?: SignalOptions): Promise<number>
  set(value: Data, options: VersionOptions): Promise<number>
  /**
   * Sets the value if nobody has set it yet; resolves with its version, 0. `EXISTS`: there is one. A lost answer is resolved by
   * looking; `CONNECTION_LOST`: nobody can tell whether it was set.
   */
  create(value: Data, options?: SignalOptions): Promise<number>
  /**
   * Sets the value if it still has that version, or, without one, if there still is none; resolves with whether it did. This is
   * a step of `update`, made once, also where the answer got lost. `CONNECTION_LOST`: nobody can know whether it was.
   */
  compareAndSet(value: Data, version?: number, options?: SignalOptions): Promise<boolean>
  compareAndSet(value: Data, options: VersionOptions): Promise<boolean>
  /** The value now and whenever it has changed, always the latest; null where there is none. */
  watch(options?: SignalOptions): Feed<Versioned | null>
  /** What this handle has been told last, by `get` or a feed of its own, without asking anybody; null before that. */
  readonly cached: Cached | null
  // --- end of generated
  /**
   * Replaces the value by what `change` returns or resolves with, of what it is; of null where nobody has set it. If somebody sets it
   * meanwhile, `change` is called again, with that value. Resolves with what was set. Each change is made once, also where an answer
   * got lost; `CONNECTION_LOST`: nobody can know whether it was. What `change` throws sets nothing.
   *
   * ```js
   * await config.update((value) => JSON.stringify({ ...JSON.parse(String(value ?? '{}')), exports: 4 }))
   * ```
   */
  update(change: (value: Buffer | null) => Data | Promise<Data>, options?: SignalOptions): Promise<Versioned>
}
