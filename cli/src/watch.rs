//! `zkrecipes watch PATH`: a table that is drawn again on a terminal, a line per change elsewhere.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use zkrecipes::drive::{self, CancelToken};

use crate::args;
use crate::common::Common;
use crate::contenders::{Fingerprint, Onlooker, Row, Seen};
use crate::follow::{self, ENDING};
use crate::help::examples;
use crate::outcome::{self, Failure, INTERNAL, Outcome};
use crate::system::signals::{SIGINT, Signals};
use crate::system::terminal;
use crate::{screen, survey, table};

/// How often to look whether anybody came or went: a small read or three, however many there are.
const GLANCE: Duration = Duration::from_millis(200);
/// How often to read everybody all the same: that somebody was asked to let go shows in no fingerprint.
const READ_ALL: Duration = Duration::from_secs(5);
/// How often the ages on a terminal move.
const DRAW: Duration = Duration::from_secs(1);

/// Who holds a lock, a semaphore or an election, as it changes
///
/// On a terminal: the table of zkrecipes ls, drawn again when somebody comes
/// or goes. Elsewhere: a line for everybody who is there, then one for every
/// change: time, what happened (waits, holds, asked, gone), kind, identity,
/// node. A path that is a queue, a group or a value is refused, with what
/// shows it. Waits through an outage. Ctrl-C ends it, with status 0.
///
/// Looks five times a second: who comes and goes in between is not seen, and
/// that somebody was asked shows within five seconds. It leaves no watches on
/// the servers. What it costs them: a read of some 100 bytes per look (two or
/// three for a semaphore), whatever the length of the queue, answered by the
/// server it is connected to; and one read per contender whenever somebody
/// has come or gone, and every five seconds.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes watch /locks/backup
  zkrecipes watch /locks/backup --for 8h >> backup-lock.log
  zkrecipes watch /locks/backup --json | jq 'select(.event == \"holds\")'"))]
pub(crate) struct Args {
    /// What is held and waited for
    path: String,
    /// An object per line: at, event, and the fields of ls --json
    #[arg(long)]
    json: bool,
    /// End by itself, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = args::duration)]
    limit: Option<Duration>,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, json: is_json, limit } = args;
    let (sender, ends) = channel();
    let cancel = CancelToken::new();
    let withdrawing = cancel.clone();
    let signals = Signals::catch(&ENDING, move |signal| {
        withdrawing.cancel();
        let _ = sender.send(signal.number);
    })
    .map_err(|error| Failure::new(INTERNAL, format!("cannot catch signals: {error}")))?;
    let until = limit.map(|limit| Instant::now() + limit);
    let on_terminal = std::io::stdout().is_terminal() && !is_json;
    if on_terminal {
        terminal::understand_escapes();
    }
    let view = if on_terminal { View::Table } else { View::Lines { is_json, known: Vec::new() } };
    let outcome = common.looking(&cancel, |onlooker| {
        // A table has a line of its own for it.
        let told = (!on_terminal).then(|| follow::tell_outages(&onlooker.client));
        let outcome = Watching { onlooker, path: &path, cancel: &cancel, view }.run(&ends, until);
        if let Some(told) = told {
            told.unsubscribe();
        }
        outcome
    });
    match signals.ending() {
        // The usual way to end it.
        Some(SIGINT) => Ok(0),
        Some(signal) => Err(Failure::signal(signal)),
        None => outcome,
    }
}

enum View {
    Table,
    Lines { is_json: bool, known: Vec<Row> },
}

struct Watching<'a> {
    onlooker: &'a Onlooker,
    path: &'a str,
    cancel: &'a CancelToken,
    view: View,
}

