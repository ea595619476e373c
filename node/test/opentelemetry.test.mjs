// The metrics of a client in OpenTelemetry's own SDK.

import assert from 'node:assert/strict'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { observe } from 'zkrecipes/opentelemetry'
import { promise } from './world.mjs'

promise('OpenTelemetry collects what a client counts, until it is ended', async (world) => {
  const client = await world.connect()
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  const collected = async () => {
    exporter.reset()
    await reader.forceFlush()
    const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    return Object.fromEntries(all.map((metric) => [metric.descriptor.name, metric]))
  }
  const stop = observe(client, provider.getMeter('test'))
  try {
    await client.lock(world.path()).run(async () => {
      const metrics = await collected()
      const value = (name) => metrics[name].dataPoints[0].value
      assert.deepEqual([value('zkrecipes.acquisitions'), value('zkrecipes.holding'), value('zkrecipes.waits').count], [1, 1, 1])
      assert.match(metrics['zkrecipes.acquisitions'].descriptor.description, /acquired/)
      const losses = metrics['zkrecipes.losses'].dataPoints.map(({ attributes, value }) => [attributes.reason, value]).sort()
      assert.deepEqual(losses, [['closed', 0], ['deleted', 0], ['revoked', 0], ['session', 0]])
      const { sum, buckets } = value('zkrecipes.waits')
      const { waits } = client.metrics
      assert.ok(Math.abs(sum - waits.sum) < 1e-6, `${sum} ${waits.sum}`)
      // Those of ours are counted up to each bound.
      let upTo = 0
      assert.deepEqual(buckets.counts.slice(0, -1).map((count, at) => ({ le: buckets.boundaries[at], count: (upTo += count) })), waits.buckets)
      assert.equal(metrics['zkrecipes.waits'].descriptor.unit, 'ms')
      assert.equal(metrics['zkrecipes.session_timeout'].descriptor.unit, 'ms')
    })
    stop()
    assert.equal((await collected())['zkrecipes.holds'].dataPoints[0].value.count, 1, 'up to the end')
    const holding = (await collected())['zkrecipes.holding'].dataPoints[0]
    assert.equal(holding.value, 1, 'what was read last')
    const again = observe(client, provider.getMeter('test'))
    await client.lock(world.path()).run(() => {})
    stop()
    const { 'zkrecipes.holds': holds, 'zkrecipes.acquisitions': acquisitions } = await collected()
    assert.deepEqual([holds.dataPoints[0].value.count, acquisitions.dataPoints[0].value], [2, 2], 'it goes on')
    again()
  } finally {
    await provider.shutdown()
  }
})

promise('a collection records a share of many durations, and the next have the rest', async (world) => {
  const client = await world.connect()
  const { waits } = client.metrics
  const bounds = waits.buckets.map(({ le }) => le)
  const [low, high] = [bounds[0], bounds.at(-1)]
  // 24,000 up to the first bound, 1,000 up to the last one, and two above it.
  const counted = { count: 25_002, sum: 1_000 * high + 2 * high + low, buckets: bounds.map((le) => ({ le, count: le === high ? 25_000 : 24_000 })) }
  const recorded = []
  let read
  const instrument = {}
  const meter = {
    createObservableCounter: () => instrument,
    createObservableGauge: () => instrument,
    createHistogram: (name) => ({ record: (value) => name === 'zkrecipes.waits' && recorded.push(value) }),
    addBatchObservableCallback: (callback) => (read = callback),
    removeBatchObservableCallback: () => {}
  }
  const many = { get metrics() { return { ...client.metrics, waits: counted } } }
  observe(many, meter)
  const seen = []
  for (let collection = 0; collection < 4; collection++) {
    read({ observe: () => {} })
    seen.push(recorded.length)
  }
  assert.ok(seen[0] >= 10_000 && seen[0] <= 10_003, `${seen}`)
  assert.deepEqual(seen.slice(2), [25_002, 25_002])
  assert.deepEqual([recorded.filter((value) => value <= low).length, recorded.filter((value) => value > high).length], [24_000, 2])
  const sum = recorded.reduce((all, value) => all + value, 0)
  assert.ok(Math.abs(sum / counted.sum - 1) < 1e-6, `${sum} ${counted.sum}`)
})
