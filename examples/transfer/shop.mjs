// The shop: the other site. It is the bank's bank.py over again, in Node.
//
//   node shop.mjs shop.db zk1:2181
//
// Node has SQLite itself from 22.5 on. Before that `npm install libsql`, which is used in the same way.

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'zkrecipes'

const { DatabaseSync: Database } = await import('node:sqlite').catch(async () => {
  return { DatabaseSync: (await import('libsql')).default }
})

const [file, hosts] = process.argv.slice(2)
const db = new Database(file)
const run = (sql, ...values) => db.prepare(sql).run(...values)

/** All of it in one transaction of the database, or nothing. */
function atomically(work) {
  run('BEGIN IMMEDIATE')
  try {
    work()
    run('COMMIT')
  } catch (error) {
    run('ROLLBACK')
    throw error
  }
}

atomically(() => {
  run('CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, cents INTEGER CHECK (cents >= 0))')
  run('INSERT OR IGNORE INTO account VALUES (1, 100000)')
  run('CREATE TABLE IF NOT EXISTS payment (id TEXT PRIMARY KEY, cents INTEGER, state TEXT)')
})

/** Whether it can be done: then it can be from here on, and can be undone, whatever happens to us. */
function prepare(payment, cents) {
  const known = db.prepare('SELECT state FROM payment WHERE id = ?').get(payment)
  // We may have been killed before we voted. What is settled is never done again.
  if (known) return known.state === 'prepared'
  try {
    atomically(() => {
      run("INSERT INTO payment VALUES (?, ?, 'prepared')", payment, cents)
      // What we pay is set aside.
      run('UPDATE account SET cents = cents + ?', Math.min(cents, 0))
    })
  } catch (error) {
    if (/CHECK/.test(error.message)) return false // There is not that much in the account.
    throw error
  }
  return true
}

/** Does what was decided; a second time it does nothing. */
function settle(payment, outcome) {
  const prepared = db.prepare("SELECT cents FROM payment WHERE id = ? AND state = 'prepared'").get(payment)
  if (!prepared) return
  // What comes is booked by a commit, and what was set aside goes back by an abort.
  const booked = outcome === 'commit' ? Math.max(prepared.cents, 0) : Math.max(-prepared.cents, 0)
  atomically(() => {
    run('UPDATE account SET cents = cents + ?', booked)
    run('UPDATE payment SET state = ? WHERE id = ?', outcome, payment)
  })
}

async function finish(proposal) {
  const { id } = proposal
  console.log('asked', id)
  if (!proposal.hasVoted) {
    const { shop: cents } = JSON.parse(proposal.payload)
    if (prepare(id, cents)) {
      console.log('prepared', id)
      await proposal.voteCommit()
    } else {
      await proposal.voteAbort('not enough money, or settled before')
    }
  }
  console.log('voted', id)
  const outcome = await proposal.outcome()
  console.log(outcome, id)
  settle(id, outcome)
  console.log('settled', id)
  await proposal.acknowledge()
  console.log('done', id)
}

/** One that is in doubt holds up no other. An error ends the program, as a crash does. */
function begin(proposal) {
  void finish(proposal)
}

/** Who was killed is there until its session ends; after that somebody else is the shop. */
async function join(payments, until) {
  for (;;) {
    try {
      return await payments.join('shop')
    } catch (error) {
      if (error.code !== 'EXISTS' || performance.now() > until) throw error
      await sleep(200)
    }
  }
}

const client = await Client.connect(hosts)
const payments = client.twoPhaseCommit('/payments')
await join(payments, performance.now() + 2 * client.sessionTimeout)
const asked = await payments.pending()
// What we prepared and were killed before we voted on may be over without us: then it was aborted.
for (const { id } of db.prepare("SELECT id FROM payment WHERE state = 'prepared'").all()) {
  if (!asked.some((proposal) => proposal.id === id)) settle(id, 'abort')
}
for (const proposal of asked) begin(proposal)
const begun = new Set(asked.map((proposal) => proposal.id))
for (;;) {
  const proposal = await payments.next()
  // What has not been voted on yet is told here as well.
  if (!begun.has(proposal.id)) begin(proposal)
}
