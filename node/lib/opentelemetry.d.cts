import { Client } from './client.cjs'

/** What is needed of a meter of `@opentelemetry/api`. */
export interface ObservingMeter<Instrument> {
  createObservableCounter(name: string, options?: { description?: string; unit?: string }): Instrument
  createHistogram(
    name: string,
    options?: { description?: string; unit?: string; advice?: { explicitBucketBoundaries?: number[] } }
  ): { record(value: number): void }
  createObservableGauge(name: string, options?: { description?: string; unit?: string }): Instrument
  addBatchObservableCallback(callback: (result: any) => void, instruments: Instrument[]): void
  removeBatchObservableCallback(callback: (result: any) => void, instruments: Instrument[]): void
}

/**
 * Has `meter` (`metrics.getMeter('my-service')` of `@opentelemetry/api`) read the metrics of `client` as `zkrecipes.…` whenever
 * they are collected: counters and gauges, with the attribute `kind` or `reason` where there are several, and histograms with the
 * buckets that a client counts. Times are in milliseconds. Returns a function that ends it; a client that is gone is no longer read
 * either. Give each client a meter of its own: nothing tells the numbers of several apart.
 */
export function observe<Instrument>(client: Client, meter: ObservingMeter<Instrument>): () => void
