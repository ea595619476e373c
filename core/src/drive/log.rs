//! How the faces get what the library says of itself: as records, on a thread of their own, from a queue that is never longer
//! than `BACKLOG`. Nothing is formatted for a level at which nobody listens.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, Once};
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};

use crate::log::fields;
pub use crate::log::fields::Value;

use crate::mutex::lock;
use crate::pool;
pub use crate::printable::{escaped, steers};
use crate::process::PerProcess;
pub use crate::recipes::wait_progress::tell_waits_after;
use crate::{runtime, threads};

/// More records than this waiting for somebody who does not come to them are dropped, and their number is told.
const BACKLOG: usize = 1024;

/// How much it matters; each level includes those before it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    Off = 0,
    Error = 1,
    Warn = 2,
    Info = 3,
    Debug = 4,
    Trace = 5,
}

const LEVELS: [(Level, &str); 6] = [
    (Level::Off, "off"),
    (Level::Error, "error"),
    (Level::Warn, "warn"),
    (Level::Info, "info"),
    (Level::Debug, "debug"),
    (Level::Trace, "trace"),
];

impl Level {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`.
    pub fn name(self) -> &'static str {
        LEVELS[self as usize].1
    }

    /// The level of that name.
    pub fn of(name: &str) -> Option<Level> {
        LEVELS.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(level, _)| *level)
    }

    /// The level of that number, as its place in the order says.
    pub fn numbered(number: u8) -> Option<Level> {
        LEVELS.get(usize::from(number)).map(|(level, _)| *level)
    }

    fn of_event(level: tracing::Level) -> Level {
        match level {
            tracing::Level::ERROR => Level::Error,
            tracing::Level::WARN => Level::Warn,
            tracing::Level::INFO => Level::Info,
            tracing::Level::DEBUG => Level::Debug,
            tracing::Level::TRACE => Level::Trace,
        }
    }

    fn filter(self) -> LevelFilter {
        match self {
            Level::Off => LevelFilter::OFF,
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        }
    }
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub level: Level,
    /// What happened, in one word of the table in docs/observability.md.
    pub event: String,
    /// The same in a sentence.
    pub message: String,
    pub fields: Vec<(&'static str, Value)>,
}

/// For people: the sentence, then each field.
impl Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.fields.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

// ---- who listens

type Ear = Box<dyn Fn(&Record) + Send + Sync>;

/// Somebody who listens, or did. They stay in memory, each with its ear: a list without a lock can be read in a forked child, too,
/// and nobody knows there whether one of them is just being told.
struct ListenerNode {
    level: AtomicU8,
    ear: Ear,
    next: AtomicPtr<ListenerNode>,
}

static FIRST: AtomicPtr<ListenerNode> = AtomicPtr::new(std::ptr::null_mut());
/// The most that anybody wants to hear.
static LEVEL: AtomicU8 = AtomicU8::new(0);

fn listeners() -> impl Iterator<Item = &'static ListenerNode> {
    // SAFETY: what the list has is never freed.
    let first = unsafe { FIRST.load(Ordering::Acquire).as_ref() };
    // SAFETY: the same.
    std::iter::successors(first, |node| unsafe { node.next.load(Ordering::Acquire).as_ref() })
}

/// Stands for somebody who listens, for good unless they stop.
#[derive(Clone, Copy)]
pub struct Listener(&'static ListenerNode);

impl Listener {
    /// From now on this much; `Off` for nothing any more.
    pub fn set_level(&self, level: Level) {
        if self.0.level.swap(level as u8, Ordering::AcqRel) != level as u8 {
            refresh();
        }
    }
}

/// From now on `ear` hears what is said up to that level, one record at a time, on a thread that it may hold up. In a program
/// that listens by a subscriber of `tracing`'s, it never does.
pub fn listen(level: Level, ear: impl Fn(&Record) + Send + Sync + 'static) -> Listener {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| _ = tracing::subscriber::set_global_default(Faces));
    // Never as one that may change all of it: the list has another way to it.
    let node: &'static ListenerNode = Box::leak(Box::new(ListenerNode {
        level: AtomicU8::new(level as u8),
        ear: Box::new(ear),
        next: AtomicPtr::default(),
    }));
    let mut first = FIRST.load(Ordering::Acquire);
    loop {
        node.next.store(first, Ordering::Relaxed);
        match FIRST.compare_exchange_weak(
            first,
            std::ptr::from_ref(node).cast_mut(),
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => break,
            Err(other) => first = other,
        }
    }
    refresh();
    Listener(node)
}

fn refresh() {
    let wanted = || listeners().map(|node| node.level.load(Ordering::Acquire)).max().unwrap_or_default();
    loop {
        let most = wanted();
        if LEVEL.swap(most, Ordering::AcqRel) != most {
            // Where nobody listens an event costs one look at a number.
            tracing::callsite::rebuild_interest_cache();
        }
        // Another thread may have come in between, and the older of the two numbers been set last.
        if wanted() == most {
            return;
        }
    }
}

fn level() -> Level {
    Level::numbered(LEVEL.load(Ordering::Acquire)).unwrap_or(Level::Off)
}

/// Says something in place of the library, as a face does where it has nobody to raise an error to.
pub fn say(level: Level, event: &str, message: &str) {
    match level {
        Level::Off => {}
        Level::Error => tracing::error!(target: "zkrecipes", event, "{message}"),
        Level::Warn => tracing::warn!(target: "zkrecipes", event, "{message}"),
        Level::Info => tracing::info!(target: "zkrecipes", event, "{message}"),
        Level::Debug => tracing::debug!(target: "zkrecipes", event, "{message}"),
        Level::Trace => tracing::trace!(target: "zkrecipes", event, "{message}"),
    }
}

/// Writes what is said to stderr, a line each. Nobody waits for a stderr that is stuck.
pub fn to_stderr(level: Level) -> Listener {
    listen(level, |record| {
        let mut stderr = stderr();
        let line = format!("zkrecipes: {}: {}: {record}\n", record.level.name(), record.event);
        let _ = stderr.write_all(line.as_bytes());
    })
}

/// Not the standard library's, whose lock a thread of the process that forked this one may have had.
#[cfg(unix)]
fn stderr() -> std::mem::ManuallyDrop<std::fs::File> {
    // SAFETY: it is only written to, and not closed.
    std::mem::ManuallyDrop::new(unsafe { std::os::fd::FromRawFd::from_raw_fd(libc::STDERR_FILENO) })
}

/// Nobody forks here.
#[cfg(not(unix))]
fn stderr() -> std::io::Stderr {
    std::io::stderr()
}

// ---- from who says it to who listens

enum LogEntry {
    Said(Record),
    /// Everything before it has been heard.
    Flush(std::sync::mpsc::Sender<()>),
}

#[derive(Default)]
struct LogQueue {
    /// Of the thread that reads them, from the first one on; `Some(None)` where there is none to be had.
    reader: Mutex<Option<Option<SyncSender<LogEntry>>>>,
    dropped: AtomicU64,
}

static QUEUE: PerProcess<LogQueue> = PerProcess::new();

impl LogQueue {
    fn put(&'static self, record: Record) {
        let begin = || {
            let (sender, entries) = sync_channel(BACKLOG);
            let reader = threads::start("zkrecipes-log", move || self.read(entries));
            reader.is_ok().then_some(sender)
        };
        if let Some(entries) = lock(&self.reader).get_or_insert_with(begin)
            && entries.try_send(LogEntry::Said(record)).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self, entries: Receiver<LogEntry>) {
        for entry in entries {
            match entry {
                LogEntry::Said(record) => {
                    tell(&record);
                    let dropped = self.dropped.swap(0, Ordering::Relaxed);
                    if dropped > 0 {
                        tell(&Record {
                            level: Level::Warn,
                            event: "log_dropped".to_owned(),
                            message: "more was said than could be listened to".to_owned(),
                            fields: vec![("records", Value::Number(dropped as i64))],
                        });
                    }
                }
                LogEntry::Flush(done) => _ = done.send(()),
            }
        }
    }
}

fn tell(record: &Record) {
    for node in listeners() {
        if record.level as u8 <= node.level.load(Ordering::Acquire) {
            runtime::run_callback(|| (node.ear)(record));
        }
    }
}

/// Waits until what was said so far has been heard, for at most `limit`.
pub fn flush(limit: Duration) {
    if level() == Level::Off {
        return;
    }
    let (done, is_done) = channel();
    pool::LOG.run(Box::new(move || {
        // Behind what waited to be said.
        match &*lock(&QUEUE.of_this_process().reader) {
            Some(Some(entries)) => _ = entries.try_send(LogEntry::Flush(done)),
            _ => _ = done.send(()),
        }
    }));
    let _ = is_done.recv_timeout(limit);
}

/// Ends the thread that listeners are told on, when it has told them what was said so far. The next record starts another one.
pub(super) fn end() {
    let reader = lock(&QUEUE.of_this_process().reader).take();
    drop(reader);
}

/// The subscriber of all faces.
struct Faces;

impl Subscriber for Faces {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What the libraries below us have to say about connections is our business, not the user's.
        !metadata.is_span()
            && metadata.target().starts_with("zkrecipes")
            && Level::of_event(*metadata.level()) <= level()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(level().filter())
    }

    fn event(&self, event: &Event<'_>) {
        let mut record = Record {
            level: Level::of_event(*event.metadata().level()),
            event: String::new(),
            message: String::new(),
            fields: Vec::new(),
        };
        fields::each(event, |name, value| match (name, value) {
            ("message", Value::Text(sentence)) => record.message = sentence,
            ("event", Value::Text(event)) => record.event = event,
            (name, value) => record.fields.push((name, value)),
        });
        QUEUE.of_this_process().put(record);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
