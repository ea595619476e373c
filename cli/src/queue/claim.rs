//! `zkrecipes queue claim PATH -- COMMAND …`: runs a command for each item.
//!
//! 1. Claim an item; a signal withdraws.
//! 2. Run the command as [`crate::job`] does, with the item on its stdin.
//! 3. Status 0 removes the item; any other gives it back, and it steps aside for the others.

use std::ffi::OsString;
use std::time::Duration;

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Backlog, Error, ErrorKind, Item, Nack};

use super::Which;
use crate::args;
use crate::common::Common;
use crate::help::{self, examples};
use crate::job::{Desk, End, Job, Then};
use crate::outcome::{Failure, LOST, NOT_ACQUIRED, Outcome, say};
use crate::skipped;

/// Runs the command for one item after the other, with the item on its stdin
///
/// Status 0 removes the item. With any other status it steps aside for the
/// others, for a second after the first attempt and twice as long after each
/// further one, up to five minutes; after the last attempt it goes to the
/// dead. When this machine dies, the item goes back to its place. Every item
/// is worked on at least once. The command finds in its environment
///
///   ZKR_ATTEMPTS  how often the item was claimed, this time included
///   ZKR_FENCING_TOKEN, ZKR_SEQUENCER
///                 this claim, as with zkrecipes lock
///
/// Signals are passed on to a command that runs; INT, TERM, HUP and QUIT then
/// end claim too. The status is that of the last command that failed, or 0.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, override_usage = help::RUNNING.replace("VERB", "queue claim"), after_help = examples!("\
  zkrecipes queue claim /queues/resize -- sh -c 'resize \"$(cat)\"'
  zkrecipes queue claim --max-attempts 5 /queues/mail -- send-mail"))]
pub(super) struct Args {
    /// Of the queue
    path: String,
    /// What to run, and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// So many items
    #[arg(long, value_name = "N", value_parser = args::count)]
    count: Option<usize>,
    /// End when no item is left to claim
    #[arg(long, conflicts_with = "timeout")]
    until_empty: bool,
    /// Wait no longer for an item, once a server has been found; status 75
    #[arg(long, short = 'w', value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// How long an item steps aside whose command failed, 0 for not at all
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    pause: Option<Duration>,
    /// The command when the claim is lost: kill it, or let it continue
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true, default_value = "kill")]
    on_loss: Then,
    /// Between TERM and KILL
    #[arg(long, value_name = "TIME", value_parser = args::duration, default_value = "5s")]
    grace: Duration,
    /// The command gets ZKRECIPES_AUTH, _SASL and the TLS certificate and key, too
    #[arg(long)]
    pass_credentials: bool,
}

struct Plan {
    job: Job,
    count: Option<usize>,
    is_until_empty: bool,
    limit: Option<Duration>,
    pause: Option<Duration>,
    /// After so many an item goes to the dead; 0 for never.
    max_attempts: u32,
}

pub(super) fn run(args: Args, which: Which, common: Common) -> Outcome {
    let (has_credentials, is_until_empty) = (args.pass_credentials, args.until_empty);
    let Args { path, command, count, timeout: limit, pause, on_loss, grace, .. } = args;
    let gives_back = Default::default();
    let job = Job { path, command, grace, on_loss, on_revoke: Then::Continue, has_credentials, gives_back };
    let plan = Plan { job, count, is_until_empty, limit, pause, max_attempts: which.options()?.max_attempts };
    skipped::say_at_once();
    let desk = Desk::open()?;
    let outcome = common.with_client(desk.cancel(), |client| {
        let queue = which.of(client, &plan.job.path)?;
        plan.work(&queue, &desk)
    });
    desk.explain(outcome)
}

impl Plan {
    /// The status is that of the last command that failed, or 0.
    fn work(&self, queue: &Backlog, desk: &Desk) -> Outcome {
        let mut status = 0;
        for _ in 0..self.count.unwrap_or(usize::MAX) {
            let limit = if self.is_until_empty { Some(Duration::ZERO) } else { self.limit };
            let Some(item) = claim(queue, limit, desk.cancel())? else {
                if self.is_until_empty {
                    break;
                }
                let message = format!("there was no item in {} in time", self.job.path);
                return Err(Failure::new(NOT_ACQUIRED, message));
            };
            let (code, is_lost) = match desk.run(&self.job, &item, || {})? {
                End::Done(code) | End::Yielded(code) => (code, false),
                End::Lost(_) => (LOST, true),
            };
            if code != 0 {
                status = code;
                let attempt = item.attempts();
                let most = self.max_attempts;
                // One whose claim is lost goes back, and to the dead only when it is claimed again.
                let to = match !is_lost && most > 0 && attempt >= most {
                    true => "goes to the dead",
                    false => "goes back",
                };
                say(&format!("status {code}: the item {to}, after attempt {attempt}"));
            }
            if desk.cancel().is_cancelled() {
                return Ok(code);
            }
            if code != 0 && !is_lost {
                let mut nack = Nack::default().reason(format!("status {code}"));
                nack.delay = self.pause;
                drive::wait(item.nack_with(nack), None, None).or_else(unless_gone)?;
            }
        }
        Ok(status)
    }
}

fn claim(queue: &Backlog, limit: Option<Duration>, cancel: &CancelToken) -> Outcome<Option<Item>> {
    match drive::wait(drive::claim(queue, limit), Some(cancel), None) {
        Ok(item) => Ok(Some(item)),
        Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// It was given back, or is somebody else's, or goes back by itself.
fn unless_gone(error: Error) -> Outcome<()> {
    match error.kind() {
        ErrorKind::NotHeld | ErrorKind::ConnectionLost => Ok(()),
        _ => Err(error.into()),
    }
}
