// What the package exports is what the declarations in lib/ do: the classes and functions of every file that is not for another
// entry of the package.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Files that users do not see as a whole, and what they see of them: types alone. */
const PARTS = {
  handle: ['Contender', 'Guard', 'Handle', 'RevokeOptions', 'WaitProgress'],
  index: [],
  metrics: ['Histogram', 'Metrics'],
  opentelemetry: [],
  testing: [],
}
const WIDTH = 140

/** A list in lines that are not too wide. */
function wrapped(names) {
  const lines = ['']
  for (const name of names) {
    if (` ${lines.at(-1)} ${name},`.length > WIDTH) lines.push('')
    lines.push(`${lines.pop()} ${name},`)
  }
  return `{\n${lines.map((line) => ` ${line}\n`).join('')}}`
}

/** The files of the index, by name, for the declarations in this folder. */
export function indexOf(folder) {
  const files = readdirSync(folder).filter((name) => name.endsWith('.d.cts')).map((name) => name.slice(0, -'.d.cts'.length)).sort()
  const types = [], requires = [], all = []
  for (const file of files) {
    const parts = PARTS[file]
    if (!parts) types.push(`export * from './${file}.cjs'\n`)
    else if (parts.length > 0) types.push(`export type { ${parts.join(', ')} } from './${file}.cjs'\n`)
    if (parts) continue
    const declared = readFileSync(join(folder, `${file}.d.cts`), 'utf8').matchAll(/^export (?:class|function) (\w+)/gm)
    const names = [...declared].map(([, name]) => name).sort()
    if (names.length > 0) requires.push(`const { ${names.join(', ')} } = require('./${file}.cjs')\n`)
    all.push(...names)
  }
  const names = wrapped(all.sort())
  return {
    'index.cjs': `'use strict'\n\n${requires.join('')}\nmodule.exports = ${names}\n`,
    'index.d.cts': types.join(''),
    // Modules have to name their exports before they run.
    'index.js': `import zkrecipes from './index.cjs'\n\nexport const ${names} = zkrecipes\n`,
  }
}
