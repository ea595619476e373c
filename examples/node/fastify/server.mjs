// Orders of one user one after the other, on all machines of the service: npm install fastify && node server.mjs

import Fastify from 'fastify'
import { Client } from 'zkrecipes'

/** The work; it stops when the signal aborts. */
async function placeOrder(user, order, { token, signal }) {
  signal.throwIfAborted()
  return { user, order, token: String(token) }
}

export async function build({ place = placeOrder, ...options } = {}) {
  const app = Fastify(options)
  const client = await Client.connect() // ZKRECIPES_HOSTS
  // After the requests that are under way. TIMEOUT, if no server confirms, would fail the whole closing.
  app.addHook('onClose', () => client.close({ timeout: 5000 }).catch((error) => console.error(error.message)))

  const user = { type: 'string', pattern: '^[\\w-]{1,64}$' }
  app.post('/users/:user/orders', { schema: { params: { type: 'object', properties: { user } } } }, async (request, reply) => {
    // Aborts when nobody waits for the answer any more.
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    try {
      return await client.lock(`/users/${request.params.user}`).run(
        (held) =>
          // The lock is lost, or nobody waits: either ends the work.
          place(request.params.user, request.body, { token: held.fencingToken, signal: AbortSignal.any([held.signal, gone.signal]) }),
        { timeout: 2000, signal: gone.signal },
      )
    } catch (error) {
      if (error.code === 'TIMEOUT') return reply.code(503).send({ error: 'the user has an order under way' })
      throw error
    }
  })
  return app
}

export async function serve(options) {
  const app = await build({ forceCloseConnections: 'idle', ...options })
  // Takes no more requests, ends those under way, closes the client, and so the process ends.
  for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => app.close())
  console.log(await app.listen({ port: Number(process.env.PORT ?? 8080) }))
}

if (import.meta.filename === process.argv[1]) await serve()
