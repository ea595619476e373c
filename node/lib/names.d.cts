import { Feed } from './feed.cjs'
import { Data, SignalOptions } from './abort_signals.cjs'

export interface BindOptions extends SignalOptions {
  /** The binding lasts as long as this client, over all its sessions; otherwise until it is unbound. */
  ephemeral?: boolean | undefined
  /**
   * How many milliseconds a binding that is not ephemeral may stand unchanged: then the servers unbind it. They take that only with
   * zookeeper.extendedTypesEnabled=true; others make it `INVALID`.
   */
  ttl?: number | undefined
}

/**
 * Names below a path, and what they stand for.
 *
 * ```js
 * const services = client.names('/services')
 * await services.bind('billing', '10.0.0.7:443', { ephemeral: true })
 * const address = await services.lookup('billing')
 * ```
 */
export class Names {
  private constructor()
  // --- generated from api: types of Names
  /** What it is made with. */
  readonly path: string
  /** What a name stands for, or null if it is not bound. */
  lookup(name: string, options?: SignalOptions): Promise<Buffer | null>
  /** Unbinds a name, whoever has bound it. `NO_NODE`: it is not bound. What another client binds as ephemeral, it binds again. */
  unbind(name: string, options?: SignalOptions): Promise<void>
  /** The names that are bound, sorted. */
  list(options?: SignalOptions): Promise<string[]>
  /**
   * All names and what they stand for, now and whenever that has changed. One that may not be read is left out: `client.skipped`
   * names its node.
   */
  watch(options?: SignalOptions): Feed<Record<string, Buffer>>
  // --- end of generated
  /** Binds a name that is not bound: `EXISTS` otherwise, whoever has bound it. */
  bind(name: string, data: Data, ephemeral?: boolean, options?: SignalOptions): Promise<void>
  bind(name: string, data: Data, options: BindOptions): Promise<void>
}
