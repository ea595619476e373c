// A report in PostgreSQL that only the holder of a lock writes, also when an earlier holder wakes up late.
//
//   node in-postgresql.mjs postgres://shop@db1/shop

import pg from 'pg'
import { Client } from 'zkrecipes'

const TABLES = `
  CREATE TABLE IF NOT EXISTS fences (resource text PRIMARY KEY, token bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS report (body text NOT NULL)`
// One row is changed, or none if a higher token stands there. It stays locked until the transaction ends.
const FENCE = `
  INSERT INTO fences (resource, token) VALUES ($1, $2)
  ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE fences.token <= excluded.token`

/** Another holder has come since: what we know is old, and nothing was written. */
export class Stale extends Error {}

/** A transaction of whoever holds the lock. It begins with the token, so what is read in it is not older. */
export async function fenced(database, resource, token, body) {
  await database.query('BEGIN')
  try {
    const { rowCount } = await database.query(FENCE, [resource, String(token)])
    if (rowCount === 0) throw new Stale(`another one has held ${resource} since token ${token}`)
    const answer = await body()
    await database.query('COMMIT')
    return answer
  } catch (error) {
    await database.query('ROLLBACK').catch(() => {})
    throw error
  }
}

export async function main(place, work = async (body) => `${body}one line more\n`) {
  // A holder that is paused within a transaction keeps the row: after this time the server takes the transaction back.
  const database = new pg.Client({ connectionString: place, idle_in_transaction_session_timeout: 10_000 })
  database.on('error', () => {}) // ended by the server: the next query says so
  await database.connect()
  const client = await Client.connect() // ZKRECIPES_HOSTS
  try {
    await client.lock('/locks/report').run(async ({ fencingToken }) => {
      await database.query(TABLES)
      // From here on no earlier holder writes.
      const { rows } = await fenced(database, 'report', fencingToken, () => database.query('SELECT body FROM report'))
      const body = await work(rows[0]?.body ?? '') // takes as long as it takes, so it is in no transaction
      await fenced(database, 'report', fencingToken, async () => {
        await database.query('DELETE FROM report')
        await database.query('INSERT INTO report (body) VALUES ($1)', [body])
      })
      console.log(`written with token ${fencingToken}`)
    })
  } finally {
    await client.close({ timeout: 5000 }).catch((error) => console.error(error.message)) // no server has confirmed
    await database.end()
  }
}

if (import.meta.filename === process.argv[1]) {
  await main(process.argv[2]).catch((error) => {
    if (!(error instanceof Stale)) throw error
    console.error(`nothing was written: ${error.message}`)
    process.exitCode = 1
  })
}
