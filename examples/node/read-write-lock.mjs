// Readers share, writers exclude everybody; and a writer becomes a reader without letting anybody in between:
//
//   node examples/node/read-write-lock.mjs zk1:2181

import { Client } from 'zkrecipes'

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const mine = client.readWriteLock('/locks/catalogue')
const yours = client.readWriteLock('/locks/catalogue')

await mine.read.run(() => yours.read.run(() => console.log('2 read at once')))

const writing = await mine.write.acquire({ timeout: 5000 })
console.log('writing')
const reading = await writing.downgrade()
console.log('reading what was written')
await reading.release()

await client.close()
