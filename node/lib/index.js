import zkrecipes from './index.cjs'

export const {
  AbortError, Client, Held, Lock, MultiLock, Nodes, ReadWriteLock, Semaphore, Transaction, ZkRecipesError, version,
} = zkrecipes
