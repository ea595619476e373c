// Follows a value that somebody changes, and goes on over reconnections:
//
//   node examples/node/config.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const config = client.config('/config/limits')
await config.update((limits) => limits ?? JSON.stringify({ exports: 3 }))

const changes = [5, 8]
for await (const now of config.watch()) {
  const limits = JSON.parse(String(now?.value ?? '{}'))
  console.log(`${limits.exports} exports at once`)
  if (changes.length === 0) break
  // Only if nobody has changed it since; BAD_VERSION otherwise.
  await config.set(JSON.stringify({ exports: changes.shift() }), now?.version)
}

await client.close()
