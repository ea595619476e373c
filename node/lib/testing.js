import testing from './testing.cjs'

export const { EmbeddedServer } = testing
