'use strict'

const { Client, version } = require('./client.cjs')
const { AbortError, ZkRecipesError } = require('./errors.cjs')
const { Held } = require('./held.cjs')
const { Lock } = require('./lock.cjs')
const { Nodes, Transaction } = require('./nodes.cjs')

module.exports = { AbortError, Client, Held, Lock, Nodes, Transaction, ZkRecipesError, version }
