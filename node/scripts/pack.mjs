// Packs what scripts/build.mjs has built: a package for each platform in native, with the addon and the command, and the package
// that everybody installs, which names them as optional dependencies. npm then chooses by `os`, `cpu` and `libc`.
//
//   node scripts/pack.mjs FOLDER               into this folder, for this platform
//   node scripts/pack.mjs FOLDER PLATFORM…     for these
//   node scripts/pack.mjs FOLDER --all         for those of platforms.json: a release

import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({ options: { all: { type: 'boolean' } }, allowPositionals: true })
const [folder, ...named] = positionals
if (!folder) throw new Error('usage: node scripts/pack.mjs FOLDER [PLATFORM…|--all]')
const out = resolve(folder)
const here = join(dirname(fileURLToPath(import.meta.url)), '..')
const native = join(here, 'native')
const read = (file) => JSON.parse(readFileSync(join(here, file), 'utf8'))

const source = read('package.json')
const known = read('platforms.json')
const isBuilt = (name) => existsSync(join(native, name, 'zkrecipes.node'))
const own = () => [createRequire(import.meta.url)('../lib/native.cjs').platformOf()]
const wanted = values.all ? Object.keys(known) : named.length ? named : own()
const missing = wanted.filter((name) => !isBuilt(name))
if (missing.length) throw new Error(`not built: ${missing.join(', ')}; scripts/build.mjs does it`)

const { version, license, author, engines } = source
const nameOf = (platform) => `@zkrecipes/${platform}`

function packageOf(platform, { os, cpu, libc }) {
  const files = readdirSync(join(native, platform)).filter((file) => /^zkrecipes(\.node)?$/.test(file))
  const description = `What is native of zkrecipes, for ${platform}: install zkrecipes, which brings it`
  const only = { os: [os], cpu: [cpu], ...(libc && { libc: [libc] }) }
  return { name: nameOf(platform), version, description, license, author, main: 'zkrecipes.node', files, engines, ...only }
}

function mainPackage() {
  const described = { ...source, optionalDependencies: Object.fromEntries(wanted.map((name) => [nameOf(name), version])) }
  // `private` keeps the checkout from being published as it is.
  for (const key of ['private', 'scripts', 'devDependencies']) delete described[key]
  return described
}

/** Packs files, laid out as they are in `from`. */
function pack(described, from, extra = {}) {
  const stage = mkdtempSync(join(tmpdir(), 'zkrecipes-pack-'))
  try {
    for (const file of described.files) if (existsSync(join(from, file))) cpSync(join(from, file), join(stage, file), { recursive: true })
    for (const file of ['zkrecipes', 'bin/zkrecipes']) if (existsSync(join(stage, file))) chmodSync(join(stage, file), 0o755)
    cpSync(join(here, '..', 'LICENSE'), join(stage, 'LICENSE'))
    for (const [file, text] of Object.entries(extra)) writeFileSync(join(stage, file), text)
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(described, null, 2)}\n`)
    // There it is a batch file, which Node starts by a shell only. To that a path with blanks is several words, unless quoted.
    const shell = process.platform === 'win32'
    const args = ['pack', '--silent', '--pack-destination', shell ? `"${out}"` : out]
    const { status, stdout, error } = spawnSync('npm', args, { cwd: stage, shell, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    if (error || status !== 0) throw new Error(`npm pack failed for ${described.name}`, { cause: error })
    console.log(join(out, stdout.trim()))
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

mkdirSync(out, { recursive: true })
for (const name of wanted) {
  const described = packageOf(name, known[name])
  pack(described, join(native, name), { 'README.md': `# ${described.name}\n\n${described.description}.\n` })
}
pack(mainPackage(), here)
