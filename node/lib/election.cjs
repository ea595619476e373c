'use strict'

const { AsyncLocalStorage } = require('node:async_hooks')
const check = require('./check.cjs')
const { made } = require('./dispose.cjs')
const { AbortError, described, report, timed } = require('./errors.cjs')
const { asIs, feed } = require('./feed.cjs')
const { Handle, acquire, attempt, contendersOf, keep, nodeOf, pathOf } = require('./handle.cjs')
const { Held, asked: askedOf, leave, releaseOptions } = require('./held.cjs')
const { Remote, ask, attend, call, callsOf, cancel, make, nativeOf } = require('./remote.cjs')
const { listen, stopListening, waitOptions } = require('./abort_signals.cjs')

// By which term a call is made that comes from the work of a run: who resigns there knows that the term is over, and may have
// something to finish.
const working = new AsyncLocalStorage()

/** One term of a leader. */
class Leadership extends Held {
  // Only in a run: it aborts when the term is over, unless the work itself ends it.
  #term

  constructor(key, calls, native, term) {
    super(key, calls, native, 'election.campaign()')
    this.#term = term
  }

  get epoch() {
    return this.fencingToken
  }

  get signal() {
    return this.#term ? this.#term.signal : super.signal
  }

  get lostSignal() {
    return super.signal
  }

  // --- generated from api: verbs of Leadership
  async acknowledge(data = '', options) {
    await ask(this, 'acknowledge', options, check.bytes('data', data, 'acknowledge(data, options)'))
  }
  // --- end of generated

  async release(options) {
    releaseOptions(options)
    const term = this.#term
    const releasing = super.release(options)
    if (working.getStore() !== term) term?.abort(new AbortError(this.path))
    return releasing
  }
}

/** The terms of one run, which the addon campaigns for. */
class Terms extends Remote {}

/** One candidate among those of whom one leads. */
class Election extends Handle {
  #runs = new Set()

  get path() {
    return pathOf(this)
  }

  async acquire(options) {
    return acquire(this, waitOptions('acquire', options), Leadership)
  }

  async tryAcquire(options) {
    return attempt(this, check.options('tryAcquire', options, ['signal']), Leadership)
  }

  /** Queues and waits until this candidate leads. */
  async campaign(options) {
    return acquire(this, waitOptions('campaign', options), Leadership)
  }

  /** Leads term after term, and works in each of them, until it is stopped. */
  async run(work, options) {
    check.callable('work', work)
    const given = check.options('run', options, ['healthy', 'signal'])
    const signal = check.signal(given.signal)
    if (given.healthy !== undefined) check.callable('healthy', given.healthy)
    if (signal?.aborted) throw signal.reason
    const checks = given.healthy && new Checks(this, given.healthy)
    const run = new Run(this, work, checks)
    const stop = (reason) => run.stop(reason)
    const aborted = () => stop(signal.reason)
    this.#runs.add(stop)
    if (signal) listen(signal, aborted)
    try {
      // Also while it is asked for the first time, which may take long.
      if (checks) await Promise.race([checks.begin(), run.stopped])
      await run.over()
    } finally {
      checks?.end()
      this.#runs.delete(stop)
      if (signal) stopListening(signal, aborted)
    }
    if (signal?.aborted) throw signal.reason
  }

  /** Hands the leadership over to a candidate; answers whether that leads. */
  async transfer(to, options) {
    return ask(this, 'transfer', options, check.text('to', nodeOf(to)))
  }

  async resign(options) {
    await this.release(options)
  }

  /** Ends the campaigns and the runs in progress. */
  cancel() {
    super.cancel()
    for (const stop of [...this.#runs]) stop(new AbortError(this.path))
  }

  get isLeader() {
    return this.isHeld
  }

  // --- generated from api: verbs of Election
  async leader(options) {
    return ask(this, 'leader', options)
  }

  async candidates(options) {
    return contendersOf(await ask(this, 'candidates', options))
  }

  observe(options) {
    return feed(this, 'observe', options, asIs)
  }
  // --- end of generated
}

/** Asks again and again whether a candidate is healthy, and says so of it. */
class Checks {
  #election
  #healthy
  #timer
  #isOver = false
  /** Said it was not, when it was asked last. */
  isUnhealthy = false

  constructor(election, healthy) {
    this.#election = election
    this.#healthy = healthy
  }

  async begin() {
    await this.#ask()
    if (this.#isOver) return
    this.#timer = setTimeout(() => this.begin(), call(this.#election, 'healthInterval'))
    // What keeps the process alive is the run.
    this.#timer.unref()
  }

  async #ask() {
    let isHealthy = false
    try {
      isHealthy = Boolean(await this.#healthy())
    } catch (error) {
      report('healthy', error)
    }
    if (this.#isOver) return
    this.isUnhealthy = !isHealthy
    call(this.#election, 'setHealthy', isHealthy)
  }

  /** Nobody says any more how it is. */
  end() {
    this.#isOver = true
    clearTimeout(this.#timer)
    call(this.#election, 'setHealthy', true)
  }
}

/** One call of `election.run`. */
class Run {
  #election
  #work
  #checks
  #terms
  #term
  #isStopped = false
  #tellStopped

  constructor(election, work, checks) {
    this.stopped = new Promise((resolve) => (this.#tellStopped = resolve))
    this.#election = election
    this.#work = work
    this.#checks = checks
    this.#terms = make(Terms, election, 'terms')
  }

  stop(reason) {
    this.#isStopped = true
    this.#tellStopped()
    cancel(this.#terms)
    this.#term?.abort(reason)
  }

  async over() {
    while (!this.#isStopped) {
      const native = await this.#won()
      if (native) await this.#serve(native)
    }
  }

  /** Who is not healthy asks itself. */
  #whyAsked({ reason }) {
    return this.#checks?.isUnhealthy ? askedOf(reason.path, 'this candidate is not healthy') : reason
  }

  /** What a campaign has won; nothing when it was stopped. */
  async #won() {
    try {
      return await attend(this.#terms, undefined, 'next', [], (native) => native.releaseInBackground())
    } catch (error) {
      if (!this.#isStopped) throw error
    }
  }

  /** One term. Nobody else leads before the work has ended, unless the leadership is lost. */
  async #serve(native) {
    const term = new AbortController()
    this.#term = term
    const leadership = keep(this.#election, new Leadership(made, callsOf(this.#election), native, term))
    leadership.onLost((error) => term.abort(error))
    // Somebody else is to lead: the work has the time for draining.
    const asked = leadership.revokeSignal
    asked.addEventListener('abort', () => term.abort(this.#whyAsked(asked)))
    let failure
    try {
      // The run may have been stopped since the campaign ended, and this term was not there yet to be told.
      const work = () => timed(callsOf(this.#election).callbackTimes, this.#work, leadership)
      if (!this.#isStopped) await working.run(term, work)
    } catch (error) {
      // What fails because the term is over does not fail.
      if (!term.signal.aborted) failure = described(error)
    }
    // Unconfirmed, it goes on in the background; lost or resigned, there is nothing to do.
    await leave(leadership, true).catch(() => {})
    if (failure === undefined) call(this.#terms, 'succeeded')
    else call(this.#terms, 'failed', nativeOf(leadership), failure)
  }
}

module.exports = { Election, Leadership }
