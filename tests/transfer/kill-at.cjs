// For `node --require`: the same as kill_at.py for a program in Node.

'use strict'

const { readFileSync, writeFileSync } = require('node:fs')

const armed = process.env.KILL_AT
const die = () => process.kill(process.pid, 'SIGKILL')

function step() {
  const [left, delay] = readFileSync(armed, 'utf8').split(' ')
  if (left === '') return
  writeFileSync(armed, left === '1' ? '' : [left - 1, delay].join(' ').trim())
  if (left !== '1') return
  if (delay) setTimeout(die, delay * 1000)
  else die()
}

function before(object, verb) {
  const real = object[verb]
  object[verb] = function (...given) {
    step()
    return real.apply(this, given)
  }
}

function sqlite() {
  try {
    return require('node:sqlite').DatabaseSync
  } catch {
    return require('libsql')
  }
}

const database = sqlite().prototype
const { prepare } = database
database.prepare = function (sql) {
  const statement = prepare.call(this, sql)
  for (const verb of ['run', 'get']) before(statement, verb)
  return statement
}
before(console, 'log')
