// Three instances of a service, and somebody who calls them in turn and leaves out the one that does not answer.
//
//   node examples/node/discovery.mjs zk1:2181

import { Client } from 'zkrecipes'

async function call(uri) {
  if (uri === 'http://10.0.0.2:8080/hello') throw new Error(`${uri} does not answer`)
  console.log(`called ${uri}`)
}

const client = await Client.connect(process.argv[2] ?? 'embedded:')
const discovery = client.discovery('/examples/services')
for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) {
  // It is kept in every session, until it is unregistered or the client is closed.
  await discovery.register({ name: 'hello', address, port: 8080, uriSpec: '{scheme}://{address}:{port}/{name}' })
}

for (let round = 0; round < 6; round++) {
  // Only the first one asks the server.
  const instance = await discovery.pick('hello')
  try {
    await call(instance.uri)
  } catch (error) {
    console.log(`${error.message}; for a while others are picked`)
    instance.failed()
  }
}

await client.close()
