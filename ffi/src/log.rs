//! Where the library's warnings go in a program that has no other place for them: to stderr.
//!
//! ZKRECIPES_LOG says how much: `off`, `error`, `warn` (the default), `info`, `debug` or `trace`.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::sync::Once;
use std::sync::mpsc::{SyncSender, sync_channel};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// More lines than this waiting for a stderr that nobody reads are dropped.
const BACKLOG: usize = 1024;

/// Begins to log; the first call decides.
pub(crate) fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let level = std::env::var("ZKRECIPES_LOG").ok().and_then(|level| level.parse().ok());
        let level = level.unwrap_or(LevelFilter::WARN);
        let (sender, lines) = sync_channel::<String>(BACKLOG);
        // A thread of its own: a stderr that is stuck must not hold up the thread that notices a loss.
        let writer = std::thread::Builder::new().name("zkrecipes-log".to_owned()).spawn(move || {
            for line in lines {
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
        });
        if level != LevelFilter::OFF && writer.is_ok() {
            // Whoever logs by other means already keeps doing so.
            let _ = tracing::subscriber::set_global_default(Stderr { level, lines: sender });
        }
    });
}

struct Stderr {
    level: LevelFilter,
    lines: SyncSender<String>,
}

impl Subscriber for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What the libraries below us have to say about connections is our business, not the user's.
        metadata.is_event() && *metadata.level() <= self.level && metadata.target().starts_with("zkrecipes")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = event.metadata().level().as_str().to_lowercase();
        let _ = self.lines.try_send(format!("zkrecipes: {level}: {}{}\n", line.message, line.fields));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
