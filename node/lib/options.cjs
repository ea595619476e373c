'use strict'

// Generated from api/ by api/generate; do not edit.

const check = require('./check.cjs')

function clientOptions(verb, value) {
  const given = check.options(verb, value, ['sessionTimeout', 'connectTimeout', 'identity', 'auth', 'allowPlaintextAuth', 'refuseOpenParents', 'acl', 'tls', 'sasl', 'naming', 'lease', 'retry', 'readOnly', 'serverTick', 'maxInFlight', 'signal'])
  return {
    sessionTimeout: check.optionalMillis('sessionTimeout', given.sessionTimeout),
    connectTimeout: check.optionalMillis('connectTimeout', given.connectTimeout),
    identity: check.optionalText('identity', given.identity),
    auth: check.credentials(given.auth),
    allowPlaintextAuth: check.flag('allowPlaintextAuth', given.allowPlaintextAuth),
    refuseOpenParents: check.flag('refuseOpenParents', given.refuseOpenParents),
    acl: check.accessList(given.acl),
    tls: check.group('tls', given.tls, { ca: check.optionalText, cert: check.optionalText, key: check.optionalText, verifyHostname: check.flag, allowExpiredCrls: check.flag }),
    sasl: check.group('sasl', given.sasl, { user: check.text, password: check.text }),
    naming: check.optionalText('naming', given.naming),
    lease: check.optionalText('lease', given.lease),
    retry: check.group('retry', given.retry, { base: check.optionalMillis, max: check.optionalMillis, giveUpAfter: check.optionalMillis }),
    readOnly: check.flag('readOnly', given.readOnly),
    serverTick: check.optionalMillis('serverTick', given.serverTick),
    maxInFlight: check.integer('maxInFlight', given.maxInFlight, 1, 2 ** 32 - 1),
    signal: check.signal(given.signal),
  }
}

function counterOptions(verb, value) {
  const given = check.options(verb, value, ['layout'])
  return {
    layout: check.optionalText('layout', given.layout),
  }
}

function electionOptions(verb, value) {
  const given = check.options(verb, value, ['layout', 'priority', 'drain'])
  return {
    layout: check.optionalText('layout', given.layout),
    priority: check.integer('priority', given.priority, -(2 ** 31), 2 ** 31 - 1),
    drain: check.optionalMillis('drain', given.drain),
  }
}

function groupOptions(verb, value) {
  const given = check.options(verb, value, ['layout', 'replace'])
  return {
    layout: check.optionalText('layout', given.layout),
    replace: check.flag('replace', given.replace),
  }
}

function lockOptions(verb, value) {
  const given = check.options(verb, value, ['reentrant', 'localHandoff'])
  return {
    reentrant: check.flag('reentrant', given.reentrant),
    localHandoff: check.integer('localHandoff', given.localHandoff, 0, 2 ** 32 - 1),
  }
}

function partitionerOptions(verb, value) {
  const given = check.options(verb, value, ['weight', 'name', 'drain'])
  return {
    weight: check.integer('weight', given.weight, 1, 2 ** 32 - 1),
    name: check.optionalText('name', given.name),
    drain: check.optionalMillis('drain', given.drain),
  }
}

function queueOptions(verb, value) {
  const given = check.options(verb, value, ['maxItems', 'ephemeral', 'shards', 'maxAttempts', 'layout', 'keyWindow'])
  return {
    maxItems: check.integer('maxItems', given.maxItems, 1, 2 ** 32 - 1),
    ephemeral: check.flag('ephemeral', given.ephemeral),
    shards: check.integer('shards', given.shards, 1, 2 ** 32 - 1),
    maxAttempts: check.integer('maxAttempts', given.maxAttempts, 0, 2 ** 32 - 1),
    layout: check.optionalText('layout', given.layout),
    keyWindow: check.optionalMillis('keyWindow', given.keyWindow),
  }
}

module.exports = { clientOptions, counterOptions, electionOptions, groupOptions, lockOptions, partitionerOptions, queueOptions }
