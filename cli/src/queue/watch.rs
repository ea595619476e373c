//! `zkrecipes queue watch PATH`: a line whenever a queue has other numbers.

use std::future::pending;
use std::time::{Duration, Instant, SystemTime};

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Backlog, QueueStats};

use super::{Which, named};
use crate::args;
use crate::common::Common;
use crate::outcome::{self, Outcome};
use crate::{follow, table};

/// How often to look.
const LOOK: Duration = Duration::from_secs(1);
/// A look at a long queue takes its time: the servers rest for so many times as long.
const REST: u32 = 9;
/// However slow they are.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Prints the numbers of stats in a line, and one more whenever they change
///
/// The time, then each number behind its name. Waits through an outage.
/// Ctrl-C ends it, with status 0.
///
/// Looks once a second, less often where a look takes more than a tenth of
/// that, but every ten seconds: what comes and goes in between is not seen. A look costs the servers
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
    let until = limit.map(|limit| Instant::now() + limit);
    let rest = || until.map(|until| until.saturating_duration_since(Instant::now()));
    follow::until_ended(common, |client, cancel| {
        let queue = which.of(client, &path)?;
        let (mut told, mut is_interrupted) = (None, false);
        loop {
            let began = Instant::now();
            // Whoever gives no time for it wants a look, too.
            let pause = match look(&queue, rest().map(|rest| rest.max(LOOK)), cancel) {
                Ok(Some(stats)) => {
                    is_interrupted = false;
                    if told.replace(stats) != Some(stats) {
                        outcome::print(&line(stats, is_json))?;
                    }
                    (began.elapsed() * REST).clamp(LOOK, LONGEST_PAUSE)
                }
                Ok(None) => return Ok(0),
                Err(_) if cancel.is_cancelled() => return Ok(0),
                // A watcher waits for the servers to come back.
                Err(error) if error.is_retryable() => {
                    if !std::mem::replace(&mut is_interrupted, true) {
                        outcome::say(&format!("{}; still trying", outcome::sentence_of(&error)));
                    }
                    LOOK
                }
                Err(error) => return Err(error.into()),
            };
            let pause = rest().map_or(pause, |rest| rest.min(pause));
            let paused = async move { Ok(drive::within(Some(pause), pending::<()>()).await) };
            if pause.is_zero() || drive::wait(paused, Some(cancel), None).is_err() {
                return Ok(0);
            }
        }
    })
}

/// `None` when there is no time left for it.
fn look(
    queue: &Backlog,
    rest: Option<Duration>,
    cancel: &CancelToken,
) -> zkrecipes::Result<Option<QueueStats>> {
    let queue = queue.clone();
    let asked = async move { drive::within(rest, queue.stats()).await.transpose() };
    drive::wait(asked, Some(cancel), None)
}

fn line(stats: QueueStats, is_json: bool) -> String {
    if is_json {
        let fields = table::object(named(stats).map(|(name, items)| (name, items.into())));
        return table::json(table::event(None, fields)) + "\n";
    }
    let numbers = named(stats).map(|(name, items)| format!("{name} {items}"));
    format!("{}  {}\n", table::timestamp(SystemTime::now()), numbers.join("  "))
}
