import testing from './testing.cjs'

export const { EmbeddedServer, EmbeddedZookeeper, Ensemble, Proxy, embeddedZookeeper } = testing
