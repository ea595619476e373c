import { Feed } from './feed.cjs'
import { SignalOptions } from './abort_signals.cjs'

/**
 * How long the registration of a service lasts: as long as the client (`dynamic`), with a number of the server's in the name of its
 * node (`dynamic_sequential`), or until it is unregistered.
 */
export type ServiceType = 'dynamic' | 'static' | 'permanent' | 'dynamic_sequential'

/** Which of the instances of a service is picked: one after the other, any, or the same as before as long as it is there. */
export type PickBy = 'round_robin' | 'random' | 'sticky'

/** What is to be known of an instance, and may change. */
export interface ServiceChanges {
  /** Where it is: a host name or an address. */
  address?: string | undefined
  /** Its port, if it has one. */
  port?: number | null | undefined
  /** Its port for TLS, if it has one. */
  sslPort?: number | null | undefined
  /** What else is to be known of it: anything of which `JSON.stringify` makes JSON. */
  payload?: unknown
  /** How its URI is made, such as `{scheme}://{address}:{port}`. */
  uriSpec?: string | null | undefined
  /** Whether it is to be picked; `true` unless told. */
  enabled?: boolean | undefined
}

/** One instance of a service, to be registered. */
export interface Service extends ServiceChanges {
  /** Of which service it is an instance. */
  name: string
  address: string
  /** What tells it from the other instances; a random one unless told. */
  id?: string | undefined
  /** How long its registration lasts; `dynamic` unless told. */
  type?: ServiceType | undefined
}

export interface PickOptions extends SignalOptions {
  /** `round_robin` unless told. */
  by?: PickBy | undefined
}

/** An instance of a service, as it was found. */
export class Instance {
  private constructor()
  /** Of which service it is an instance. */
  readonly name: string
  /** What tells it from the other instances. */
  readonly id: string
  /** Where it is; empty where it has not said so. */
  readonly address: string
  readonly port: number | null
  /** Its port for TLS. */
  readonly sslPort: number | null
  /**
   * What else it says of itself: what `JSON.parse` makes of it, so numbers beyond 2**53 are not exact. One that Java has written has
   * its `@class`.
   */
  readonly payload: any
  readonly type: ServiceType
  /** How its URI is made. */
  readonly uriSpec: string | null
  /** Whether it is to be picked. */
  readonly enabled: boolean
  /** When it was registered, by the clock of who did that. */
  readonly registeredAt: Date
  /** Its URI, where it has said how that is made. */
  readonly uri: string | null
  /**
   * It did not serve: for 30 seconds the handle that has found it does not pick it. Asks no server, and tells nobody else.
   */
  failed(): void
}

/** A registered instance of a service. It stays registered whether or not anybody has this in a variable. */
export class Registration {
  private constructor()
  // --- generated from api: types of Registration
  /** What tells it from the other instances of the service. */
  readonly id: string
  /** Takes it back. Rejects with `NOT_HELD` if it was unregistered already. */
  unregister(options?: SignalOptions): Promise<void>
  // --- end of generated
  /** What was registered, as it is to be after the last update; what it does not have is left out. */
  readonly service: Service
  /**
   * Changes what is to be known of it: what is named, and nothing else. Null takes away what need not be there. `NOT_HELD`: it was
   * unregistered. `NO_NODE`: somebody has deleted the node of a static or permanent one.
   */
  update(changes: ServiceChanges, options?: SignalOptions): Promise<void>
}

/**
 * Services below a path, and their instances, shared with everybody who uses that path, Curator's users too.
 *
 * ```js
 * const discovery = client.discovery('/services')
 * const registration = await discovery.register({ name: 'web', address: '10.0.0.7', port: 8080, uriSpec: '{scheme}://{address}:{port}' })
 * const instance = await discovery.pick('web')   // null if there is none
 * if (instance?.uri) {
 *   await fetch(instance.uri).catch(() => instance.failed())   // for a while others are picked
 * }
 * await registration.unregister()
 * ```
 */
export class Discovery {
  private constructor()
  // --- generated from api: types of Discovery
  /** What it is made with. */
  readonly path: string
  /** The services that there are, sorted. One whose last instance has gone is there for a while. */
  names(options?: SignalOptions): Promise<string[]>
  // --- end of generated
  /**
   * Registers an instance of a service. A dynamic one is kept over all sessions of the client until it is unregistered or the client
   * is closed, and does not keep the process alive; a static or permanent one stays until it is unregistered. `EXISTS`: there is one
   * of that id, which a crashed process may have left until its session timeout. Only a static or permanent one takes the place of
   * another such one.
   */
  register(service: Service, options?: SignalOptions): Promise<Registration>
  /** The instances of a service; none if there is no such service. */
  instances(name: string, options?: SignalOptions): Promise<Instance[]>
  /** The instances of a service, now and whenever they are others. */
  watch(name: string, options?: SignalOptions): Feed<Instance[]>
  /**
   * One of the instances of a service, or null if there is none that may be picked: disabled ones are not, nor for 30 seconds those
   * that have failed. Only the first call for a service asks a server: from then on it is followed.
   */
  pick(name: string, by?: PickBy, options?: SignalOptions): Promise<Instance | null>
  pick(name: string, options: PickOptions): Promise<Instance | null>
  /**
   * An instance did not serve: for 30 seconds this handle does not pick it. The same as `failed()` of an instance, for who has
   * nothing but its name and id.
   */
  failed(name: string, id: string): void
}
