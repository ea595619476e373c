import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const tsc = path.join(root, 'node_modules/typescript/bin/tsc')

// What the examples take from the program that they stand in.
const AROUND = `
import { Barrier, Client, Config, Item, Lock, Queue } from 'zkrecipes'
import { EmbeddedServer, Ensemble, Proxy, embeddedZookeeper } from 'zkrecipes/testing'
declare const barrier: Barrier, client: Client, config: Config, item: Item, lock: Lock, queue: Queue
declare const signal: AbortSignal, shutdown: AbortSignal
declare const defaults: object, order: Uint8Array, steps: number[]
declare function publish(options: { fencingToken: bigint, signal: AbortSignal }): Promise<void>
declare function serve(options: { epoch: bigint, signal: AbortSignal }): Promise<void>
declare function transfer(options: { fencingTokens: bigint[] }): Promise<void>
declare function send(data: Buffer): Promise<void>
declare function canDo(payload: Buffer): Promise<boolean>
declare function doIt(payload: Buffer): Promise<void>
declare function compute(step: number): Promise<void>
declare function apply(value: unknown): void
declare function show(value: string | string[]): void
declare function takeOver(name: string): void
declare function apologize(): void
`

/** The examples that stand in the comments of a file, as they are meant: `…` is what the reader fills in. */
function examplesOf(text) {
  const fences = [...text.matchAll(/```(?:js|ts)\n(.*?)```/gs)]
  return fences.map(([, body]) => body.replace(/^\s*\* ?/gm, '').replaceAll('…', ''))
}

/** What the compiler says of such files. */
async function compile(files, options = {}) {
  const folder = await mkdtemp(path.join(root, 'test/types/tmp-'))
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text)
    const compilerOptions = {
      strict: true, noEmit: true, module: 'node16', moduleResolution: 'node16', target: 'es2022',
      lib: ['es2022', 'esnext.disposable'], types: ['node'], ...options,
    }
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts', '*.cts', '*.ts'] }))
    return await run(process.execPath, [tsc, '-p', folder], { cwd: root }).then(() => '', ({ stdout }) => stdout)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test('every example of the documentation is compiled', async () => {
  const examples = []
  for (const name of await readdir(path.join(root, 'lib'))) {
    if (!name.endsWith('.d.cts')) continue
    const found = examplesOf(await readFile(path.join(root, 'lib', name), 'utf8'))
    examples.push(...found.map((body, at) => `\n// ${name}, ${at + 1}\nexport async function from_${name.replace(/\W/g, '_')}_${at}() {\n${body}}\n`))
  }
  assert.ok(examples.length >= 25, `${examples.length} examples`)
  // And one that is wrong is noticed.
  const said = await compile({ 'examples.mts': AROUND + examples.join(''), 'wrong.mts': `${AROUND}lock.acquire({ timeot: 5 })` })
  assert.match(said, /wrong\.mts.*timeot/)
  assert.deepEqual(said.split('\n').filter((line) => line && !/^\s|wrong\.mts/.test(line)), [])
})

test('types are found whatever way modules are resolved', async () => {
  const use = `
import { Client, Held } from 'zkrecipes'
import { EmbeddedServer } from 'zkrecipes/testing'
import * as telemetry from 'zkrecipes/opentelemetry'
export async function use(): Promise<Held> {
  const client: Client = await Client.connect(EmbeddedServer.start().connectString)
  return client.lock('/a').acquire({ timeout: 5 })
}
export const names: string[] = Object.keys(telemetry)
`
  // A program of its own, which has the package among its modules.
  const folder = await mkdtemp(path.join(tmpdir(), 'zkrecipes-types-'))
  try {
    await mkdir(path.join(folder, 'node_modules/@types'), { recursive: true })
    await symlink(root, path.join(folder, 'node_modules/zkrecipes'))
    await symlink(path.join(root, 'node_modules/@types/node'), path.join(folder, 'node_modules/@types/node'))
    for (const [name, module, moduleResolution] of [
      ['use.ts', 'commonjs', 'node10'], ['use.cts', 'node16', 'node16'], ['use.mts', 'node16', 'node16'], ['use.ts', 'esnext', 'bundler'],
    ]) {
      await writeFile(path.join(folder, name), use)
      const options = ['--module', module, '--moduleResolution', moduleResolution, '--strict', '--noEmit', '--target', 'es2022']
      const more = ['--lib', 'es2022,esnext.disposable', '--types', 'node', '--skipLibCheck', '--ignoreDeprecations', '5.0']
      const said = await run(process.execPath, [tsc, ...options, ...more, name], { cwd: folder }).then(() => '', ({ stdout }) => stdout)
      assert.equal(said, '', `${name} by ${moduleResolution}`)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
