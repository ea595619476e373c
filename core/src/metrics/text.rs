//! A snapshot as text, and as numbers with names.

use std::fmt::Write;
use std::time::Duration;

use super::{Histogram, MetricValue, Metrics, Sample};

impl Metrics {
    /// The text that Prometheus reads, in which times are in seconds.
    pub fn to_prometheus(&self) -> String {
        let mut text = String::new();
        for sample in self.samples() {
            // Writing to a String cannot fail.
            let _ = sample.write(&mut text);
        }
        text
    }

    /// Every single number under a name of its own, such as `losses.session`, `waits.count`, `waits.sum_ms` and
    /// `waits.le_500`, for C. A time that there is none of is -1.
    #[doc(hidden)]
    pub fn numbers(&self) -> Vec<(String, f64)> {
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        let mut all = Vec::new();
        for Sample { name, value, .. } in self.samples() {
            match value {
                MetricValue::Counter(count) | MetricValue::Gauge(count) => {
                    all.push((name.to_owned(), count as f64))
                }
                MetricValue::Counters(_, counts) => {
                    all.extend(
                        counts.iter().map(|(label, count)| (format!("{name}.{label}"), *count as f64)),
                    );
                }
                MetricValue::Time(time) => all.push((format!("{name}_ms"), time.map_or(-1.0, millis))),
                MetricValue::Histogram(Histogram { count, sum, buckets }) => {
                    all.push((format!("{name}.count"), *count as f64));
                    all.push((format!("{name}.sum_ms"), millis(*sum)));
                    all.extend(
                        buckets.iter().map(|(bound, count)| {
                            (format!("{name}.le_{}", bound.as_millis()), *count as f64)
                        }),
                    );
                }
            }
        }
        all
    }
}

impl Sample<'_> {
    fn write(&self, to: &mut String) -> std::fmt::Result {
        let (suffix, kind) = match self.value {
            MetricValue::Counter(_) | MetricValue::Counters(..) => ("_total", "counter"),
            MetricValue::Gauge(_) => ("", "gauge"),
            MetricValue::Time(None) => return Ok(()),
            MetricValue::Time(_) => ("_seconds", "gauge"),
            MetricValue::Histogram(_) => ("_seconds", "histogram"),
        };
        let name = format!("zkrecipes_{}{suffix}", self.name);
        writeln!(to, "# HELP {name} {}\n# TYPE {name} {kind}", self.help)?;
        match &self.value {
            MetricValue::Counter(count) | MetricValue::Gauge(count) => writeln!(to, "{name} {count}"),
            MetricValue::Counters(label, counts) => counts
                .iter()
                .try_for_each(|(value, count)| writeln!(to, "{name}{{{label}=\"{value}\"}} {count}")),
            MetricValue::Time(time) => writeln!(to, "{name} {}", time.unwrap_or_default().as_secs_f64()),
            MetricValue::Histogram(Histogram { count, sum, buckets }) => {
                for (bound, count) in buckets {
                    writeln!(to, "{name}_bucket{{le=\"{}\"}} {count}", bound.as_secs_f64())?;
                }
                writeln!(to, "{name}_bucket{{le=\"+Inf\"}} {count}")?;
                writeln!(to, "{name}_sum {}\n{name}_count {count}", sum.as_secs_f64())
            }
        }
    }
}
