// Builds the addon and the command with cargo and puts them into native/PLATFORM.
//
//   node scripts/build.mjs             for development: cargo's dev profile
//   node scripts/build.mjs --hooks     for the tests as well: an addon with verbs that panic on purpose
//   node scripts/build.mjs --package   for pack.mjs: the release profile, without debug information, which is most of the size
//
// --addon or --command builds this one alone, where the two need other settings.
//
// ZKR_PROFILE=dev or release overrides the profile. ZKR_TARGET is a target of cargo's that platforms.json knows, in place of
// this machine; with CARGO=cargo-zigbuild it may end with a version of glibc.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: Object.fromEntries(['addon', 'command', 'hooks', 'package'].map((name) => [name, { type: 'boolean' }])) })
const here = join(dirname(fileURLToPath(import.meta.url)), '..')
const root = join(here, '..')
const profile = process.env.ZKR_PROFILE ?? (values.package ? 'release' : 'dev')
const target = process.env.ZKR_TARGET
const platform = target ? platformFor(target.replace(/\.[\d.]+$/, '')) : createRequire(import.meta.url)('../lib/native.cjs').platformOf()

function platformFor(target) {
  const platforms = Object.entries(JSON.parse(readFileSync(join(here, 'platforms.json'), 'utf8')))
  const found = platforms.find(([, platform]) => platform.target === target)
  if (!found) throw new Error(`platforms.json has no target ${target}`)
  return found[0]
}

/** Builds a target of a crate and returns where cargo put it. */
function build(crate, name, kind, features) {
  const args = ['rustc', '-p', crate, kind === 'bin' ? '--bins' : '--lib', '--profile', profile, '--message-format', 'json-render-diagnostics', '--locked']
  if (target) args.push('--target', target)
  if (features) args.push('--features', features)
  // What is loaded needs no names; those of the command's functions are what a panic tells of.
  const strips = values.package && profile === 'release'
  if (strips) args.push('--', '-C', kind === 'bin' ? 'strip=debuginfo' : 'strip=symbols')
  const { status, stdout, error } = spawnSync(process.env.CARGO ?? 'cargo', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (error) throw new Error('cargo could not be run; building needs Rust', { cause: error })
  // cargo has said what is wrong.
  if (status !== 0) process.exit(status ?? 1)
  for (const line of stdout.split('\n').filter((line) => line.startsWith('{'))) {
    const message = JSON.parse(line)
    if (message.reason !== 'compiler-artifact' || message.target.name !== name) continue
    if (message.target.kind.includes('cdylib')) return message.filenames.find((name) => /\.(so|dylib|dll)$/.test(name))
    if (message.target.kind.includes('bin')) return message.executable
  }
  throw new Error(`cargo did not say where it put ${name}`)
}

/** In one step, so that a process which has the old file loaded keeps it. */
function put(from, to) {
  copyFileSync(from, `${to}.new`)
  // By cargo's own means it would be built anew, and once more without them: there is one place for it.
  if (values.package && profile !== 'release') spawnSync('strip', [to.endsWith('.node') ? '--strip-unneeded' : '--strip-debug', `${to}.new`])
  renameSync(`${to}.new`, to)
  console.log(`${to} (${profile})`)
}

const addon = (features) => build('zkrecipes-node', 'zkrecipes_node', 'lib', features)

const native = join(here, 'native', platform)
mkdirSync(native, { recursive: true })
if (!values.command) {
  let built = addon()
  if (values.hooks) {
    // To build one has cargo forget the other. So it is built anew only if the other one has changed, or what only this one has.
    const hooks = join(here, 'test', 'hooks.node')
    const sources = join(root, 'bindings/node/src')
    const state = createHash('sha256').update(readFileSync(built))
    for (const file of readdirSync(sources, { recursive: true }).sort()) if (file.endsWith('.rs')) state.update(readFileSync(join(sources, file)))
    const madeOf = state.digest('hex')
    if (!existsSync(hooks) || !existsSync(`${hooks}.of`) || readFileSync(`${hooks}.of`, 'utf8') !== madeOf) {
      put(addon('test-hooks'), hooks)
      writeFileSync(`${hooks}.of`, madeOf)
      built = addon()
    }
  }
  put(built, join(native, 'zkrecipes.node'))
}
// Beside it; ../bin/zkrecipes becomes it.
if (!values.addon && !platform.startsWith('win32')) put(build('zkrecipes-cli', 'zkrecipes', 'bin'), join(native, 'zkrecipes'))
