//! What only the crate's own log tells: at which server a session is, and why a connection ended. The crate has no other way
//! to say it. Where its words change, that is unknown, and nothing else; `core/tests/observability.rs` notices.
//!
//! The crate is polled with a subscriber of ours in between, which passes on to whoever listened before what we do not tell
//! ourselves.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tracing::dispatcher::{self, Dispatch};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_core::span::Current;

use crate::log::fields::{self, Value};

/// What was heard of one session.
#[derive(Clone, Default)]
pub(super) struct Hearsay(Arc<Shared>);

#[derive(Default)]
struct Shared {
    heard: Mutex<Heard>,
    /// Locked while the crate is polled: it changes its state first and speaks of it then, so who has seen the change waits
    /// for the words.
    speaking: Mutex<()>,
    /// From when a session is established until its connection ends. It speaks of every request then, which nobody here
    /// wants to hear.
    is_settled: AtomicBool,
}

#[derive(Default)]
struct Heard {
    server: Option<String>,
    cause: Option<String>,
    /// A server's first answer was none to the wish for a session.
    is_out_of_order: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

thread_local! {
    /// Of whom the crate speaks on this thread, and who listened before us.
    static ABOUT: RefCell<Option<(Hearsay, Dispatch)>> = const { RefCell::new(None) };
}

impl Hearsay {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        lock(&self.0.heard)
    }

    /// `host:port` of the server that was connected to last.
    pub(super) fn server(&self) -> Option<String> {
        drop(lock(&self.0.speaking));
        self.heard().server.clone()
    }

    /// Why the last connection ended, or could not be made.
    pub(super) fn cause(&self) -> Option<String> {
        drop(lock(&self.0.speaking));
        self.heard().cause.clone()
    }

    /// Whether a server answered something else before the wish for a session, since this was last asked.
    pub(super) fn takes_disorder(&self) -> bool {
        std::mem::take(&mut self.heard().is_out_of_order)
    }

    /// Listens to what the crate says while it is polled.
    pub(super) fn listening<T>(&self, poll: impl FnOnce() -> T) -> T {
        static EAR: OnceLock<Dispatch> = OnceLock::new();
        let ear = EAR.get_or_init(|| Dispatch::new(Ear));
        let others = dispatcher::get_default(Dispatch::clone);
        let _speaking = lock(&self.0.speaking);
        let before = ABOUT.replace(Some((self.clone(), others)));
        let polled = dispatcher::with_default(ear, poll);
        ABOUT.set(before);
        polled
    }

    fn hear(&self, words: &str) {
        let established = words.strip_prefix("succeeds to establish session to ");
        // The session is up as soon as the server has taken it, and established only a round trip later.
        if let Some(server) = established.or_else(|| words.strip_prefix("succeeds in connecting to ")) {
            let server = server.split_once("://").map_or(server, |(_, address)| address);
            self.heard().server = Some(server.to_owned());
            self.0.is_settled.store(established.is_some(), Ordering::Relaxed);
        }
    }

    fn hear_of_trouble(&self, words: &str) {
        if let Some((_, cause)) = words.split_once(" due to ") {
            let mut heard = self.heard();
            heard.is_out_of_order |=
                words.starts_with("fails to establish session ") && cause.starts_with("unable to unmarshal");
            heard.cause = Some(cause.to_owned());
            drop(heard);
            self.0.is_settled.store(false, Ordering::Relaxed);
        }
    }
}

struct Ear;

/// Those who listened before us. A span may be dropped when nobody is polled any more: then it is those who listen now.
fn others<T>(ask: impl FnOnce(&Dispatch) -> T) -> T {
    match ABOUT.with_borrow(|about| about.as_ref().map(|(_, others)| others.clone())) {
        Some(others) => ask(&others),
        None => ask(&dispatcher::get_default(Dispatch::clone)),
    }
}

fn is_the_crates(metadata: &Metadata<'_>) -> bool {
    metadata.is_event()
        && metadata.target() == "zookeeper_client::session"
        && (*metadata.level() <= Level::INFO || *metadata.level() == Level::DEBUG && !is_settled())
}

/// What we tell ourselves, in words of ours and for every face: who listens to both need not hear it twice.
fn is_told_by_us(metadata: &Metadata<'_>) -> bool {
    metadata.is_event()
        && *metadata.level() <= Level::INFO
        && metadata.target().split("::").next() == Some("zookeeper_client")
}

fn is_settled() -> bool {
    ABOUT.with_borrow(|about| {
        about.as_ref().is_none_or(|(hearsay, _)| hearsay.0.is_settled.load(Ordering::Relaxed))
    })
}

impl Subscriber for Ear {
    /// Whoever listens is asked each time: they may change their mind, and there may be others.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_the_crates(metadata) || (!is_told_by_us(metadata) && others(|others| others.enabled(metadata)))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        if is_the_crates(event.metadata()) {
            let mut words = String::new();
            fields::each(event, |name, value| match value {
                Value::Text(said) if name == "message" => words = said,
                _ => {}
            });
            let about = ABOUT.with_borrow(|about| about.as_ref().map(|(hearsay, _)| hearsay.clone()));
            if let Some(about) = about {
                about.hear(&words);
                if *event.metadata().level() <= Level::INFO {
                    about.hear_of_trouble(&words);
                }
            }
        }
        others(|others| {
            if !is_told_by_us(event.metadata()) && others.enabled(event.metadata()) {
                others.event(event);
            }
        });
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        others(|others| others.new_span(span))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        others(|others| others.record(span, values));
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        others(|others| others.record_follows_from(span, follows));
    }

    fn enter(&self, span: &Id) {
        others(|others| others.enter(span));
    }

    fn exit(&self, span: &Id) {
        others(|others| others.exit(span));
    }

    fn clone_span(&self, span: &Id) -> Id {
        others(|others| others.clone_span(span))
    }

    fn current_span(&self) -> Current {
        others(Dispatch::current_span)
    }

    fn try_close(&self, span: Id) -> bool {
        others(|others| others.try_close(span))
    }
}
