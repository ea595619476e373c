'use strict'

// The metrics of a client, for a meter of OpenTelemetry's. Its package is the user's: nothing of it is needed here.

const NAMES = /^# HELP zkrecipes_(\w+?)(?:_total|_seconds)? (.*)\n# TYPE \w+ (\w+)$/gm

// Of one histogram. Whoever collects waits for it, and the next collections have the rest.
const MOST_AT_ONCE = 10_000

// By meter and client, what histograms were told: that of a client which is observed again goes on.
const toldOf = new WeakMap()

/** Has `meter` read the metrics of `client` whenever they are collected; returns a function that ends it. */
function observe(client, meter) {
  const known = new WeakRef(client)
  const first = client.metrics
  const ofClients = kept(toldOf, meter, () => new WeakMap())
  const toHistograms = kept(ofClients, client, () => new Map())
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
      histograms.push(durations(meter, `zkrecipes.${name}`, description, field, first, toHistograms))
    } else {
      const unit = field.startsWith('lease') || field.endsWith('Timeout') ? 'ms' : '1'
      const make = kind === 'counter' ? meter.createObservableCounter : meter.createObservableGauge
      add(make, name, { description, unit }, (metrics, observe) => values(field, metrics[field], observe))
    }
  }
  // What cannot be observed from outside is recorded: whoever collects reads the instruments after the callbacks.
  const tell = (metrics, most) => histograms.forEach((tell) => tell(metrics, most))
  const read = (result) => {
    const metrics = known.deref()?.metrics
    if (!metrics) return
    readers.forEach((reader) => reader(result, metrics))
    tell(metrics, MOST_AT_ONCE)
  }
  meter.addBatchObservableCallback(read, instruments)
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    meter.removeBatchObservableCallback(read, instruments)
    const metrics = known.deref()?.metrics
    if (metrics) tell(metrics, Infinity)
  }
}

/** What tells a histogram of OpenTelemetry's what ours has counted since it was told last. */
function durations(meter, name, description, field, first, toHistograms) {
  const bounds = first[field].buckets.map(({ le }) => le)
  const histogram = meter.createHistogram(name, { description, unit: 'ms', advice: { explicitBucketBoundaries: bounds } })
  // Those over the last bound are the last.
  const told = kept(toHistograms, field, () => ({ counts: [...bounds, Infinity].map(() => 0), sum: 0 }))
  return (metrics, most) => {
    const now = metrics[field]
    const upTo = [...now.buckets.map(({ count }) => count), now.count]
    const counts = upTo.map((count, at) => Math.max(count - (upTo[at - 1] ?? 0) - told.counts[at], 0))
    const all = counts.reduce((all, count) => all + count, 0)
    // No bucket waits for the others.
    const share = (count) => (all <= most ? count : Math.min(count, Math.floor((count * most) / all) + 1))
    for (const [at, value] of standIns(bounds, counts, now.sum - told.sum)) {
      const now = share(counts[at])
      for (let one = 0; one < now; one++) histogram.record(value)
      told.counts[at] += now
      told.sum += value * now
    }
  }
}

/**
 * For each bucket that has any a value that falls into it as the durations did of which only these are known. All together have
 * their sum: each stands at the same part of its bucket; those over the last bound have what is left.
 */
function* standIns(bounds, counts, sum) {
  const over = counts[bounds.length]
  const spans = bounds.map((high, at) => ({ at, low: bounds[at - 1] ?? 0, high, count: counts[at] }))
  const least = spans.reduce((all, { low, count }) => all + low * count, 0)
  const most = spans.reduce((all, { high, count }) => all + high * count, 0)
  const part = most === least ? 0.5 : (sum - over * bounds.at(-1) - least) / (most - least)
  // A value at the lower bound would be in the bucket before.
  const inside = Math.min(Math.max(part, 1e-9), 1)
  let left = sum
  for (const { at, low, high, count } of spans.filter(({ count }) => count > 0)) {
    const value = Math.min(low + inside * (high - low), high)
    left -= value * count
    yield [at, value]
  }
  if (over) yield [bounds.length, Math.max(left / over, bounds.at(-1) * (1 + 1e-9))]
}

/** What a map has for a key, made if there is none. */
function kept(map, key, make) {
  if (!map.has(key)) map.set(key, make())
  return map.get(key)
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
