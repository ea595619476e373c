// Writes lib/index.js from lib/index.cjs, builds the addon and the command with cargo and puts them into lib and bin.
//
//   node scripts/build.mjs             for development: cargo's dev profile
//   node scripts/build.mjs --hooks     for the tests as well: an addon with verbs that panic on purpose
//   node scripts/build.mjs --package   for npm pack: the release profile, without debug information, which is most of the size
//
// ZKR_PROFILE=dev or release overrides the profile.

import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { hooks: { type: 'boolean' }, package: { type: 'boolean' } } })
const here = join(dirname(fileURLToPath(import.meta.url)), '..')
const root = join(here, '..')
const profile = process.env.ZKR_PROFILE ?? (values.package ? 'release' : 'dev')

/** Builds a target of a crate and returns where cargo put it. */
function build(crate, target, kind, features) {
  const args = ['rustc', '-p', crate, kind === 'bin' ? '--bins' : '--lib', '--profile', profile, '--message-format', 'json-render-diagnostics']
  if (features) args.push('--features', features)
  if (values.package) args.push('--', '-C', 'strip=debuginfo')
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
    if (message.reason !== 'compiler-artifact' || message.target.name !== target) continue
    if (message.target.kind.includes('cdylib')) return message.filenames.find((name) => /\.(so|dylib|dll)$/.test(name))
    if (message.target.kind.includes('bin')) return message.executable
  }
  throw new Error(`cargo did not say where it put ${target}`)
}

/** In one step, so that a process which has the old file loaded keeps it. */
function put(from, to) {
  copyFileSync(from, `${to}.new`)
  renameSync(`${to}.new`, to)
  console.log(`${to} (${profile})`)
}

// Modules have to name their exports before they run, so the list of index.cjs stands there once more.
const [names] = /(?<=^module\.exports = )\{.*?\}/ms.exec(readFileSync(join(here, 'lib', 'index.cjs'), 'utf8'))
writeFileSync(join(here, 'lib', 'index.js'), `import zkrecipes from './index.cjs'\n\nexport const ${names} = zkrecipes\n`)

const addon = (features) => build('zkrecipes-node', 'zkrecipes_node', 'lib', features)
if (values.hooks) put(addon('test-hooks'), join(here, 'test', 'hooks.node'))
put(addon(), join(here, 'lib', `zkrecipes-${process.platform}-${process.arch}.node`))

// The program that cargo installs too, and not a script that Node runs: what `zkrecipes lock` starts inherits the process, and
// Node has changed it before any code of ours could run. It forgets which signals were ignored (nohup), closes inherited
// descriptors to children, and raises the limit of open files.
if (process.platform !== 'win32') {
  mkdirSync(join(here, 'bin'), { recursive: true })
  put(build('zkrecipes-cli', 'zkrecipes', 'bin'), join(here, 'bin', 'zkrecipes'))
}
// npm packs it only from here.
copyFileSync(join(root, 'LICENSE'), join(here, 'LICENSE'))
