//! Takes a lock and prints what OpenTelemetry hears of it: the acquisition as a span within the program's own, and metrics.
//! In a service, exporters of `opentelemetry-otlp` take the place of those that print.

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Instrument;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use zkrecipes::{Client, Error};
use zkrecipes_opentelemetry::observe;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let traces = SdkTracerProvider::builder()
        .with_simple_exporter(opentelemetry_stdout::SpanExporter::default())
        .build();
    let meters = SdkMeterProvider::builder()
        .with_periodic_exporter(opentelemetry_stdout::MetricExporter::default())
        .build();

    // Spans are of level info. With debug, a span has the events `acquired` and `released`, too.
    let spans = tracing_opentelemetry::layer().with_tracer(traces.tracer("report"));
    let subscriber = tracing_subscriber::registry().with(spans.with_filter(LevelFilter::DEBUG));
    tracing::subscriber::set_global_default(subscriber).expect("nobody else has set one");

    let client = Client::connect("embedded:", Default::default()).await?;
    let observation = observe(&client, &meters.meter("report"));
    let report = async {
        let held = client.lock("/locks/report", Default::default())?.acquire().await?;
        held.release().await
    };
    report.instrument(tracing::info_span!("report")).await?;
    client.close(None).await?;

    // What was counted stays to be read; both print what they still have.
    meters.shutdown().expect("standard output");
    drop(observation);
    traces.shutdown().expect("standard output");
    Ok(())
}
