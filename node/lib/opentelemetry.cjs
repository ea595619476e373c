'use strict'

// The metrics of a client, for a meter of OpenTelemetry's. Its package is the user's: nothing of it is needed here.

const NAMES = /^# HELP zkrecipes_(\w+?)(?:_total|_seconds)? (.*)\n# TYPE \w+ (\w+)$/gm

/** Has `meter` read the metrics of `client` whenever they are collected; returns a function that ends it. */
function observe(client, meter) {
  const known = new WeakRef(client)
  const first = client.metrics
  const told = new Map([...first.prometheus.matchAll(NAMES)].map(([, name, description, kind]) => [camel(name), { name, description, kind }]))
  // What has no value yet is not in the text.
  const untold = (name) => ({ name: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), description: '', kind: 'gauge' })
  const instruments = []
  const histograms = []
  const readers = []
  const add = (make, name, options, read) => {
    const instrument = make.call(meter, `zkrecipes.${name}`, options)
    instruments.push(instrument)
    readers.push((result, metrics) => read(metrics, (value, attributes) => result.observe(instrument, value, attributes)))
  }
  for (const field of Object.keys(first).filter((field) => field !== 'prometheus')) {
    const { name, description, kind } = told.get(field) ?? untold(field)
    if (kind === 'histogram') {
      histograms.push(durations(meter, `zkrecipes.${name}`, description, field, first))
    } else {
      const unit = field.startsWith('lease') || field.endsWith('Timeout') ? 'ms' : '1'
      const make = kind === 'counter' ? meter.createObservableCounter : meter.createObservableGauge
      add(make, name, { description, unit }, (metrics, observe) => values(field, metrics[field], observe))
    }
  }
  // What cannot be observed from outside is recorded: whoever collects reads the instruments after the callbacks.
  const tell = (metrics) => histograms.forEach((tell) => tell(metrics))
  const read = (result) => {
    const metrics = known.deref()?.metrics
    if (!metrics) return
    readers.forEach((reader) => reader(result, metrics))
    tell(metrics)
  }
  meter.addBatchObservableCallback(read, instruments)
  return () => {
    meter.removeBatchObservableCallback(read, instruments)
    const metrics = known.deref()?.metrics
    if (metrics) tell(metrics)
  }
}

/** What tells a histogram of OpenTelemetry's what ours has counted since it was told last. */
function durations(meter, name, description, field, first) {
  const bounds = first[field].buckets.map(({ le }) => le)
  const histogram = meter.createHistogram(name, { description, unit: 'ms', advice: { explicitBucketBoundaries: bounds } })
  let before = { count: 0, sum: 0, buckets: bounds.map((le) => ({ le, count: 0 })) }
  return (metrics) => {
    const now = metrics[field]
    if (now.count <= before.count) return
    const upTo = now.buckets.map(({ count }, at) => count - before.buckets[at].count)
    const counts = upTo.map((count, at) => count - (upTo[at - 1] ?? 0))
    const over = now.count - before.count - upTo.at(-1)
    for (const [value, count] of standIns(bounds, counts, over, now.sum - before.sum)) {
      for (let one = 0; one < count; one++) histogram.record(value)
    }
    before = now
  }
}

/**
 * Values that fall into the buckets as the durations did of which only these are known, and have their sum. Each stands at the same
 * part of its bucket; those over the last bound have what is left.
 */
function* standIns(bounds, counts, over, sum) {
  const spans = bounds.map((high, at) => ({ low: bounds[at - 1] ?? 0, high, count: counts[at] }))
  const least = spans.reduce((all, { low, count }) => all + low * count, 0)
  const most = spans.reduce((all, { high, count }) => all + high * count, 0)
  // A value at the lower bound would be in the bucket before.
  const part = over || most === least ? 0.5 : Math.min(Math.max((sum - least) / (most - least), 1e-9), 1)
  let left = sum
  for (const { low, high, count } of spans.filter(({ count }) => count > 0)) {
    const value = Math.min(low + part * (high - low), high)
    left -= value * count
    yield [value, count]
  }
  if (over) yield [Math.max(left / over, bounds.at(-1) * (1 + 1e-9)), over]
}

function values(field, value, observe) {
  if (typeof value === 'number') observe(value)
  else if (value) {
    const label = field === 'requests' ? 'kind' : 'reason'
    for (const [name, count] of Object.entries(value)) observe(count, { [label]: name })
  }
}

function camel(name) {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
}

module.exports = { observe }
