'use strict'

const check = require('./check.cjs')
const { made } = require('./dispose.cjs')
const { invalid, kindOf } = require('./errors.cjs')
const { Remote, ask, attend, callsOf, leave, nativeOf, properties, wait } = require('./remote.cjs')
const { waitOptions } = require('./abort_signals.cjs')

/** All sites do something, or none does. */
class TwoPhaseCommit extends Remote {
  // --- generated from api: verbs of TwoPhaseCommit
  static { properties(this, 'path', 'mode') }

  async history(options) {
    return ask(this, 'history', options)
  }

  async show(id, options) {
    return ask(this, 'show', options, check.text('id', id))
  }

  async decideAbort(id, reason, options) {
    return ask(this, 'decideAbort', options, check.text('id', id), check.text('reason', reason))
  }
  // --- end of generated

  /** Begins a transaction that every site is asked about. */
  async begin(id, ...about) {
    check.text('id', id)
    const { sites, payload, timeout, signal } = beginning(about)
    if (!Array.isArray(sites)) throw invalid('sites', `must be an array of names, not ${kindOf(sites)}`)
    // Array.from visits holes too.
    const names = Array.from(sites, (site, at) => check.text(`sites[${at}]`, site))
    const data = check.bytes('payload', payload)
    if (timeout === undefined) throw invalid('timeout', 'must be a number of milliseconds')
    const args = [id, names, data, check.millis('timeout', timeout)]
    const begun = await attend(this, check.signal(signal), 'begin', args, (begun) => begun.withdraw())
    return new CommitTransaction(made, callsOf(this), begun.handOver(), 'commits.begin()')
  }

  /** Takes over the transactions whose coordinator is gone. */
  async recover(options) {
    const all = await ask(this, 'recover', options)
    return all.map((begun) => new CommitTransaction(made, callsOf(this), begun, 'commits.recover()'))
  }

  /** Becomes a site, until it leaves or the client is closed. */
  async join(site, options) {
    check.text('site', site)
    const signal = check.signalOf('join', options)
    await attend(this, signal, 'join', [site], () => nativeOf(this).leave())
    // The addon's handle is the site: it must not be collected although nobody has this one in a variable.
    callsOf(this).keep(this)
  }

  async leave(options) {
    await leave(this, options)
  }

  /** The next transaction on which this site has to vote. */
  async next(options) {
    const { timeout, signal } = waitOptions('next', options)
    const proposed = await attend(this, signal, 'next', [timeout], (proposed) => proposed.tellAgain())
    return new Proposal(made, callsOf(this), proposed.handOver(), 'commits.next()')
  }

  /** Everything that this site has not acknowledged. */
  async pending(options) {
    const all = await ask(this, 'pending', options)
    return all.map((proposal) => new Proposal(made, callsOf(this), proposal, 'commits.pending()'))
  }
}

/** What `begin` is told behind the id: everything in its place, or from some place on by name. */
function beginning([sites, payload, timeout, options]) {
  if (!Array.isArray(sites) && check.isOptions(sites, payload)) {
    return check.options('begin', sites, ['sites', 'payload', 'timeout', 'signal'])
  }
  return { sites, payload, ...check.orOption('begin', 'timeout', timeout, options, ['signal']) }
}

// --- generated from api: class CommitTransaction
class CommitTransaction extends Remote {
  static { properties(this, 'id', 'sites', 'payload', 'reason') }

  async outcome(options) {
    return wait(this, 'outcome', options)
  }
}
// --- end of generated

// --- generated from api: class Proposal
class Proposal extends Remote {
  static { properties(this, 'id', 'sites', 'payload', 'reason', 'hasVoted') }

  async outcome(options) {
    return wait(this, 'outcome', options)
  }

  async voteCommit(options) {
    await ask(this, 'voteCommit', options)
  }

  async voteAbort(reason = '', options) {
    await ask(this, 'voteAbort', options, check.text('reason', reason))
  }

  async acknowledge(options) {
    await ask(this, 'acknowledge', options)
  }
}
// --- end of generated

module.exports = { CommitTransaction, Proposal, TwoPhaseCommit }
