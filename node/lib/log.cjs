'use strict'

// What the library says of itself: to those who listen, and as warnings of the process where nobody does.

const { AsyncResource } = require('node:async_hooks')
const { channel } = require('node:diagnostics_channel')
const check = require('./check.cjs')
const { listen, loop } = require('./calls.cjs')
const { deliver, invalid, warn } = require('./errors.cjs')

const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace']
/** What the channel has in any case: it does not tell who has subscribed. */
const ALWAYS = LEVELS.indexOf('info')

const said = channel('zkrecipes:log')
const listeners = new Set()

/** Calls back with what the library says up to a level. */
function onLog(callback, options) {
  check.callable('callback', callback)
  const { level = 'info' } = check.options('onLog', options, ['level'])
  const most = LEVELS.indexOf(level)
  if (most < 0) throw invalid('level', `is none of ${LEVELS.join(', ')}`)
  const listener = { callback: AsyncResource.bind(callback), most }
  listeners.add(listener)
  refresh()
  return () => {
    listeners.delete(listener)
    refresh()
  }
}

function refresh() {
  loop.setLogLevel(LEVELS[Math.max(ALWAYS, ...[...listeners].map(({ most }) => most))])
}

function tell({ text, isFirst, dropped, level, event, message, fields }) {
  if (dropped > 0) pass('warn', 'log_dropped', 'more was said than could be listened to', { records: dropped })
  const wasHeard = pass(level, event, message, fields)
  const matters = LEVELS.indexOf(level) <= LEVELS.indexOf('warn')
  if (!wasHeard && isFirst && matters) warn(text)
}

/** Answers whether anybody listens. */
function pass(level, event, message, fields) {
  const record = Object.freeze({ time: Date.now(), level, event, message, fields: Object.freeze(fields) })
  const { hasSubscribers } = said
  if (hasSubscribers) said.publish(record)
  for (const { callback, most } of [...listeners]) {
    if (LEVELS.indexOf(level) <= most) deliver('onLog', callback, record)
  }
  return hasSubscribers || listeners.size > 0
}

/** What this face says of itself: a warning of the process where nobody listens. */
function say(level, event, message, fields) {
  if (!pass(level, event, message, fields)) warn(message)
}

listen(loop.log(), tell)

module.exports = { onLog, say }
