'use strict'

// Generated from api/ by api/generate; do not edit.

const { Barrier, DoubleBarrier } = require('./barrier.cjs')
const { Client, version } = require('./client.cjs')
const { CommitTransaction, Proposal, TwoPhaseCommit } = require('./commit.cjs')
const { Config } = require('./config.cjs')
const { Counter } = require('./counter.cjs')
const { Discovery, Instance, Registration } = require('./discovery.cjs')
const { Election, Leadership } = require('./election.cjs')
const { AbortError, ZkRecipesError } = require('./errors.cjs')
const { Feed } = require('./feed.cjs')
const { Group } = require('./group.cjs')
const { Held } = require('./held.cjs')
const { Item } = require('./item.cjs')
const { Latch } = require('./latch.cjs')
const { Lock, MultiLock, ReadWriteLock } = require('./lock.cjs')
const { onLog } = require('./log.cjs')
const { Names } = require('./names.cjs')
const { NodeCache, Nodes, Transaction } = require('./nodes.cjs')
const { Partitioner } = require('./partitioner.cjs')
const { Backlog, DeadLetters, DelayQueue, PriorityQueue, Queue } = require('./queue.cjs')
const { Semaphore } = require('./semaphore.cjs')

module.exports = {
  AbortError, Backlog, Barrier, Client, CommitTransaction, Config, Counter, DeadLetters, DelayQueue, Discovery, DoubleBarrier, Election,
  Feed, Group, Held, Instance, Item, Latch, Leadership, Lock, MultiLock, Names, NodeCache, Nodes, Partitioner, PriorityQueue, Proposal,
  Queue, ReadWriteLock, Registration, Semaphore, Transaction, TwoPhaseCommit, ZkRecipesError, onLog, version,
}
