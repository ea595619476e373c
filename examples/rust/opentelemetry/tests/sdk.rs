//! Spans and metrics in OpenTelemetry's own SDK.

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{Event, SpanId, TracerProvider as _};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, HistogramDataPoint, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::{Instrument, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use zkrecipes::{Client, Error};
use zkrecipes_opentelemetry::observe;

const PATH: &str = "/locks/report";

/// As text: a number may have become that on its way.
fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key.as_str() == key);
    found.map(|attribute| attribute.value.to_string())
}

fn named<'a>(spans: &'a [SpanData], name: &str) -> Option<&'a SpanData> {
    spans.iter().find(|span| span.name == name)
}

/// The other tests of this process have acquisitions, too.
fn acquisition_of<'a>(spans: &'a [SpanData], path: &str) -> Option<&'a SpanData> {
    let is_of_it = |span: &&SpanData| attribute(&span.attributes, "path").is_some_and(|found| found == path);
    spans.iter().filter(|span| span.name == "acquisition").find(is_of_it)
}

/// Takes its time with whatever it hears of an acquisition.
struct Slow;

impl<S: Subscriber> Layer<S> for Slow {
    fn on_event(&self, _: &tracing::Event<'_>, _: Context<'_, S>) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acquisition_is_a_span_from_the_wait_to_the_release() -> Result<(), Error> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let subscriber = tracing_subscriber::registry().with(layer).with(Slow);
    tracing::subscriber::set_global_default(subscriber).expect("nobody else has set one");

    let client = Client::connect("embedded:", Default::default()).await?;
    let work = async {
        let held = client.lock(PATH, Default::default())?.acquire().await?;
        held.release().await?;
        Ok::<_, Error>(held.fencing_token().to_string())
    };
    let token = work.instrument(tracing::info_span!("work")).await?;

    client.close(None).await?;

    // What is said at the end is said on another thread, within the span; who has closed the client has waited for that.
    let spans = exporter.get_finished_spans().expect("they are kept");
    let (span, work) = (acquisition_of(&spans, PATH).expect("it is there"), named(&spans, "work"));
    let work = work.expect("it is there");
    assert_ne!(work.span_context.span_id(), SpanId::INVALID);
    assert_eq!(span.parent_span_id, work.span_context.span_id());
    assert_eq!(span.span_context.trace_id(), work.span_context.trace_id());
    assert_eq!(attribute(&span.attributes, "recipe"), Some("lock".to_owned()));
    assert_eq!(attribute(&span.attributes, "path"), Some(PATH.to_owned()));
    assert_eq!(attribute(&span.attributes, "token"), Some(token.clone()));
    let event = |name: &str| -> &Event {
        let is_it = |event: &&Event| attribute(&event.attributes, "event").is_some_and(|found| found == name);
        let found = span.events.iter().find(is_it);
        found.unwrap_or_else(|| panic!("{name}: {:?}", span.events))
    };
    for (name, time) in [("acquired", "waited_ms"), ("released", "held_ms")] {
        assert_eq!(attribute(&event(name).attributes, "token"), Some(token.clone()));
        assert!(attribute(&event(name).attributes, time).is_some(), "{name} tells no {time}");
    }
    Ok(())
}

