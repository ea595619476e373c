//! The library's log lines as records of `logging.getLogger("zkrecipes")`, written by a thread of their own: the threads
//! that do I/O must never wait for the GIL.

use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::attach::from_library_thread;

type Line = (Level, String);

struct ToLogging;

static MUTE: AtomicBool = AtomicBool::new(false);

/// From now on nothing is logged.
pub fn mute() {
    MUTE.store(true, Ordering::Relaxed);
}

/// Called once, when the module is imported.
pub fn install() {
    // A second interpreter in this process finds it installed already.
    let _ = tracing::subscriber::set_global_default(ToLogging);
}

impl Subscriber for ToLogging {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("zkrecipes")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        if MUTE.load(Ordering::Relaxed) {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let line = (*event.metadata().level(), text.message + &text.fields);
        // The receiver lives as long as the process, so a send cannot fail.
        let _ = lines().lock().unwrap_or_else(|e| e.into_inner()).send(line);
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

fn lines() -> &'static Mutex<Sender<Line>> {
    static LINES: OnceLock<Mutex<Sender<Line>>> = OnceLock::new();
    LINES.get_or_init(|| {
        let (sender, receiver) = channel::<Line>();
        let writer = move || {
            for (level, text) in receiver {
                from_library_thread(|py| {
                    if let Err(failure) = write(py, level, &text) {
                        failure.write_unraisable(py, None);
                    }
                });
            }
        };
        // Without a thread there is no log, and everything else still works.
        let _ = std::thread::Builder::new().name("zkrecipes-log".into()).spawn(writer);
        Mutex::new(sender)
    })
}

fn write(py: Python<'_>, level: Level, text: &str) -> PyResult<()> {
    let level = match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        _ => 10,
    };
    let logger = py.import("logging")?.call_method1("getLogger", ("zkrecipes",))?;
    logger.call_method1("log", (level, "%s", text)).map(drop)
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
