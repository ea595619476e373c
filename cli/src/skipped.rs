//! The nodes that the library goes on without: they may not be read, or are not understood. It names each once, in its log;
//! whoever lists what is there says in a last line how many were left out. And those below which everybody may delete.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use zkrecipes::drive::log::{self, Level, Listener, Record, Value};

use crate::outcome;

/// So many are named; of the others the number is enough.
const NAMED: usize = 5;
/// How long to wait for what is still to be said.
const SOON: Duration = Duration::from_secs(2);

static HEARD: Mutex<Vec<Skipped>> = Mutex::new(Vec::new());
static IS_SAID_AT_ONCE: AtomicBool = AtomicBool::new(false);

pub(crate) struct Skipped {
    pub(crate) node: String,
    /// As the log has it.
    cause: String,
}

fn text(record: &Record, name: &str) -> Option<String> {
    match record.fields.iter().find(|(field, _)| *field == name) {
        Some((_, Value::Text(text))) => Some(text.clone()),
        _ => None,
    }
}

impl Skipped {
    fn of(record: &Record) -> Option<Skipped> {
        Some(Skipped { node: text(record, "node")?, cause: text(record, "cause")? })
    }

    pub(crate) fn problem(&self) -> &'static str {
        match self.cause.as_str() {
            "denied" => "it may not be read with these identities",
            "children" => "there are nodes below it, so that it cannot be deleted",
            "size" => "it is too large to be taken",
            _ => "what it says is not understood",
        }
    }
}

/// From now on what is skipped is heard of.
pub(crate) fn listen() {
    static LISTENER: OnceLock<Listener> = OnceLock::new();
    LISTENER.get_or_init(|| log::listen(Level::Warn, hear));
}

/// For what may go on for ever, and has no last line.
pub(crate) fn say_at_once() {
    IS_SAID_AT_ONCE.store(true, Ordering::Release);
}

fn hear(record: &Record) {
    if record.event == "open_parent" {
        let path = text(record, "path").unwrap_or_default();
        return outcome::say(&format!(
            "warning: everybody may delete what stands at {path}, for whoever made it let them; --refuse-open-parents refuses such"
        ));
    }
    if record.event != "skipped" {
        return;
    }
    let Some(skipped) = Skipped::of(record) else { return };
    if IS_SAID_AT_ONCE.load(Ordering::Acquire) {
        return say(&[skipped]);
    }
    let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
    // Each session of this command says it.
    if !heard.iter().any(|other| other.node == skipped.node) {
        heard.push(skipped);
    }
}

/// What was skipped so far.
pub(crate) fn so_far() -> Vec<Skipped> {
    log::flush(SOON);
    std::mem::take(&mut HEARD.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The last line of what is listed, if anything was skipped.
pub(crate) fn say(skipped: &[Skipped]) {
    if skipped.is_empty() {
        return;
    }
    let mut names: Vec<_> =
        skipped.iter().take(NAMED).map(|Skipped { node, cause }| format!("{node} ({cause})")).collect();
    if skipped.len() > NAMED {
        names.push("…".to_owned());
    }
    outcome::say(&format!("{} skipped: {}", skipped.len(), names.join(", ")));
}
