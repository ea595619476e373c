'use strict'

// Takes a lock, then has a command take it: node lock.cjs HOSTS [COMMAND].

const { spawnSync } = require('node:child_process')
const { Client, version } = require('zkrecipes')
const { EmbeddedServer } = require('zkrecipes/testing')

async function main([hosts, command]) {
  const server = hosts === 'embedded:' ? EmbeddedServer.start() : undefined
  const at = server?.connectString ?? hosts
  const client = await Client.connect(at)
  await client.lock('/elsewhere/node').run((held) => {
    if (!held.isHeld) throw new Error('it is not held')
  })
  // What is imported is the same.
  if ((await import('zkrecipes')).Client !== Client) throw new Error('import and require differ')
  await client.close()
  console.log('node', process.version, version())
  if (command) {
    const args = ['--hosts', at, 'lock', '/elsewhere/node', '--', 'sh', '-c', 'test "$ZKR_FENCING_TOKEN" -gt 0']
    const { status } = spawnSync(command, args, { stdio: 'inherit' })
    if (status !== 0) throw new Error(`${command} ended with ${status}`)
    console.log('command', command)
  }
  server?.shutdown()
}

main(process.argv.slice(2))
