//! The metrics of a client for a meter of OpenTelemetry's. Take this file into your program; spans need nothing but
//! `tracing-opentelemetry`, as `main.rs` shows.

use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Meter};
use zkrecipes::Client;
use zkrecipes::drive::Value;

type Observed = Arc<Mutex<Option<Client>>>;

/// While this lives, the client is read, and not dropped.
pub struct Observation(Observed);

impl Drop for Observation {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Has `meter` read the metrics of `client` as `zkrecipes.…` whenever they are collected: counters and gauges, with the
/// attribute `kind` or `reason` where there are several. A histogram, which cannot be observed from outside, is its `.count`,
/// `.sum` and `.buckets`, by `le`. Times are in seconds.
#[must_use = "what is dropped observes nothing"]
pub fn observe(client: &Client, meter: &Meter) -> Observation {
    let observed = Observed::new(Mutex::new(Some(client.clone())));
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
            Value::Histogram(_) => {
                counter(format!("{name}.count"), number);
                counter(format!("{name}.buckets"), buckets);
                let sum = meter.f64_observable_counter(format!("{name}.sum")).with_unit("s");
                let sum = sum.with_description(sample.help);
                sum.with_callback(reading(&observed, sample.name, seconds)).build();
            }
            // Whatever a later version counts in a way of its own.
            _ => {}
        }
    }
    Observation(observed)
}

/// What a callback does when metrics are collected: looks for the one of this name, and tells what `read` makes of it.
fn reading<T: 'static>(
    observed: &Observed,
    name: &'static str,
    read: fn(&Value<'_>, &dyn AsyncInstrument<T>),
) -> impl Fn(&dyn AsyncInstrument<T>) + Send + Sync + 'static {
    let observed = observed.clone();
    move |instrument| {
        let client = observed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(metrics) = client.map(|client| client.metrics()) else { return };
        for sample in metrics.samples().iter().filter(|sample| sample.name == name) {
            read(&sample.value, instrument);
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
        Value::Histogram(histogram) => instrument.observe(histogram.count, &[]),
        _ => {}
    }
}

fn buckets(value: &Value<'_>, instrument: &dyn AsyncInstrument<u64>) {
    if let Value::Histogram(histogram) = value {
        for (bound, count) in &histogram.buckets {
            instrument.observe(*count, &[KeyValue::new("le", bound.as_secs_f64())]);
        }
    }
}

fn seconds(value: &Value<'_>, instrument: &dyn AsyncInstrument<f64>) {
    match value {
        Value::Time(Some(time)) => instrument.observe(time.as_secs_f64(), &[]),
        Value::Histogram(histogram) => instrument.observe(histogram.sum.as_secs_f64(), &[]),
        _ => {}
    }
}
