// Connects, and does nothing else.
import { Client } from 'zkrecipes'

const connecting = Client.connect(process.argv[2], { connectTimeout: 30_000 })
console.log('connecting')
await connecting
console.log('connected')
