// How the addon and the command of a platform are found, on platforms that are not this one too.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const { libcOf, load, platformOf } = createRequire(import.meta.url)('../lib/native.cjs')
const here = fileURLToPath(new URL('..', import.meta.url))
const packaged = { version: '1.2.3', optionalDependencies: { '@zkrecipes/linux-x64-gnu': '1.2.3', '@zkrecipes/linux-x64-musl': '1.2.3', other: '1' } }

async function withFolder(body) {
  const folder = await mkdtemp(join(tmpdir(), 'zkrecipes-native-'))
  try {
    await body(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A `require` that knows these files. */
function only(files) {
  return (file) => {
    if (file in files) return files[file]()
    throw Object.assign(new Error(`Cannot find module '${file}'`), { code: 'MODULE_NOT_FOUND' })
  }
}

/** The beginning of a program that asks for this loader. */
async function program(folder, loader) {
  const file = join(folder, loader.replaceAll('/', '-'))
  await writeFile(file, Buffer.concat([Buffer.from('\x7fELF'), Buffer.alloc(700), Buffer.from(`${loader}\0`)]))
  return file
}

test('every platform has the name of its package', () =>
  withFolder(async (folder) => {
    const loaders = { musl: '/lib/ld-musl-x86_64.so.1', glibc: '/lib64/ld-linux-x86-64.so.2' }
    const platforms = JSON.parse(await readFile(join(here, 'platforms.json'), 'utf8'))
    for (const [name, { os, cpu, libc = 'glibc' }] of Object.entries(platforms)) {
      assert.equal(platformOf({ platform: os, arch: cpu, execPath: await program(folder, loaders[libc]) }), name)
    }
    assert.equal(libcOf(join(folder, 'none')), 'gnu')
  }))

test('what a checkout has comes before what npm has installed', () => {
  const both = only({ '../native/linux-x64-gnu/zkrecipes.node': () => 'built', '@zkrecipes/linux-x64-gnu': () => 'installed' })
  assert.equal(load('linux-x64-gnu', { load: both }), 'built')
  assert.equal(load('linux-x64-musl', { load: only({ '@zkrecipes/linux-x64-musl': () => 'installed' }) }), 'installed')
})

test('a platform whose package is left out is told how to get it', () => {
  assert.throws(() => load('linux-x64-musl', { load: only({}), packaged }), (error) => {
    assert.match(error.message, /^zkrecipes needs its native part: @zkrecipes\/linux-x64-musl is not installed/)
    assert.match(error.message, /npm install @zkrecipes\/linux-x64-musl@1\.2\.3$/)
    return error.cause.code === 'MODULE_NOT_FOUND'
  })
})

test('a platform that has no package is told which have one, and how to build it', () => {
  const message = /there is none for freebsd-x64, only for linux-x64-gnu, linux-x64-musl\. With Rust it can be built from a checkout/
  assert.throws(() => load('freebsd-x64', { load: only({}), packaged }), { message })
  assert.throws(() => load('freebsd-x64', { load: only({}), packaged: { version: '1.2.3' } }), { message: /there is none for freebsd-x64\. With Rust/ })
})

test('an addon that is there and cannot be loaded is not said to be missing', () => {
  const broken = () => {
    throw Object.assign(new Error("version `GLIBC_2.17' not found"), { code: 'ERR_DLOPEN_FAILED' })
  }
  const file = '../native/linux-x64-gnu/zkrecipes.node'
  assert.throws(() => load('linux-x64-gnu', { load: only({ [file]: broken }) }), {
    message: "the native part of zkrecipes for linux-x64-gnu is there and cannot be loaded: version `GLIBC_2.17' not found. It needs glibc 2.17 or later.",
  })
})

/** The command as npm installs it, with a native one for each of these platforms which says its name. */
async function installed(folder, names, place = 'node_modules') {
  const bin = join(folder, 'node_modules', 'zkrecipes', 'bin', 'zkrecipes')
  await mkdir(dirname(bin), { recursive: true })
  await copyFile(join(here, 'bin', 'zkrecipes'), bin)
  for (const name of names) {
    const command = join(folder, place, '@zkrecipes', name, 'zkrecipes')
    await mkdir(dirname(command), { recursive: true })
    await writeFile(command, `#!/bin/sh\necho ${name} "$@"\n`)
    await chmod(command, 0o755)
  }
  await mkdir(join(folder, 'node_modules', '.bin'), { recursive: true })
  const link = join(folder, 'node_modules', '.bin', 'zkrecipes')
  await symlink('../zkrecipes/bin/zkrecipes', link)
  return link
}

const own = platformOf()
const says = (command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  return [status, stdout, stderr]
}

test('the command is that of this platform, through links, in both places where npm puts it', () =>
  withFolder(async (folder) => {
    const everywhere = ['linux-x64-gnu', 'linux-arm64-gnu', 'linux-x64-musl', 'darwin-arm64', 'darwin-x64']
    const command = await installed(join(folder, 'a b'), everywhere)
    assert.deepEqual(says(command, 'lock', '/a b'), [0, `${own} lock /a b\n`, ''])
    const inside = await installed(join(folder, 'c'), [own], join('node_modules', 'zkrecipes', 'node_modules'))
    assert.deepEqual(says(inside), [0, `${own}\n`, ''])
  }))

test('with glibc the command for musl will do', { skip: !own.endsWith('-gnu') && 'this platform has no two of them' }, () =>
  withFolder(async (folder) => {
    const musl = own.replace(/gnu$/, 'musl')
    assert.deepEqual(says(await installed(folder, [musl])), [0, `${musl}\n`, ''])
  }))

test('a command without its native part says what to do', () =>
  withFolder(async (folder) => {
    const [status, stdout, stderr] = says(await installed(folder, []))
    assert.deepEqual([status, stdout], [70, ''])
    assert.match(stderr, /^zkrecipes: its native part is not installed; node -e 'require\("zkrecipes"\)' says what to do\n$/)
  }))
