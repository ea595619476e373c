// Generated from api/ by api/generate; do not edit.

import zkrecipes from './index.cjs'

export const {
  AbortError, Backlog, Barrier, Client, CommitTransaction, Config, Counter, DeadLetters, DelayQueue, DoubleBarrier, Election, Feed, Group,
  Held, Item, Latch, Leadership, Lock, MultiLock, Names, Nodes, Partitioner, PriorityQueue, Proposal, Queue, ReadWriteLock, Semaphore,
  Transaction, TwoPhaseCommit, ZkRecipesError, onLog, version,
} = zkrecipes
