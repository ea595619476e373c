export * from './opentelemetry.cjs'