impl Watching<'_> {
    fn run(mut self, ends: &Receiver<i32>, until: Option<Instant>) -> Outcome {
        let (mut rows, mut parents, mut fingerprint) = (Vec::new(), vec![self.path.to_owned()], None);
        let (mut read_at, mut drawn_at) = (None::<Instant>, None::<Instant>);
        loop {
            let is_interrupted;
            let is_due = |at: Option<Instant>, every| at.is_none_or(|at| at.elapsed() >= every);
            let known = fingerprint.clone().filter(|_| !is_due(read_at, READ_ALL));
            match self.look(known, parents.clone()) {
                Ok(Some((before, mut found))) => {
                    if read_at.is_none()
                        && found.rows.is_empty()
                        && let Some(else_) = survey::what_else(&self.onlooker.client, self.path)?
                    {
                        return Err(Failure::usage(else_));
                    }
                    found.rows.iter_mut().for_each(|row| row.remember(&rows));
                    // What came meanwhile below a parent that was not looked at before is seen the next time.
                    fingerprint = (found.parents == parents).then_some(before);
                    (read_at, rows, parents) = (Some(Instant::now()), found.rows, found.parents);
                    (drawn_at, is_interrupted) = (None, false);
                    self.tell(&rows)?;
                }
                Ok(None) => is_interrupted = false,
                // A watcher waits for the servers to come back.
                Err(error) if error.is_retryable() && self.cancel.is_cancelled() => return Ok(0),
                Err(error) if error.is_retryable() => {
                    is_interrupted = true;
                    (fingerprint, drawn_at) = (None, None);
                }
                Err(error) => return Err(error.into()),
            }
            if matches!(self.view, View::Table) && is_due(drawn_at, DRAW) {
                drawn_at = Some(Instant::now());
                self.draw(&rows, is_interrupted)?;
            }
            let rest =
                until.map_or(GLANCE, |until| until.saturating_duration_since(Instant::now()).min(GLANCE));
            if rest.is_zero() || ends.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                return Ok(0);
            }
        }
    }

    /// Everybody at the path, unless nobody came or went since the fingerprint.
    fn look(
        &self,
        known: Option<Fingerprint>,
        parents: Vec<String>,
    ) -> zkrecipes::Result<Option<(Fingerprint, Seen)>> {
        let (onlooker, path) = (self.onlooker.clone(), self.path.to_owned());
        drive::wait(
            async move {
                // First, so that whoever comes in between is seen next time.
                let before = onlooker.fingerprint(&parents).await?;
                if known.as_ref() == Some(&before) {
                    return Ok(None);
                }
                Ok(Some((before, onlooker.gather(&path).await?)))
            },
            Some(self.cancel),
            None,
        )
    }

    /// A line for everything that is not as it was.
    fn tell(&mut self, rows: &[Row]) -> Outcome<()> {
        let View::Lines { is_json, known } = &mut self.view else { return Ok(()) };
        let at = table::timestamp(SystemTime::now());
        let mut lines = String::new();
        let mut line = |event: &str, row: &Row| {
            lines += &match is_json {
                true => table::json(table::event(Some(event), table::fields(row))) + "\n",
                false => format!(
                    "{at}  {event:<5}  {:<5}  {}  {}\n",
                    row.contender.kind,
                    table::shown_identity(row),
                    table::printable(row.node())
                ),
            };
        };
        for gone in known.iter().filter(|old| !rows.iter().any(|row| row.node() == old.node())) {
            line("gone", gone);
        }
        for row in rows {
            let before = known.iter().find(|old| old.node() == row.node());
            if before.is_none_or(|before| before.contender.holds != row.contender.holds) {
                line(if row.contender.holds { "holds" } else { "waits" }, row);
            }
            if row.is_asked() && !before.is_some_and(Row::is_asked) {
                line("asked", row);
            }
        }
        known.clear();
        known.extend_from_slice(rows);
        outcome::print(&lines).map(drop)
    }

    fn draw(&self, rows: &[Row], is_interrupted: bool) -> Outcome<()> {
        let (width, height) = screen::size();
        let now = SystemTime::now();
        let state = if is_interrupted { "no server answers; still trying" } else { "Ctrl-C ends" };
        let mut lines =
            vec![format!("{}  {}  ({state})", self.path, &table::timestamp(now)[..19]), String::new()];
        lines.extend(table::lines(rows, now));
        if rows.is_empty() {
            lines.push("nobody".to_owned());
        }
        // The last line stays free for the cursor.
        let room = height.saturating_sub(2);
        if lines.len() > room {
            let hidden = lines.len() - room;
            lines.truncate(room);
            lines.push(format!("… and {hidden} more"));
        }
        // Each line clears what stood behind it, and the last what stood below: clearing first would flicker.
        let cut = |line: String| line.chars().take(width).collect::<String>() + "\x1b[K\n";
        let screen: String = lines.into_iter().map(cut).collect();
        outcome::print(&format!("\x1b[H{screen}\x1b[J")).map(drop)
    }
}
