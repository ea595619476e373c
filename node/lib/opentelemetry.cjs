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
  const readers = []
  const add = (make, name, options, read) => {
    const instrument = make.call(meter, `zkrecipes.${name}`, options)
    instruments.push(instrument)
    readers.push((result, metrics) => read(metrics, (value, attributes) => result.observe(instrument, value, attributes)))
  }
  for (const field of Object.keys(first).filter((field) => field !== 'prometheus')) {
    const { name, description, kind } = told.get(field) ?? untold(field)
    const counter = meter.createObservableCounter
    if (kind === 'histogram') {
      add(counter, `${name}.count`, { description, unit: '1' }, (metrics, observe) => observe(metrics[field].count))
      add(counter, `${name}.sum`, { description, unit: 'ms' }, (metrics, observe) => observe(metrics[field].sum))
      add(counter, `${name}.buckets`, { description, unit: '1' }, (metrics, observe) => {
        for (const { le, count } of metrics[field].buckets) observe(count, { le })
      })
    } else {
      const unit = field.startsWith('lease') ? 'ms' : '1'
      add(kind === 'counter' ? counter : meter.createObservableGauge, name, { description, unit }, (metrics, observe) => values(field, metrics[field], observe))
    }
  }
  const read = (result) => {
    const metrics = known.deref()?.metrics
    if (metrics) readers.forEach((reader) => reader(result, metrics))
  }
  meter.addBatchObservableCallback(read, instruments)
  return () => meter.removeBatchObservableCallback(read, instruments)
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
