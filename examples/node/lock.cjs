// The same from CommonJS, in short:
//
//   node examples/node/lock.cjs zk1:2181

const { Client } = require('zkrecipes')

async function main() {
  const client = await Client.connect(process.argv[2] ?? 'embedded:')
  await client.lock('/locks/report').run(async (held) => {
    console.log(`working, with fencing token ${held.fencingToken}`)
  })
  await client.close()
}

main()
