// The package as a user gets it: packed, and installed into an empty folder without a compiler.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as esm from 'zkrecipes'
import * as testingEsm from 'zkrecipes/testing'

const { platformOf } = createRequire(import.meta.url)('../lib/native.cjs')
const run = promisify(execFile)
const here = fileURLToPath(new URL('..', import.meta.url))
const [npm, npx] = process.platform === 'win32' ? ['npm.cmd', 'npx.cmd'] : ['npm', 'npx']

/** What an example says, where that shows more than that it runs. */
const SAID = {
  'barrier.mjs': /^up: true\non we go\n$/,
  'config.mjs': /^3 exports at once\n5 exports at once\n8 exports at once\n$/,
  'counter.mjs': /^3 numbers, the last is 3 on\nbegun again\n$/,
  'double-barrier.mjs': /^computed one one one two two two\n$/,
  'election.mjs': /^(?:(?:nobody leads|leading|leader: 10\.0\.0\.7:80)\n){1,3}leader: 10\.0\.0\.7:80, ready\nleading no more\n$/,
  'group.mjs': /^at first: worker-1\nworker-2 joined, and is idle\nworker-2 left\n$/,
  'lock.mjs': /^working, with fencing token \d+\nstill held: true\nit was free\n$/,
  'lock.cjs': /^working, with fencing token \d+\n$/,
  'multi-lock.mjs': /^transferring, with fencing tokens \d+,\d+\n$/,
  'names.mjs': /^billing is at 10\.0\.0\.7:443\nbilling\n$/,
  'queue.mjs': /^sent to ann\nsent to bob\nnot sent: to nobody, Error: no such address\nbilled: the bill\n$/,
  'read-write-lock.mjs': /^2 read at once\nwriting\nreading what was written\n$/,
  'revocation.mjs': /^asked to let go\nthe impatient one has it\n$/,
  'semaphore.mjs': /^at most 3 at once\n2 permits held by 2 entries\n$/,
  'sequencer.mjs': /^valid: true\nthe holder has let go\nvalid: false\n$/,
  'watch.mjs': /^there is nobody\nthere is first\nthere is nobody\n$/,
  'two-phase-commit.mjs': /^decided: commit\nstock: commit 3 chairs\nbilling: commit 3 chairs\n$/,
  'testing.mjs': /^the work was stopped, and the lock was lost: session\n[1-9]\d* creates\n$/,
}

test('import and require give the same', () => {
  const require = createRequire(import.meta.url)
  assert.deepEqual({ ...esm }, require('zkrecipes'))
  assert.deepEqual({ ...testingEsm }, require('zkrecipes/testing'))
})

test('the package and the addon are of one version', () => {
  assert.equal(esm.version(), createRequire(import.meta.url)('zkrecipes/package.json').version)
})

test('the packed package installs into an empty folder and takes a lock', { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'zkrecipes-package-'))
  try {
    // What is native is built already.
    const { stdout } = await run(process.execPath, [join(here, 'scripts', 'pack.mjs'), folder])
    const tarballs = stdout.trim().split('\n')
    const listed = await Promise.all(tarballs.map((tarball) => run('tar', ['-tf', tarball])))
    const [native, packed] = listed.map(({ stdout }) => stdout.trim().split('\n').map((file) => file.replace(/^package\//, '')).sort())
    assert.deepEqual(native, ['LICENSE', 'README.md', 'package.json', 'zkrecipes', 'zkrecipes.node'])
    for (const file of ['lib/index.cjs', 'lib/index.js', 'lib/index.d.ts', 'lib/index.d.cts', 'lib/testing.d.ts', 'bin/zkrecipes', 'LICENSE', 'README.md']) {
      assert.ok(packed.includes(file), file)
    }
    assert.ok(packed.every((file) => !/test|scripts|native\/|\.node$|node_modules|tsconfig/.test(file.replace(/^lib\/testing\..*$|^testing\/package.json$/, ''))), packed.join())

    await writeFile(join(folder, 'package.json'), '{}')
    await run(npm, ['install', '--offline', '--no-audit', '--no-fund', ...tarballs], { cwd: folder })
    const modules = async (scope) => (await readdir(join(folder, 'node_modules', scope))).filter((name) => !name.startsWith('.'))
    assert.deepEqual([await modules('.'), await modules('@zkrecipes')], [['@zkrecipes', 'zkrecipes'], [platformOf()]])

    const { stdout: said } = await run(npx, ['--no-install', 'zkrecipes', '--version'], { cwd: folder })
    assert.equal(said, `zkrecipes ${esm.version()}\n`)

    const take = "const held = await client.lock('/lock').acquire(); console.log(held.isHeld); await client.close()"
    await writeFile(
      join(folder, 'use.mjs'),
      `import { Client } from 'zkrecipes'\nconst client = await Client.connect('embedded:'); ${take}`,
    )
    await writeFile(
      join(folder, 'use.cjs'),
      `(async () => { const client = await require('zkrecipes').Client.connect('embedded:'); ${take} })()`,
    )
    for (const script of ['use.mjs', 'use.cjs']) {
      assert.equal((await run(process.execPath, [script], { cwd: folder })).stdout, 'true\n')
    }
    const examples = (await readdir(join(here, '..', 'examples', 'node'))).filter((file) => /\.[cm]js$/.test(file))
    for (const example of Object.keys(SAID)) assert.ok(examples.includes(example), example)
    for (const example of examples) {
      await copyFile(join(here, '..', 'examples', 'node', example), join(folder, example))
      const { stdout } = await run(process.execPath, [example], { cwd: folder })
      assert.match(stdout, SAID[example] ?? /./, example)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
