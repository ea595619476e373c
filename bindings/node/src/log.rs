//! What the library says of itself, as events of each environment: `node/lib/log.cjs` passes them on.
//!
//! The core's thread for it posts them to an inbox. One whose environment does not come to them is not filled without limit.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::Either3;
use napi_derive::napi;
use zkrecipes::drive::log::{self, Level, Listener, Record, Value};

use crate::event_loop::{Inbox, WeakInbox};

/// More than this on their way to one environment are dropped.
const BACKLOG: usize = 1024;

/// The environments that listen; that of the main thread comes first.
static ENVIRONMENTS: Mutex<Vec<(u64, WeakInbox)>> = Mutex::new(Vec::new());

/// One thing that was said.
#[napi(object, object_from_js = false)]
pub struct LogRecord {
    pub level: &'static str,
    pub event: String,
    pub message: String,
    pub fields: HashMap<&'static str, Either3<f64, bool, String>>,
    /// All of it, for people.
    pub text: String,
    /// Whether this environment is the one that warns if nobody listens.
    pub is_first: bool,
    /// How many were dropped before it.
    pub dropped: u32,
}

/// What is told to one environment.
pub struct Told {
    /// The number under which records arrive.
    pub event: u64,
    listener: Listener,
}

impl Told {
    pub fn set_level(&self, level: Level) {
        self.listener.set_level(level);
    }
}

/// From now on records go to this inbox.
pub fn listen(inbox: &Inbox, is_main: bool) -> Told {
    let (event, weak) = (inbox.number(), inbox.downgrade());
    {
        let mut environments = ENVIRONMENTS.lock().unwrap_or_else(PoisonError::into_inner);
        environments.retain(|(_, inbox)| inbox.get().is_some());
        let at = if is_main { 0 } else { environments.len() };
        environments.insert(at, (event, inbox.downgrade()));
    }
    let (waiting, dropped) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let listener = log::listen(Level::Info, move |record| {
        let Some(inbox) = weak.get().filter(Inbox::is_open) else { return };
        if waiting.fetch_add(1, Ordering::AcqRel) >= BACKLOG {
            waiting.fetch_sub(1, Ordering::AcqRel);
            dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let record = converted(record, is_first(&inbox), dropped.swap(0, Ordering::Relaxed));
        let arrived = waiting.clone();
        inbox.post(event, Ok(record), move |record| {
            arrived.fetch_sub(1, Ordering::AcqRel);
            record
        });
    });
    Told { event, listener }
}

fn is_first(inbox: &Inbox) -> bool {
    let environments = ENVIRONMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut open = environments.iter().filter_map(|(_, inbox)| inbox.get().filter(Inbox::is_open));
    open.next().is_some_and(|first| first.is_same(inbox))
}

fn converted(record: &Record, is_first: bool, dropped: usize) -> LogRecord {
    let field = |(name, value): &(&'static str, Value)| {
        let value = match value {
            Value::Number(number) => Either3::A(*number as f64),
            Value::Flag(flag) => Either3::B(*flag),
            Value::Text(text) => Either3::C(text.clone()),
        };
        (*name, value)
    };
    LogRecord {
        level: record.level.name(),
        event: record.event.clone(),
        message: record.message.clone(),
        fields: record.fields.iter().map(field).collect(),
        text: record.to_string(),
        is_first,
        dropped: dropped as u32,
    }
}
