//! What a subscriber of `tracing`'s gets: events with a name, those of an acquisition in a span of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Mutex;

use crate::support::{client, eventually, is_run_elsewhere, lock_of, server, soon};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use zkrecipes::Error;

#[derive(Clone, Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// Each event, and the span that it came in.
static SAID: Mutex<Vec<(Fields, Option<Fields>)>> = Mutex::new(Vec::new());

/// From where events of level info, and more severe ones, came.
static TARGETS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The spans of acquisitions that are over.
static CLOSED: Mutex<Vec<Fields>> = Mutex::new(Vec::new());

fn is_closed(path: &str) -> bool {
    CLOSED.lock().expect("no panic").iter().any(|span| span.0["path"] == path)
}

struct Everything;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Everything {
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        span.record(&mut fields);
        context.span(id).expect("it was made").extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).expect("it was made");
        values.record(span.extensions_mut().get_mut::<Fields>().expect("every span has them"));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).expect("it is closed after this");
        if span.metadata().name() == "acquisition" {
            let fields = span.extensions().get::<Fields>().cloned().expect("every span has them");
            CLOSED.lock().expect("no panic").push(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if *event.metadata().level() <= Level::INFO {
            TARGETS.lock().expect("no panic").insert(event.metadata().target());
        }
        let span = context.event_span(event).filter(|span| span.metadata().name() == "acquisition");
        let span = span.and_then(|span| span.extensions().get::<Fields>().cloned());
        SAID.lock().expect("no panic").push((fields, span));
    }
}

/// The spans of the events of this name that have this text in a field.
fn spans_of(event: &str, text: &str) -> Vec<Option<Fields>> {
    let said = SAID.lock().expect("no panic");
    let is_it = |fields: &Fields| {
        fields.0.get("event").is_some_and(|name| name == event)
            && fields.0.values().any(|value| value == text)
    };
    said.iter().filter(|(fields, _)| is_it(fields)).map(|(_, span)| span.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_an_acquisition_is_in_its_span() -> Result<(), Error> {
    if is_run_elsewhere("spans::what_is_said_of_an_acquisition_is_in_its_span", |_| {}) {
        return Ok(());
    }
    let subscriber = tracing_subscriber::registry().with(Everything);
    tracing::subscriber::set_global_default(subscriber).expect("nobody else listens");
    let (server, path) = (server(), "/locks/spans");
    let client = client(&server).await;
    let held = lock_of(&client, path).acquire().await?;
    client.nodes().delete(held.node(), None).await?;
    soon("the loss", held.lost()).await;
    for event in ["acquired", "lost"] {
        eventually(event, || !spans_of(event, path).is_empty()).await;
        let spans = spans_of(event, path);
        let span = spans[0].as_ref().unwrap_or_else(|| panic!("{event} is in no span"));
        assert_eq!((&*span.0["recipe"], &*span.0["path"]), ("lock", path));
        assert_eq!(span.0["token"], held.fencing_token().to_string());
    }
    // What was held is still there, and its owner may keep it for ever.
    eventually("the end of the span after the loss", || is_closed(path)).await;
    let path = "/locks/spans/released";
    let kept = lock_of(&client, path).acquire().await?;
    eventually("acquired", || !spans_of("acquired", path).is_empty()).await;
    assert!(!is_closed(path), "it is held");
    kept.release().await?;
    eventually("the end of the span after the release", || is_closed(path)).await;
    assert!(spans_of("released", path)[0].is_some(), "said within the span");
    drop((held, kept));
    // The crate below tells at which server a session is, whoever listens.
    let at = format!("{:#x}", client.session_id());
    eventually("connected", || !spans_of("connected", &at).is_empty()).await;
    assert_eq!(spans_of("connected", &server.connect_string()).len(), 1);
    // Nothing is told twice, by us and by what is below us.
    server.drop_connections();
    eventually("reconnected", || !spans_of("reconnected", &at).is_empty()).await;
    assert_eq!(*TARGETS.lock().expect("no panic"), BTreeSet::from(["zkrecipes"]));
    Ok(())
}
