//! The metrics of a client for a meter of OpenTelemetry's. Take this file into your program; spans need nothing but
//! `tracing-opentelemetry`, as `main.rs` shows.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Histogram, Meter};
use zkrecipes::drive::{Sample, Value};
use zkrecipes::{Client, Metrics};

/// Of one histogram. Whoever collects waits for it, and the next collections have the rest.
const MOST_AT_ONCE: u64 = 10_000;

#[derive(Default)]
struct Observed {
    client: Mutex<Option<Client>>,
    durations: Mutex<Vec<Durations>>,
    /// Whose callback tells the histograms: whichever is not left out of the collections.
    first: OnceLock<&'static str>,
}

/// While this lives and is not paused, the client is read; while it lives, the client is not dropped.
pub struct Observation {
    client: Client,
    observed: Arc<Observed>,
}

impl Observation {
    /// Reads the client no longer.
    pub fn pause(&self) {
        if lock(&self.observed.client).take().is_some() {
            self.observed.tell(&self.client.metrics(), u64::MAX);
        }
    }

    /// Reads it again. Histograms go on, where a new observation by the same meter would tell them everything for a second time.
    pub fn resume(&self) {
        *lock(&self.observed.client) = Some(self.client.clone());
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.pause();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observed {
    fn tell(&self, metrics: &Metrics, most: u64) {
        let mut durations = lock(&self.durations);
        for sample in metrics.samples() {
            if let Value::Histogram(now) = sample.value {
                durations
                    .iter_mut()
                    .filter(|one| one.name == sample.name)
                    .for_each(|one| one.tell(now, most));
            }
        }
    }
}

/// Has `meter` read the metrics of `client` as `zkrecipes.…` whenever they are collected: counters and gauges, with the
/// attribute `kind` or `reason` where there are several, and histograms with the buckets that a client counts. Times are in
/// seconds. Give each client a meter of its own: nothing tells the numbers of several apart.
#[must_use = "what is dropped observes nothing"]
pub fn observe(client: &Client, meter: &Meter) -> Observation {
    let observed = Arc::new(Observed::default());
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
    let observation = Observation { client: client.clone(), observed };
    observation.resume();
    observation
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
        if *observed.first.get_or_init(|| name) == name {
            observed.tell(&metrics, MOST_AT_ONCE);
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
    /// Where the buckets end, in seconds.
    bounds: Vec<f64>,
    /// How many each was told, those over the last bound at the end.
    told: Vec<u64>,
    /// Of what was told, in seconds.
    sum: f64,
}

impl Durations {
    fn new(meter: &Meter, sample: &Sample<'_>, now: &zkrecipes::Histogram) -> Durations {
        let bounds: Vec<f64> = now.buckets.iter().map(|(bound, _)| bound.as_secs_f64()).collect();
        let histogram = meter.f64_histogram(format!("zkrecipes.{}", sample.name)).with_unit("s");
        let histogram = histogram.with_description(sample.help).with_boundaries(bounds.clone()).build();
        let told = vec![0; bounds.len() + 1];
        Durations { name: sample.name, histogram, bounds, told, sum: 0.0 }
    }

    fn tell(&mut self, now: &zkrecipes::Histogram, most: u64) {
        let mut below = 0;
        let up_to = now.buckets.iter().map(|(_, count)| *count).chain([now.count]);
        let counts = up_to.zip(&self.told).map(|(up_to, told)| {
            let count = up_to - std::mem::replace(&mut below, up_to);
            // Another thread may have read it later, and told that first.
            count.saturating_sub(*told)
        });
        let counts: Vec<u64> = counts.collect();
        let all: u64 = counts.iter().sum();
        // No bucket waits for the others.
        let share = |count: u64| match all <= most {
            true => count,
            false => count.min(count.saturating_mul(most) / all + 1),
        };
        for (at, value) in stand_ins(&self.bounds, &counts, now.sum.as_secs_f64() - self.sum) {
            let now = share(counts[at]);
            (0..now).for_each(|_| self.histogram.record(value, &[]));
            self.told[at] += now;
            self.sum += value * now as f64;
        }
    }
}

/// For each bucket that has any a value that falls into it as the durations did of which only these are known. All together have
/// their sum: each stands at the same part of its bucket; those over the last bound have what is left.
fn stand_ins(bounds: &[f64], counts: &[u64], sum: f64) -> Vec<(usize, f64)> {
    let (last, over) = (bounds.last().copied().unwrap_or(0.0), counts[bounds.len()] as f64);
    let lows = [0.0].into_iter().chain(bounds.iter().copied());
    let spans = lows.zip(bounds).zip(counts).map(|((low, high), count)| (low, *high, *count as f64));
    let spans: Vec<(f64, f64, f64)> = spans.collect();
    let least: f64 = spans.iter().map(|(low, _, count)| low * count).sum();
    let most: f64 = spans.iter().map(|(_, high, count)| high * count).sum();
    let part = if most == least { 0.5 } else { (sum - over * last - least) / (most - least) };
    // A value at the lower bound would be in the bucket before.
    let part = part.clamp(1e-9, 1.0);
    let (mut values, mut left) = (Vec::new(), sum);
    for (at, (low, high, count)) in spans.into_iter().enumerate().filter(|(_, (.., count))| *count > 0.0) {
        let value = (low + part * (high - low)).min(high);
        left -= value * count;
        values.push((at, value));
    }
    if over > 0.0 {
        values.push((bounds.len(), (left / over).max(last * (1.0 + 1e-9))));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::stand_ins;

    #[test]
    fn what_stands_for_durations_has_their_buckets_and_their_sum() {
        let bounds = [1.0, 2.0, 10.0];
        for (counts, sum) in [
            ([1, 0, 0, 0], 0.4),
            ([0, 3, 2, 0], 17.0),
            ([2, 0, 1, 2], 10_000.0),
            ([2, 0, 1, 2], 24.0),
            ([0, 0, 0, 1], 12.5),
        ] {
            let values = stand_ins(&bounds, &counts, sum);
            for (at, value) in &values {
                assert_eq!(
                    bounds.iter().filter(|bound| *bound < value).count(),
                    *at,
                    "{counts:?}: {values:?}"
                );
            }
            let found: f64 = values.iter().map(|(at, value)| value * counts[*at] as f64).sum();
            assert!((found - sum).abs() < 1e-6, "{counts:?}: {found} {sum}");
        }
    }
}