/// Every number by the name of its metric and the value of its attribute.
fn collected(
    provider: &SdkMeterProvider,
    exporter: &InMemoryMetricExporter,
) -> BTreeMap<(String, String), f64> {
    fn points<T: Copy>(data: &MetricData<T>) -> Vec<(String, T)> {
        let label = |attributes: Vec<&KeyValue>| attributes.iter().map(|of| of.value.to_string()).collect();
        match data {
            MetricData::Sum(sum) => {
                assert!(sum.is_monotonic());
                sum.data_points().map(|point| (label(point.attributes().collect()), point.value())).collect()
            }
            MetricData::Gauge(gauge) => gauge
                .data_points()
                .map(|point| (label(point.attributes().collect()), point.value()))
                .collect(),
            MetricData::Histogram(_) => Vec::new(),
            _ => panic!("neither a sum, a gauge nor a histogram"),
        }
    }
    /// Counted up to each bound, as ours are.
    fn parts(point: &HistogramDataPoint<f64>) -> Vec<(String, f64)> {
        let mut count = 0;
        let bounds = point.bounds().map(|bound| bound.to_string()).chain(["inf".to_owned()]);
        let up_to = bounds.zip(point.bucket_counts()).map(|(bound, more)| {
            count += more;
            (bound, count as f64)
        });
        let up_to: Vec<_> = up_to.collect();
        [vec![("sum".to_owned(), point.sum()), ("count".to_owned(), point.count() as f64)], up_to].concat()
    }
    exporter.reset();
    provider.force_flush().expect("it is in memory");
    let mut all = BTreeMap::new();
    for resource in exporter.get_finished_metrics().expect("they are kept") {
        for metric in resource.scope_metrics().flat_map(|scope| scope.metrics()) {
            assert!(!metric.description().is_empty(), "{}", metric.name());
            let numbers = match metric.data() {
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    histogram.data_points().flat_map(parts).collect()
                }
                AggregatedMetrics::F64(data) => points(data),
                AggregatedMetrics::U64(data) => {
                    points(data).into_iter().map(|(label, number)| (label, number as f64)).collect()
                }
                AggregatedMetrics::I64(_) => panic!("{} can be negative", metric.name()),
            };
            all.extend(
                numbers.into_iter().map(|(label, number)| ((metric.name().to_owned(), label), number)),
            );
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_counts_is_collected_until_it_is_ended() -> Result<(), Error> {
    let exporter = InMemoryMetricExporter::default();
    let provider =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    let client = Client::connect("embedded:", Default::default()).await?;
    let observation = observe(&client, &provider.meter("test"));
    let held = client.lock("/locks/metrics", Default::default())?.acquire().await?;
    let seen = collected(&provider, &exporter);
    let value = |name: &str, label: &str| seen.get(&(format!("zkrecipes.{name}"), label.to_owned())).copied();
    for (name, label) in
        [("acquisitions", ""), ("holding", ""), ("waits", "count"), ("waits", "3600"), ("waits", "inf")]
    {
        assert_eq!(value(name, label), Some(1.0), "{name}: {seen:?}");
    }
    for reason in ["session", "revoked", "deleted", "closed"] {
        assert_eq!(value("losses", reason), Some(0.0), "{reason}");
    }
    let waits = client.metrics().waits;
    let sum = value("waits", "sum").expect("it is there");
    assert!((sum - waits.sum.as_secs_f64()).abs() < 1e-6, "{sum} {waits:?}");
    for (bound, count) in &waits.buckets {
        assert_eq!(
            value("waits", &bound.as_secs_f64().to_string()),
            Some(*count as f64),
            "{bound:?} {seen:?}"
        );
    }
    assert!(value("requests", "create").is_some_and(|requests| requests >= 1.0), "{seen:?}");
    // None is left out, but for a time that there is none of yet.
    for sample in client.metrics().samples() {
        let is_there = seen.keys().any(|(name, _)| name.starts_with(&format!("zkrecipes.{}", sample.name)));
        let is_empty = ["lease_margin_min", "holds", "work"].contains(&sample.name);
        assert!(is_there || is_empty, "{}", sample.name);
    }
    observation.pause();
    assert!(
        !collected(&provider, &exporter).contains_key(&("zkrecipes.acquisitions".to_owned(), String::new()))
    );
    observation.resume();
    let seen = collected(&provider, &exporter);
    for name in ["acquisitions", "waits"] {
        let label = if name == "waits" { "count" } else { "" };
        assert_eq!(seen[&(format!("zkrecipes.{name}"), label.to_owned())], 1.0, "{name} goes on");
    }
    held.release().await?;
    drop(observation);
    let seen = collected(&provider, &exporter);
    assert!(
        seen.keys().all(|(name, _)| ["zkrecipes.waits", "zkrecipes.holds"].contains(&&**name)),
        "{seen:?}"
    );
    assert_eq!(seen[&("zkrecipes.holds".to_owned(), "count".to_owned())], 1.0, "up to the end");
    client.close(None).await
}

#[test]
fn the_example_prints_a_span_and_metrics() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_zkrecipes-opentelemetry")).output();
    let output = output.expect("cargo has built it");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    for said in ["acquisition", "/locks/report", "zkrecipes.acquisitions", "released"] {
        assert!(out.contains(said), "no {said} in {out}\n{err}");
    }
}
