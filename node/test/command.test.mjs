// The command that the package brings: that it is the one that cargo installs, and behaves so among those whom Node starts.
// What it does in detail is tested in cli/tests.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { openSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { version } from 'zkrecipes'
import { promise, until } from './world.mjs'

const COMMAND = fileURLToPath(new URL('../bin/zkrecipes', import.meta.url))

/** The command while it runs. */
class Running {
  out = ''
  err = ''
  #process
  #closed

  constructor(world, file, args, options) {
    this.#process = spawn(file, args, { env: { ...process.env, ZKRECIPES_HOSTS: world.hosts }, ...options })
    this.#process.stdout.on('data', (data) => (this.out += data))
    this.#process.stderr.on('data', (data) => (this.err += data))
    this.#closed = new Promise((resolve) => this.#process.on('close', (code, signal) => resolve(signal ?? code)))
  }

  get id() {
    return this.#process.pid
  }

  async said(text) {
    await until(() => this.out.includes(text), `it says ${text}`, () => this.err)
  }

  signal(name) {
    this.#process.kill(name)
  }

  sendLine() {
    this.#process.stdin.write('\n')
  }

  /** Its status, once everybody who could write to its output has ended. */
  async end() {
    this.#process.stdin.end()
    return { status: await this.#closed, out: this.out, err: this.err }
  }
}

function start(world, args, options) {
  return new Running(world, COMMAND, args, options)
}

function run(world, ...args) {
  return start(world, args).end()
}

/** A shell that runs a line in which `$0` is the command. */
function shell(world, line, ...args) {
  return new Running(world, 'sh', ['-c', line, COMMAND, ...args])
}

/** For what only Linux shows. */
const promiseOnLinux = process.platform === 'linux' ? promise : () => {}

async function assertNobody(world, path) {
  const client = await world.connect()
  assert.deepEqual(await client.lock(path).contenders(), [])
}

test('the command is of the version of the package', () => {
  const { status, stdout } = spawnSync(COMMAND, ['--version'], { encoding: 'utf8' })
  assert.deepEqual([status, stdout], [0, `zkrecipes ${version()}\n`])
})

promise('a command under a lock gets its token, and gives its status back', async (world) => {
  const tokens = []
  for (const status of [0, 7]) {
    const script = `echo $ZKR_FENCING_TOKEN "$@"; exit ${status}`
    const ended = await run(world, 'lock', world.path(), '--', 'sh', '-c', script, 'name', '--try', 'a b')
    assert.deepEqual([ended.status, ended.err], [status, ''])
    assert.match(ended.out, /^[1-9]\d* --try a b\n$/)
    tokens.push(BigInt(ended.out.split(' ')[0]))
    await assertNobody(world, world.path())
  }
  assert.ok(tokens[0] < tokens[1], tokens.join())
})

promise('a command that a signal ends is told as shells do', async (world) => {
  const ended = await shell(world, `"$0" lock ${world.path()} -- sh -c 'kill -TERM $$'; echo $?`).end()
  assert.deepEqual(ended, { status: 0, out: `${128 + constants.signals.SIGTERM}\n`, err: '' })
})

promise('a signal is passed on to the command', async (world) => {
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1']) {
    const trap = `trap 'echo told; exit 5' ${name.slice(3)}; echo started; while :; do sleep 0.01; done`
    const running = start(world, ['lock', world.path(), '--', 'sh', '-c', trap])
    await running.said('started')
    running.signal(name)
    const ended = await running.end()
    assert.deepEqual([ended.status, ended.out], [5, 'started\ntold\n'], `${name} ${ended.err}`)
    await assertNobody(world, world.path())
  }
})

promise('a signal while it waits makes it give up and leave nothing', async (world) => {
  const lock = await world.lock()
  await lock.acquire()
  for (const name of ['SIGTERM', 'SIGINT']) {
    const waiter = start(world, ['lock', lock.path, 'echo', 'ran'])
    await until(async () => (await lock.contenders()).length === 2, 'it waits')
    waiter.signal(name)
    assert.deepEqual(await waiter.end(), { status: 128 + constants.signals[name], out: '', err: '' })
    assert.equal((await lock.contenders()).length, 1)
  }
})

promise('a signal to the whole process group ends both and leaves nothing', async (world) => {
  const running = start(world, ['lock', world.path(), '--', 'sh', '-c', 'echo started; exec cat'], { detached: true })
  await running.said('started')
  process.kill(-running.id, 'SIGINT')
  assert.equal((await running.end()).status, 128 + constants.signals.SIGINT)
  await assertNobody(world, world.path())
})

promise('whoever reads the output may leave', async (world) => {
  const ended = await shell(world, `{ "$0" ls --json ${world.path()}; echo "$?" >&3; } 3>&2 | true; true`).end()
  assert.deepEqual([ended.status, ended.out], [0, ''])
  assert.match(ended.err, /^(zkrecipes: nobody holds .*\n0|141)\n$/)
  const head = await shell(world, `"$0" ls --json ${world.path()} 2>/dev/null | head -n 1`).end()
  assert.deepEqual([head.status, head.err], [0, ''])
  assert.equal(head.out, '[]\n')
})

// What Node changes for itself must not reach what runs under a lock: why the command is no script that Node runs.

promise('what was ignored stays ignored', async (world) => {
  const lock = await world.lock()
  const held = await lock.acquire()
  const waiter = shell(world, `trap '' HUP; exec "$0" lock ${lock.path} echo ran`)
  await until(async () => (await lock.contenders()).length === 2, 'it waits')
  waiter.signal('SIGHUP')
  await held.release()
  assert.deepEqual(await waiter.end(), { status: 0, out: 'ran\n', err: '' })
})

promiseOnLinux('what runs under a lock inherits signals, limits and descriptors as without one', async (world) => {
  const look = 'ulimit -S -n; cat <&7; exec grep "^Sig[BI]" /proc/self/status'
  const line = (prefix) => `trap '' USR2; ulimit -S -n 99; ${prefix} sh -c '${look}' 7<<END\ngiven\nEND`
  const [bare, locked] = [await shell(world, line('')).end(), await shell(world, line(`"$0" lock ${world.path()} --`)).end()]
  assert.deepEqual(locked, bare)
  assert.match(locked.out, /^99\ngiven\n/)
})

promise('words need not be text', async (world) => {
  const ended = await shell(world, `"$0" lock ${world.path()} -- sh -c 'printf %s "$1" | od -An -tx1' name "$(printf 'a\\377b')"`).end()
  assert.deepEqual([ended.status, ended.out.trim()], [0, '61 ff 62'], ended.err)
})

promiseOnLinux('an output that is full is an error of its own', async () => {
  const full = openSync('/dev/full', 'w')
  const { status, stderr } = spawnSync(COMMAND, ['--version'], { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' })
  assert.equal(status, 74)
  assert.match(stderr, /cannot write/)
})
