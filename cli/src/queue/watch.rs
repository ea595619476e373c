//! `zkrecipes queue watch PATH`: a line whenever a queue has other numbers.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Backlog, QueueStats};

use super::{Which, named};
use crate::args;
use crate::common::Common;
use crate::follow::ENDING;
use crate::outcome::{self, Failure, INTERNAL, Outcome};
use crate::signals::Signals;
use crate::{skipped, table};

/// How often to look.
const LOOK: Duration = Duration::from_secs(1);
/// A look at a long queue takes its time: the servers rest for so many times as long.
const REST: u32 = 9;

/// Prints the numbers of stats in a line, and one more whenever they change
///
/// The time, then each number behind its name. Waits through an outage.
/// Ctrl-C ends it, with status 0.
///
/// Looks once a second, less often where a look takes more than a tenth of
/// that: what comes and goes in between is not seen. A look costs the servers
/// the lists of names that stats reads, and no item. It leaves no watches.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Args {
    /// Of the queue
    path: String,
    /// An object per line: at, and the fields of stats --json
    #[arg(long)]
    json: bool,
    /// End by itself, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = args::duration)]
    limit: Option<Duration>,
}

pub(super) fn run(args: Args, which: Which, common: Common) -> Outcome {
    let Args { path, json: is_json, limit } = args;
    skipped::say_at_once();
    let (sender, ends) = channel();
    let cancel = CancelToken::new();
    let withdrawing = cancel.clone();
    let signals = Signals::catch(&ENDING, move |signal| {
        withdrawing.cancel();
        let _ = sender.send(signal.number);
    })
    .map_err(|error| Failure::new(INTERNAL, format!("cannot catch signals: {error}")))?;
    let until = limit.map(|limit| Instant::now() + limit);
    let outcome = common.with_client(&cancel, |client| {
        let queue = which.of(client, &path)?;
        let (mut told, mut is_interrupted) = (None, false);
        loop {
            let began = Instant::now();
            match look(&queue, &cancel) {
                Ok(stats) => {
                    is_interrupted = false;
                    if told.replace(stats) != Some(stats) {
                        outcome::print(&line(stats, is_json))?;
                    }
                }
                Err(_) if cancel.is_cancelled() => return Ok(0),
                // A watcher waits for the servers to come back.
                Err(error) if error.is_retryable() => {
                    if !std::mem::replace(&mut is_interrupted, true) {
                        outcome::say(&format!("{error}; still trying"));
                    }
                }
                Err(error) => return Err(error.into()),
            }
            let pause = LOOK.max(began.elapsed() * REST);
            let rest =
                until.map_or(pause, |until| until.saturating_duration_since(Instant::now()).min(pause));
            if rest.is_zero() || ends.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                return Ok(0);
            }
        }
    });
    match signals.ending() {
        // The usual way to end it.
        Some(libc::SIGINT) => Ok(0),
        Some(signal) => Err(Failure::signal(signal)),
        None => outcome,
    }
}

fn look(queue: &Backlog, cancel: &CancelToken) -> zkrecipes::Result<QueueStats> {
    let queue = queue.clone();
    drive::wait(async move { queue.stats().await }, Some(cancel), None)
}

fn line(stats: QueueStats, is_json: bool) -> String {
    if is_json {
        let fields = table::object(named(stats).map(|(name, items)| (name, items.into())));
        return table::json(table::event(None, fields)) + "\n";
    }
    let numbers = named(stats).map(|(name, items)| format!("{name} {items}"));
    format!("{}  {}\n", table::timestamp(SystemTime::now()), numbers.join("  "))
}
