// Builds the addon with cargo and puts it next to lib.
//
//   node scripts/build.mjs             for development: cargo's dev profile
//   node scripts/build.mjs --hooks     for the tests as well: an addon with verbs that panic on purpose
//   node scripts/build.mjs --package   for npm pack: the release profile, without debug information, which is most of the size
//
// ZKR_PROFILE=dev or release overrides the profile.

import { spawnSync } from 'node:child_process'
import { copyFileSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { hooks: { type: 'boolean' }, package: { type: 'boolean' } } })
const here = join(dirname(fileURLToPath(import.meta.url)), '..')
const root = join(here, '..')
const profile = process.env.ZKR_PROFILE ?? (values.package ? 'release' : 'dev')

/** Builds the addon and returns where cargo put it. */
function build(features) {
  const args = ['rustc', '-p', 'zkrecipes-node', '--profile', profile, '--message-format', 'json-render-diagnostics']
  if (features) args.push('--features', features)
  if (values.package) args.push('--', '-C', 'strip=debuginfo')
  const { status, stdout, error } = spawnSync(process.env.CARGO ?? 'cargo', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (error) throw new Error('cargo could not be run; building the addon needs Rust', { cause: error })
  // cargo has said what is wrong.
  if (status !== 0) process.exit(status ?? 1)
  for (const line of stdout.split('\n').filter((line) => line.startsWith('{'))) {
    const message = JSON.parse(line)
    const isOurs = message.reason === 'compiler-artifact' && message.target.name === 'zkrecipes_node'
    if (isOurs && message.target.kind.includes('cdylib')) {
      return message.filenames.find((name) => /\.(so|dylib|dll)$/.test(name))
    }
  }
  throw new Error('cargo did not say where it put the addon')
}

/** In one step, so that a process which has the old file loaded keeps it. */
function put(from, to) {
  copyFileSync(from, `${to}.new`)
  renameSync(`${to}.new`, to)
  console.log(`${to} (${profile})`)
}

if (values.hooks) put(build('test-hooks'), join(here, 'test', 'hooks.node'))
put(build(), join(here, 'lib', `zkrecipes-${process.platform}-${process.arch}.node`))
// npm packs it only from here.
copyFileSync(join(root, 'LICENSE'), join(here, 'LICENSE'))
