// The same from CommonJS.

import zkrecipes = require('zkrecipes')
import testing = require('zkrecipes/testing')

async function main(): Promise<void> {
  const server: testing.EmbeddedServer = testing.EmbeddedServer.start()
  const client: zkrecipes.Client = await zkrecipes.Client.connect(server.connectString)
  const held: zkrecipes.Held = await client.lock('/lock').acquire()
  await held.release()
  await client.close()
}

void main()
