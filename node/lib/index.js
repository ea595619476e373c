// Generated from api/ by api/generate; do not edit.

import zkrecipes from './index.cjs'

export const {
  AbortError, Backlog, Barrier, Client, CommitTransaction, Config, Counter, DeadLetters, DelayQueue, Discovery, DoubleBarrier, Election,
  Feed, Group, Held, Instance, Item, Latch, Leadership, Lock, MultiLock, Names, NodeCache, Nodes, Partitioner, PriorityQueue, Proposal,
  Queue, ReadWriteLock, Registration, Semaphore, Transaction, TwoPhaseCommit, ZkRecipesError, onLog, version,
} = zkrecipes
