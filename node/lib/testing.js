import testing from './testing.cjs'

export const { EmbeddedServer, Ensemble, Proxy } = testing
