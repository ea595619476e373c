'use strict'

// The addon, and the one function of this environment through which it answers.

const { setInterval } = require('node:timers')
const { ZkRecipesError } = require('./errors.cjs')

const file = `./zkrecipes-${process.platform}-${process.arch}.node`
const addon = load()

/** Who waits for the outcome of which call, and who listens to which event. */
const receivers = new Map()

const loop = new addon.EventLoop((number, failure, value) => receivers.get(number)?.(failure, value))

// The addon never keeps the process alive; a call under way does, through this timer that does nothing else.
const keepAlive = setInterval(() => {}, 2 ** 30)
keepAlive.unref()
let underWay = 0

function load() {
  try {
    return require(file)
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error
    const platform = `${process.platform}-${process.arch}`
    throw new Error(`this package of zkrecipes has no build for ${platform}; build it there with "npm run build"`, { cause: error })
  }
}

/** The error that a verb of the addon threw or brought. */
function errorOf(thrown) {
  if (!(thrown instanceof Error)) return new ZkRecipesError(thrown)
  // A panic, or an argument of a type that lib/check.cjs should have caught.
  const message = `${thrown.message}; this is a bug of zkrecipes, please report it`
  return new ZkRecipesError({ code: 'INTERNAL', message }, { cause: thrown })
}

/** Runs a verb that answers at once. */
function now(verb) {
  try {
    return verb()
  } catch (thrown) {
    throw errorOf(thrown)
  }
}

/** Starts a verb that answers later; `outcome` never rejects, so that it can be looked at before it is thrown. */
function start(verb) {
  const number = now(verb)
  const outcome = new Promise((resolve) => {
    if (underWay++ === 0) keepAlive.ref()
    receivers.set(number, (failure, value) => {
      receivers.delete(number)
      if (--underWay === 0) keepAlive.unref()
      resolve({ failure, value })
    })
  })
  return { outcome, withdraw: () => loop.withdraw(number) }
}

/** Starts a verb and waits for its value. The error is made after the wait: its stack leads to the caller. */
async function done(verb) {
  const { failure, value } = await start(verb).outcome
  if (failure) throw new ZkRecipesError(failure)
  return value
}

/** Listens to the events of a subscription of the addon. */
function listen(number, receiver) {
  receivers.set(number, (_, value) => receiver(value))
}

function stopListening(number) {
  receivers.delete(number)
}

module.exports = { addon, done, listen, loop, now, start, stopListening }
