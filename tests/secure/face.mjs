// What each face does once, in Node. Everything that is said goes to standard error.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'

import { Client, onLog } from '../../node/lib/index.js'

const { ZKR_SECURE_TLS_39: hosts, ZKR_SECURE_PLAIN_39: plain, ZKR_SECURE_DIR: folder, ZKR_SECURE_SECRET: secret } = process.env

onLog((record) => console.error(inspect(record, { depth: null })), { level: 'trace' })

const files = { ca: `${folder}/ca.pem`, cert: `${folder}/client.pem`, key: `${folder}/client.key` }
const memory = Object.fromEntries(Object.entries(files).map(([name, path]) => [name, readFileSync(path, 'utf8')]))
const sasl = { user: 'me', password: secret }
const auth = { scheme: 'digest', credential: `user:${secret}` }

for (const [where, options] of [
  [hosts, { tls: files, sasl }],
  [hosts, { tls: { ...memory, verifyHostname: false }, auth }],
  [plain, { sasl, auth }],
]) {
  const client = await Client.connect(where, options)
  await client.lock('/secure/lock').run(async (held) => {
    await held.verify()
    console.error(inspect([client, held], { depth: null, showHidden: true }))
  })
  await client.close()
}

for (const [code, word, where, options] of [
  ['DENIED', 'tls.ca', hosts, { tls: { ...files, ca: `${folder}/other.pem` } }],
  ['DENIED', 'tls.cert', hosts, { tls: { ca: files.ca } }],
  ['DENIED', 'plain text', plain, { tls: memory }],
  ['DENIED', 'sasl', plain, { sasl: { ...sasl, password: `${secret}-wrong` } }],
  ['INVALID', 'tls.cert', hosts, { tls: { ...memory, cert: undefined }, auth }],
  ['INVALID', 'tls.key', hosts, { tls: { ...memory, key: `-----BEGIN ${secret}` } }],
  ['INVALID', 'allow_plaintext_auth', 'zk.example.org', { auth }],
]) {
  await assert.rejects(Client.connect(where, options), (error) => {
    console.error(inspect(error, { depth: null, showHidden: true }))
    return error.code === code && error.message.includes(word)
  })
}
