import zkrecipes from './index.cjs'

export const { AbortError, Client, Held, Lock, Nodes, Transaction, ZkRecipesError, version } = zkrecipes
