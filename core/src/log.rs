//! What the library says of itself: one function for each event of a client, and of what is held.
//! docs/observability.md has the table of all events; `core/tests/logs/observability.rs` compares it with the sources.
//!
//! Events are told in the order in which they happened, on a thread where a subscriber of logs holds nobody up. Nothing is
//! formatted unless somebody listens at that level.

pub(crate) mod fields;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::sync::oneshot;
use tracing::level_filters::LevelFilter;

use crate::error::LostReason;
use crate::pool::{self, Strand};
use crate::printable::{escaped, steers};
use crate::process::PerProcess;

/// So many lines wait for a subscriber that is slow; they take a few megabytes. The loss of some thousand locks at once is
/// told whole.
const MOST_UNSAID: usize = 10_000;

/// Lines that there was no room for, since that was last told.
static DROPPED: PerProcess<AtomicU64> = PerProcess::new();

/// Not here: this may be the thread that keeps the lease, or the alarm.
fn soon(say: impl FnOnce() + Send + 'static) {
    if LevelFilter::current() != LevelFilter::OFF {
        let span = tracing::Span::current();
        let say = move || span.in_scope(say);
        say_or_count(pool::LOG.of_this_process(), DROPPED.of_this_process(), say, dropped);
    }
}

/// What finds no room is counted, and told behind the next line that is said.
fn say_or_count(
    lines: &Strand,
    dropped: &'static AtomicU64,
    say: impl FnOnce() + Send + 'static,
    tell: fn(u64),
) {
    let line = move || {
        say();
        match dropped.swap(0, Ordering::Relaxed) {
            0 => {}
            records => tell(records),
        }
    };
    if !lines.run_unless_full(Box::new(line), MOST_UNSAID) {
        dropped.fetch_add(1, Ordering::Relaxed);
    }
}

fn dropped(records: u64) {
    tracing::warn!(target: "zkrecipes", event = "log_dropped", records, "more was said than could be listened to");
}

/// Resolves when all is said that is waiting to be.
pub(crate) async fn until_said() {
    if LevelFilter::current() != LevelFilter::OFF {
        let (said, is_said) = oneshot::channel::<()>();
        pool::LOG.run(Box::new(move || drop(said)));
        let _ = is_said.await;
    }
}

/// Whether a span is worth beginning: behind too many lines that nobody has the time to listen to, nobody would hear of its end.
pub(crate) fn may_begin_span() -> bool {
    LevelFilter::current() == LevelFilter::OFF || !pool::LOG.of_this_process().is_full(MOST_UNSAID)
}

