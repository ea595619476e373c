// Has nothing to do but to hold, to wait, or to be idle. Says what it comes to; the exit code 13 is Node's for one who still
// waits when nothing is left to happen.
import { once } from 'node:events'
import v8 from 'node:v8'
import vm from 'node:vm'
import { Client } from 'zkrecipes'

const [hosts, path, how] = process.argv.slice(2)
const client = await Client.connect(hosts, { sessionTimeout: 30_000 })
const lock = client.lock(path)
const say = (what) => console.log(what)

const hows = {
  idle: () => client.onState(() => {}),
  'holds until it is lost': async () => {
    const held = await lock.acquire()
    say('held')
    await once(held.signal, 'abort')
    say(held.signal.reason.code)
  },
  'holds and listens': async () => {
    const held = await lock.acquire()
    say('held')
    held.onLost(({ code }) => say(code))
  },
  'holds several': async () => {
    const held = [await lock.acquire(), await client.semaphore(`${path}-semaphore`, 2).acquire(2)]
    say('held')
    await once(held[0].signal, 'abort')
    say('one lost')
    setTimeout(() => held[1].release().then(() => say('other released')), 50)
  },
  'waits for a lock': async () => {
    void lock.acquire().then(async (held) => {
      say('acquired')
      await held.release()
      say('released')
    })
    say('waiting')
  },
  'watches a sequencer': async () => {
    const held = await lock.acquire()
    const { sequencer } = held
    setTimeout(() => void held.release({ wait: false }), 50)
    await client.watchSequencer(sequencer)
    say('over')
  },
  'has a feed': async () => {
    const feed = client.config(path).watch()
    await feed.next()
    setInterval(() => feed, 1000).unref()
  },
  'waits for the next item': async () => {
    const seen = []
    for await (const found of client.config(path).watch()) {
      seen.push(found)
      say(String(found.value))
      if (seen.length === 2) break
    }
  },
  'forgets what it holds': async () => {
    // Nothing refers to the Held or its handle any more; the timer does not keep the process alive.
    await client.lock(path).acquire()
    say('held')
    v8.setFlagsFromString('--expose-gc')
    setInterval(vm.runInNewContext('gc'), 20).unref()
  },
  'lets go': async () => {
    await (await lock.acquire()).release()
    await (await lock.acquire()).release({ wait: false })
    await lock.run(() => {})
    const closing = await Client.connect(hosts)
    await closing.lock(`${path}-closing`).acquire()
    await closing.close()
    say('nothing held')
  },
  'withdraws a downgrade that has happened': async () => {
    const writing = await client.readWriteLock(path).write.acquire()
    const withdrawal = new AbortController()
    const downgrading = writing.downgrade({ signal: withdrawal.signal })
    // The answer comes, and this thread does not come to it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
    withdrawal.abort()
    say(await downgrading.catch(({ name }) => name))
    say(writing.isHeld)
    // Not that it is collected.
    globalThis.writing = writing
  },
  'holds, unref': async () => {
    await lock.acquire()
    if (client.unref() !== client) say('unref returns something else')
    client.unref()
    say('held')
  },
  'waits, unref': async () => {
    void lock.acquire()
    client.unref()
    say('waiting')
  },
  'unref, ref': async () => {
    client.unref()
    client.unref()
    if (client.ref() !== client) say('ref returns something else')
    const held = await lock.acquire()
    say('held')
    held.onLost(({ code }) => say(code))
  },
  'unref, close': async () => {
    await lock.acquire()
    client.unref()
    await client.close()
    say('closed')
  },
  'is in a round, cannot close': async () => {
    globalThis.round = client.doubleBarrier(path, 1)
    await globalThis.round.enter()
    const told = once(process, 'SIGTERM')
    say('entered')
    await told
    await client.close({ timeout: 100 }).catch(({ code }) => say(code))
  },
}
await hows[how]()
