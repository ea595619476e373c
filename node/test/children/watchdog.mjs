// Ends the process when it does the same thing for too long. Run as a thread.

import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

const { limit } = workerData
let timer

parentPort.on('message', (doing) => {
  clearTimeout(timer)
  timer = setTimeout(bark, limit * 1000, doing)
})

function bark(doing) {
  // To the descriptor itself: what a thread prints goes through the main one.
  writeSync(2, `not over after ${limit} s: ${doing}\n${threads()}`)
  const stacks = ['-p', String(process.pid), '-batch', '-ex', 'thread apply all backtrace 30']
  // Where there is no debugger, what the threads wait for in the kernel has to do.
  spawnSync('gdb', stacks, { stdio: ['ignore', 2, 'ignore'], timeout: 60_000 })
  process.kill(process.pid, 'SIGABRT')
}

function threads() {
  const about = (id, file) => readFileSync(`/proc/self/task/${id}/${file}`, 'utf8').trim()
  try {
    return readdirSync('/proc/self/task').map((id) => `  ${about(id, 'comm')} ${id}: ${about(id, 'wchan')}\n`).join('')
  } catch {
    // Not on Linux, or one has just ended.
    return ''
  }
}
