import opentelemetry from './opentelemetry.cjs'

export const { observe } = opentelemetry
