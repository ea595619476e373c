// What each face does once, in Node. Everything that is said goes to standard error.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'

import { Client, onLog } from '../../node/lib/index.js'

const server = (name) => process.env[`ZKR_SECURE_${name}`]
const { ZKR_SECURE_TLS_39: hosts, ZKR_SECURE_PLAIN_39: plain, ZKR_SECURE_DIR: folder, ZKR_SECURE_SECRET: secret } = process.env

onLog((record) => console.error(inspect(record, { depth: null })), { level: 'trace' })

const files = { ca: `${folder}/ca.pem`, cert: `${folder}/client.pem`, key: `${folder}/client.key` }
const memory = Object.fromEntries(Object.entries(files).map(([name, path]) => [name, readFileSync(path, 'utf8')]))
const sasl = { user: 'me', password: secret }
const auth = { scheme: 'digest', credential: `user:${secret}` }
// As it looks when the first line was not copied.
const headless = memory.key.slice(memory.key.indexOf('\n') + 1)

for (const [where, options] of [
  [hosts, { tls: files, sasl }],
  [hosts, { tls: { ...memory, verifyHostname: false }, auth }],
  [hosts, { tls: { ...files, ca: `${folder}/old-lists.pem`, allowExpiredCrls: true }, sasl }],
  // With what an environment may leave of a list.
  [`${plain.replaceAll(',', ' , ')},`, { sasl, auth }],
]) {
  const client = await Client.connect(where, options)
  await client.lock('/secure/lock').run(async (held) => {
    await held.verify()
    console.error(inspect([client, held], { depth: null, showHidden: true }))
  })
  await client.close()
}

{
  // What the owner holds can be neither deleted, nor queued for, nor asked for by whoever has no credentials.
  const [owner, stranger] = [await Client.connect(plain, { sasl, auth }), await Client.connect(plain)]
  await owner.lock('/owned/lock').run(async (held) => {
    const theirs = stranger.lock('/owned/lock')
    await assert.rejects(stranger.nodes.delete(held.node), { code: 'DENIED' })
    await assert.rejects(theirs.acquire(), { code: 'DENIED' })
    await assert.rejects(theirs.revoke(held.node, { forceAfter: 0 }), { code: 'DENIED' })
    await held.verify()
  })
  await Promise.all([owner.close(), stranger.close()])
}

for (const [code, word, where, options] of [
  ['DENIED', 'tls.ca', hosts, { tls: { ...files, ca: `${folder}/other.pem` } }],
  ['DENIED', 'tls.cert', hosts, { tls: { ca: files.ca } }],
  ['DENIED', 'plain text', plain, { tls: memory }],
  ['DENIED', 'sasl', plain, { sasl: { ...sasl, password: `${secret}-wrong` } }],
  ['INVALID', 'tls.cert', hosts, { tls: { ...memory, cert: undefined }, auth }],
  ['INVALID', 'tls.key', hosts, { tls: { ...memory, key: `-----BEGIN ${secret}` } }],
  ['DENIED', 'has expired', server('EXPIRED'), { tls: { ca: files.ca } }],
  ['DENIED', 'self-signed', server('ALONE'), { tls: { ca: files.ca } }],
  ['DENIED', 'for other hosts', server('ELSEWHERE'), { tls: { ca: files.ca } }],
  ['INVALID', 'tls.key', hosts, { tls: { ...memory, key: headless } }],
  ['INVALID', 'tls.ca', hosts, { tls: { ca: headless } }],
  ['INVALID', 'has credentials', `me:${secret}@zk.example.org:2181`, {}],
  ['INVALID', 'SRV', '_zookeeper._tcp.example.org', {}],
  ['INVALID', 'ZKRECIPES_FORBID_EMBEDDED', 'embedded:', {}],
  ['INVALID', 'allow_plaintext_auth', 'zk.example.org', { auth }],
  ['INVALID', 'allow_plaintext_auth', 'zk.example.org', { sasl }],
  ['DENIED', 'tls.allow_expired_crls', hosts, { tls: { ...files, ca: `${folder}/old-lists.pem` } }],
]) {
  await assert.rejects(Client.connect(where, options), (error) => {
    console.error(inspect(error, { depth: null, showHidden: true }))
    return error.code === code && error.message.includes(word)
  })
}
