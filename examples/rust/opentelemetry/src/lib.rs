//! The metrics of a client for a meter of OpenTelemetry's. Take this file into your program; spans need nothing but
//! `tracing-opentelemetry`, as `main.rs` shows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Histogram, Meter};
use zkrecipes::drive::{Sample, Value};
use zkrecipes::{Client, Metrics};

#[derive(Default)]
struct Observed {
    client: Mutex<Option<Client>>,
    durations: Mutex<Vec<Durations>>,
}

/// While this lives, the client is read, and not dropped.
pub struct Observation(Arc<Observed>);

impl Drop for Observation {
    fn drop(&mut self) {
        if let Some(client) = lock(&self.0.client).take() {
            self.0.tell(&client.metrics());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observed {
    fn tell(&self, metrics: &Metrics) {
        let mut durations = lock(&self.durations);
        for sample in metrics.samples() {
            if let Value::Histogram(now) = sample.value {
                durations.iter_mut().filter(|one| one.name == sample.name).for_each(|one| one.tell(now));
            }
        }
    }
}

/// Has `meter` read the metrics of `client` as `zkrecipes.…` whenever they are collected: counters and gauges, with the
/// attribute `kind` or `reason` where there are several, and histograms with the buckets that a client counts. Times are in
/// seconds.
#[must_use = "what is dropped observes nothing"]
pub fn observe(client: &Client, meter: &Meter) -> Observation {
    let observed = Arc::new(Observed::default());
    *lock(&observed.client) = Some(client.clone());
    for sample in client.metrics().samples() {
        let name = format!("zkrecipes.{}", sample.name);
        let counter = |name, read| {
            let counter = meter.u64_observable_counter(name).with_unit("1").with_description(sample.help);
            counter.with_callback(reading(&observed, sample.name, read)).build();
        };
        match sample.value {
            Value::Counter(_) | Value::Counters(..) => counter(name, number),
            Value::Gauge(_) => {
                let gauge = meter.u64_observable_gauge(name).with_unit("1").with_description(sample.help);
                gauge.with_callback(reading(&observed, sample.name, number)).build();
            }
            Value::Time(_) => {
                let gauge = meter.f64_observable_gauge(name).with_unit("s").with_description(sample.help);
                gauge.with_callback(reading(&observed, sample.name, seconds)).build();
            }
            Value::Histogram(now) => lock(&observed.durations).push(Durations::new(meter, &sample, now)),
            // Whatever a later version counts in a way of its own.
            _ => {}
        }
    }
    Observation(observed)
}

/// What a callback does when metrics are collected: looks for the one of this name, and tells what `read` makes of it.
fn reading<T: 'static>(
    observed: &Arc<Observed>,
    name: &'static str,
    read: fn(&Value<'_>, &dyn AsyncInstrument<T>),
) -> impl Fn(&dyn AsyncInstrument<T>) + Send + Sync + 'static {
    let observed = observed.clone();
    move |instrument| {
        let client = lock(&observed.client).clone();
        let Some(metrics) = client.map(|client| client.metrics()) else { return };
        for sample in metrics.samples().iter().filter(|sample| sample.name == name) {
            read(&sample.value, instrument);
        }
        // What cannot be observed from outside is recorded: whoever collects reads the instruments after the callbacks.
        if name == "sessions" {
            observed.tell(&metrics);
        }
    }
}

fn number(value: &Value<'_>, instrument: &dyn AsyncInstrument<u64>) {
    match value {
        Value::Counter(number) | Value::Gauge(number) => instrument.observe(*number, &[]),
        Value::Counters(label, numbers) => {
            for (value, number) in *numbers {
                instrument.observe(*number, &[KeyValue::new(*label, *value)]);
            }
        }
        _ => {}
    }
}

fn seconds(value: &Value<'_>, instrument: &dyn AsyncInstrument<f64>) {
    if let Value::Time(Some(time)) = value {
        instrument.observe(time.as_secs_f64(), &[]);
    }
}

/// A histogram of OpenTelemetry's, which is told what ours has counted since it was told last.
struct Durations {
    name: &'static str,
    histogram: Histogram<f64>,
    /// Where the buckets end, in seconds, and how many durations were told up to there.
    told: Vec<(f64, u64)>,
    count: u64,
    sum: Duration,
}

impl Durations {
    fn new(meter: &Meter, sample: &Sample<'_>, now: &zkrecipes::Histogram) -> Durations {
        let bounds: Vec<f64> = now.buckets.iter().map(|(bound, _)| bound.as_secs_f64()).collect();
        let histogram = meter.f64_histogram(format!("zkrecipes.{}", sample.name)).with_unit("s");
        let histogram = histogram.with_description(sample.help).with_boundaries(bounds.clone()).build();
        let told = bounds.into_iter().map(|bound| (bound, 0)).collect();
        Durations { name: sample.name, histogram, told, count: 0, sum: Duration::ZERO }
    }

    fn tell(&mut self, now: &zkrecipes::Histogram) {
        // Another thread may have read it later, and told that first.
        if now.count <= self.count {
            return;
        }
        let (mut spans, mut low, mut below) = (Vec::new(), 0.0, 0);
        for ((high, told), (_, count)) in self.told.iter_mut().zip(&now.buckets) {
            let up_to = count - *told;
            spans.push((low, *high, up_to - below));
            (*told, low, below) = (*count, *high, up_to);
        }
        let over = now.count - self.count - below;
        let sum = now.sum.saturating_sub(self.sum).as_secs_f64();
        (self.count, self.sum) = (now.count, now.sum);
        for (value, count) in stand_ins(&spans, over, sum) {
            (0..count).for_each(|_| self.histogram.record(value, &[]));
        }
    }
}

/// Values that fall into the buckets as the durations did of which only these are known, and have their sum. Each stands at the
/// same part of its bucket; those over the last bound have what is left.
fn stand_ins(spans: &[(f64, f64, u64)], over: u64, sum: f64) -> Vec<(f64, u64)> {
    let least: f64 = spans.iter().map(|(low, _, count)| low * *count as f64).sum();
    let most: f64 = spans.iter().map(|(_, high, count)| high * *count as f64).sum();
    let part = if over > 0 || most == least { 0.5 } else { (sum - least) / (most - least) };
    // A value at the lower bound would be in the bucket before.
    let part = part.clamp(1e-9, 1.0);
    let inside = spans.iter().filter(|(.., count)| *count > 0);
    let mut values: Vec<(f64, u64)> =
        inside.map(|(low, high, count)| ((low + part * (high - low)).min(*high), *count)).collect();
    if over > 0 {
        let left = sum - values.iter().map(|(value, count)| value * *count as f64).sum::<f64>();
        let last = spans.last().map_or(0.0, |(_, high, _)| *high);
        values.push(((left / over as f64).max(last * (1.0 + 1e-9)), over));
    }
    values
}
