'use strict'

// What keeps the process alive: what is held and what is waited for. The addon itself never does.

const { setInterval } = require('node:timers')

const timer = setInterval(() => {}, 2 ** 30)
timer.unref()
let keepers = 0

function keep() {
  if (keepers++ === 0) timer.ref()
}

function letGo() {
  if (--keepers === 0) timer.unref()
}

/** One client's reasons to keep the process alive, which `unref()` makes none. */
class KeepAlive {
  #reasons = 0
  #isRef = true

  ref() {
    if (this.#isRef) return
    this.#isRef = true
    if (this.#reasons > 0) keep()
  }

  unref() {
    if (!this.#isRef) return
    this.#isRef = false
    if (this.#reasons > 0) letGo()
  }

  /** A reason more, until the function that this returns is called; calling it again does nothing. */
  begin() {
    if (this.#reasons++ === 0 && this.#isRef) keep()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (--this.#reasons === 0 && this.#isRef) letGo()
    }
  }
}

module.exports = { KeepAlive }
