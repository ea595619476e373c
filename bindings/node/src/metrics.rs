//! What a client counts of itself: the core's table of metrics, a row each. `node/lib/metrics.cjs` makes an object of it.

use std::collections::HashMap;
use std::time::Duration;

use napi_derive::napi;
use zkrecipes::Metrics;
use zkrecipes::drive::{Sample, Value};

/// One metric; which of the values it has depends on what it is.
#[napi(object, object_from_js = false)]
pub struct MetricRow {
    pub name: &'static str,
    pub count: Option<f64>,
    pub counts: Option<HashMap<&'static str, f64>>,
    pub millis: Option<f64>,
    pub histogram: Option<Durations>,
}

/// A histogram; times are in milliseconds.
#[napi(object, object_from_js = false)]
pub struct Durations {
    pub count: f64,
    pub sum: f64,
    pub buckets: Vec<Bucket>,
}

#[napi(object, object_from_js = false)]
pub struct Bucket {
    pub le: f64,
    pub count: f64,
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

pub fn rows(metrics: &Metrics) -> Vec<MetricRow> {
    metrics.samples().into_iter().map(row).collect()
}

fn row(Sample { name, value, .. }: Sample<'_>) -> MetricRow {
    let mut row = MetricRow { name, count: None, counts: None, millis: None, histogram: None };
    match value {
        Value::Counter(count) | Value::Gauge(count) => row.count = Some(count as f64),
        Value::Counters(_, counts) => {
            row.counts = Some(counts.iter().map(|(label, count)| (*label, *count as f64)).collect());
        }
        Value::Time(time) => row.millis = time.map(millis),
        Value::Histogram(counted) => {
            let bucket =
                |(bound, count): &(Duration, u64)| Bucket { le: millis(*bound), count: *count as f64 };
            row.histogram = Some(Durations {
                count: counted.count as f64,
                sum: millis(counted.sum),
                buckets: counted.buckets.iter().map(bucket).collect(),
            });
        }
        _ => {}
    }
    row
}