/// Closes a span once all is said that was said in it before: whoever hears of spans may take their time, too.
pub(crate) fn ended(span: tracing::Span) {
    if !span.is_disabled() {
        pool::LOG.run(Box::new(move || drop(span)));
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// As it is, or in quotes. Others write some of what is said, such as their identity: it must not pass for another field or
/// line, nor steer a terminal.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let needs_quotes = |char: char| char.is_whitespace() || steers(char) || ['"', '='].contains(&char);
    match text.is_empty() || text.contains(needs_quotes) {
        true => Cow::Owned(format!("{text:?}")),
        false => Cow::Borrowed(text),
    }
}

/// A session as ZooKeeper's own tools write it.
fn hex(session: u64) -> String {
    format!("{session:#x}")
}

// ---- the session

/// A connection, as far as it is known who is at its other end.
#[derive(Clone, Default)]
pub(crate) struct Peer {
    pub(crate) session: u64,
    /// `host:port`.
    pub(crate) server: Option<String>,
}

pub(crate) fn connected(peer: Peer, timeout: Duration, took: Duration) {
    soon(move || {
        tracing::info!(
            target: "zkrecipes",
            event = "connected",
            server = peer.server,
            session = hex(peer.session),
            timeout_ms = ms(timeout),
            took_ms = ms(took),
            "connected to ZooKeeper"
        );
    });
}

pub(crate) fn suspended(peer: Peer, cause: Option<String>, lease: Duration) {
    soon(move || {
        let (server, session, lease_ms) = (peer.server, hex(peer.session), ms(lease));
        if lease.is_zero() {
            // Nothing is, or it has been lost by now.
            tracing::warn!(
                target: "zkrecipes",
                event = "suspended",
                server,
                session,
                cause,
                lease_ms,
                "out of touch with ZooKeeper"
            );
        } else {
            tracing::warn!(
                target: "zkrecipes",
                event = "suspended",
                server,
                session,
                cause,
                lease_ms,
                "out of touch with ZooKeeper; what is held stays held until the lease runs out"
            );
        }
    });
}

pub(crate) fn reconnected(peer: Peer, after: Duration) {
    soon(move || {
        tracing::info!(
            target: "zkrecipes",
            event = "reconnected",
            server = peer.server,
            session = hex(peer.session),
            after_ms = ms(after),
            "in touch with ZooKeeper again; the session goes on"
        );
    });
}

/// Why a session is taken for lost.
#[derive(Copy, Clone)]
pub(crate) enum SessionEnd {
    /// A server said so.
    Expired,
    /// No server was heard of for a whole session timeout.
    OutOfTouch,
    Denied,
}

pub(crate) fn session_lost(session: u64, end: SessionEnd, after: Option<Duration>, has_lost: bool) {
    let reason = match end {
        SessionEnd::Expired => "expired",
        SessionEnd::OutOfTouch => "out of touch",
        SessionEnd::Denied => "denied",
    };
    // Nobody has to get up for a session with which nothing was lost.
    soon(move || match has_lost {
        true => tracing::error!(
            target: "zkrecipes",
            event = "session_lost",
            session = hex(session),
            reason,
            after_ms = after.map(ms),
            "the session is lost, and with it everything that was held; a new one is being opened"
        ),
        false => tracing::warn!(
            target: "zkrecipes",
            event = "session_lost",
            session = hex(session),
            reason,
            after_ms = after.map(ms),
            "the session is lost, in which nothing was held; a new one is being opened"
        ),
    });
}

pub(crate) fn session_renewed(peer: Peer, before: u64, after: Duration) {
    soon(move || {
        tracing::warn!(
            target: "zkrecipes",
            event = "session_renewed",
            server = peer.server,
            session = hex(peer.session),
            before = hex(before),
            after_ms = ms(after),
            "a new session; what waits queues again, what was declared is made again"
        );
    });
}

pub(crate) fn connect_failed(cause: String, pause: Duration) {
    soon(move || {
        tracing::info!(
            target: "zkrecipes",
            event = "connect_failed",
            cause,
            pause_ms = ms(pause),
            "no session yet: {}; trying again after a pause",
            escaped(&cause)
        );
    });
}

pub(crate) fn closed(session: u64) {
    soon(
        move || tracing::info!(target: "zkrecipes", event = "closed", session = hex(session), "the client is closed"),
    );
}

pub(crate) fn lease_low(session: u64, left: Duration, held: usize) {
    soon(move || {
        tracing::warn!(
            target: "zkrecipes",
            event = "lease_low",
            session = hex(session),
            lease_ms = ms(left),
            held,
            "the lease runs out soon: the servers answer late or not at all"
        );
    });
}

pub(crate) fn retry(request: &str, pause: Duration, cause: impl FnOnce() -> Cow<'static, str>) {
    if tracing::enabled!(target: "zkrecipes", tracing::Level::DEBUG) {
        let (request, cause) = (request.to_owned(), cause());
        soon(move || {
            tracing::debug!(
                target: "zkrecipes",
                event = "retry",
                request,
                pause_ms = ms(pause),
                cause = &*cause,
                "asking again after a pause"
            );
        });
    }
}

pub(crate) fn skipped(node: &str, cause: &'static str) {
    let node = node.to_owned();
    soon(move || {
        tracing::warn!(
            target: "zkrecipes",
            event = "skipped",
            node,
            cause,
            "a node that cannot be read or taken is left out, and the others are not; have the right to it granted, or remove it \
             with what is below it"
        );
    });
}

pub(crate) fn slow_callback(took: Duration) {
    soon(move || {
        tracing::warn!(
            target: "zkrecipes",
            event = "slow_callback",
            took_ms = ms(took),
            "a callback took long; those behind it had to wait"
        );
    });
}

/// On a path of partitions of ours.
pub(crate) fn other_partitioner(path: &str, node: &str) {
    let (path, node) = (path.to_owned(), node.to_owned());
    soon(move || {
        tracing::warn!(
            target: "zkrecipes",
            event = "other_partitioner",
            path,
            node,
            "kazoo's SetPartitioner shares the partitions of this path, too, and neither waits for the other's locks, so that they are \
             worked on twice; stop its members, or let them take another path"
        );
    });
}

// ---- acquisitions

/// Somebody who holds what we wait for.
pub(crate) struct Holder {
    pub(crate) identity: String,
    pub(crate) node: String,
    pub(crate) since: SystemTime,
}

pub(crate) fn waiting_long(path: &str, recipe: &'static str, waited: Duration, holder: Option<Holder>) {
    let path = path.to_owned();
    let since = holder.as_ref().map(|holder| crate::time::rfc3339(holder.since));
    // Others wrote both.
    let shown = |holder: Holder| (escaped(&holder.identity).into_owned(), escaped(&holder.node).into_owned());
    let (identity, node) = holder.map(shown).unzip();
    soon(move || {
        tracing::info!(
            target: "zkrecipes",
            event = "waiting_long",
            path,
            recipe,
            waited_ms = ms(waited),
            holder = identity,
            holder_node = node,
            holder_since = since,
            "still waiting for its turn"
        );
    });
}

/// What was acquired.
#[derive(Clone)]
pub(crate) struct Tenancy {
    pub(crate) path: String,
    pub(crate) node: String,
    pub(crate) token: u64,
}

pub(crate) fn acquired(what: impl FnOnce() -> Tenancy, waited: Duration, was_long: bool) {
    if was_long {
        let Tenancy { path, node, token } = what();
        soon(move || {
            let waited_ms = ms(waited);
            tracing::info!(
                target: "zkrecipes",
                event = "acquired_late",
                path,
                node,
                token,
                waited_ms,
                "acquired after a long wait"
            );
        });
    } else if tracing::enabled!(target: "zkrecipes", tracing::Level::DEBUG) {
        let Tenancy { path, node, token } = what();
        soon(move || {
            tracing::debug!(target: "zkrecipes", event = "acquired", path, node, token, waited_ms = ms(waited), "acquired");
        });
    }
}

pub(crate) fn released(what: impl FnOnce() -> Tenancy, held: Duration) {
    if tracing::enabled!(target: "zkrecipes", tracing::Level::DEBUG) {
        let Tenancy { path, node, token } = what();
        soon(move || {
            tracing::debug!(target: "zkrecipes", event = "released", path, node, token, held_ms = ms(held), "released");
        });
    }
}

pub(crate) fn lost(what: Tenancy, reason: LostReason, held: Duration) {
    let Tenancy { path, node, token } = what;
    let (reason, is_ours) = (reason.name(), reason == LostReason::Closed);
    soon(move || {
        let held_ms = ms(held);
        if is_ours {
            // The caller closed the client and knows.
            tracing::debug!(
                target: "zkrecipes",
                event = "lost",
                path,
                node,
                token,
                reason,
                held_ms,
                "what was held at {} is lost ({reason})",
                escaped(&path)
            );
        } else {
            tracing::warn!(
                target: "zkrecipes",
                event = "lost",
                path,
                node,
                token,
                reason,
                held_ms,
                "what was held at {} is lost ({reason}); stop the protected work",
                escaped(&path)
            );
        }
    });
}

/// Something that a language's garbage collector found, and that was still held.
pub(crate) fn collected(what: Tenancy) {
    let Tenancy { path, node, token } = what;
    soon(move || {
        tracing::warn!(
            target: "zkrecipes",
            event = "collected",
            path,
            node,
            token,
            "what was held was garbage-collected; it is given back in the background. Release it, or use a scope"
        );
    });
}

pub(crate) fn revocation(path: &str, node: &str) {
    let (path, node) = (path.to_owned(), node.to_owned());
    soon(
        move || tracing::info!(target: "zkrecipes", event = "revocation", path, node, "somebody asks for what is held here"),
    );
}

pub(crate) fn forced(node: &str, after: Duration) {
    let node = node.to_owned();
    soon(move || {
        tracing::warn!(
            target: "zkrecipes",
            event = "forced",
            node,
            after_ms = ms(after),
            "deleted the node of a holder that had not let go in time"
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_a_slow_subscriber_are_dropped_at_a_limit_and_counted() {
        use std::sync::mpsc::channel;
        static COUNT: AtomicU64 = AtomicU64::new(0);
        static TOLD: AtomicU64 = AtomicU64::new(0);
        let tell = |records| TOLD.store(records, Ordering::Relaxed);
        let lines = Strand::default();
        let ((begun, is_begun), (until, ended)) = (channel(), channel::<()>());
        let slow = move || {
            let _ = begun.send(());
            let _ = ended.recv();
        };
        say_or_count(&lines, &COUNT, slow, tell);
        is_begun.recv().expect("it is being said");
        let (said, is_said) = channel();
        for line in 0..MOST_UNSAID + 7 {
            let said = said.clone();
            say_or_count(&lines, &COUNT, move || _ = said.send(line), tell);
        }
        drop((said, until));
        assert_eq!(is_said.iter().last(), Some(MOST_UNSAID - 1), "in order, the first ones");
        assert_eq!(TOLD.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn what_others_wrote_can_neither_pass_for_a_field_nor_steer_a_terminal() {
        for (text, said) in [
            ("web1:4117", "web1:4117"),
            ("", "\"\""),
            ("night shift", "\"night shift\""),
            ("a=b", "\"a=b\""),
            ("a\u{1b}[2J", "\"a\\u{1b}[2J\""),
            ("a\u{202e}b", "\"a\\u{202e}b\""),
            ("a\u{2066}b", "\"a\\u{2066}b\""),
            ("a\u{200f}b\u{9b}", "\"a\\u{200f}b\\u{9b}\""),
        ] {
            assert_eq!(quoted(text), said);
        }
    }
}
