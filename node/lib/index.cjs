'use strict'

const { Client, version } = require('./client.cjs')
const { AbortError, ZkRecipesError } = require('./errors.cjs')
const { Held } = require('./held.cjs')
const { Lock, MultiLock, ReadWriteLock } = require('./lock.cjs')
const { Nodes, Transaction } = require('./nodes.cjs')
const { Semaphore } = require('./semaphore.cjs')

module.exports = {
  AbortError, Client, Held, Lock, MultiLock, Nodes, ReadWriteLock, Semaphore, Transaction, ZkRecipesError, version,
}
