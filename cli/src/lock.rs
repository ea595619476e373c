//! `zkrecipes lock PATH -- COMMAND …`: runs a command under a lock.
//!
//! 1. Acquire; a signal withdraws.
//! 2. Run the command as [`crate::job`] does.
//! 3. Give its status back.

use std::ffi::OsString;
use std::time::Duration;

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, ErrorKind, Handle, Held, LockOptions, Result};

use crate::args;
use crate::common::Common;
use crate::help::{self, examples};
use crate::job::{Desk, End, Job, Then};
use crate::outcome::{Failure, LOST, NOT_ACQUIRED, Outcome};
use crate::under;

/// Run a command under a lock, like flock(1)
///
/// Waits for the lock at PATH, runs the command, releases, and exits with the
/// command's status (128 + N if signal N ended it; 126 or 127 if it could not
/// be run). The command finds in its environment
///
///   ZKR_FENCING_TOKEN  a number that rises with every acquisition: a resource
///                      that refuses lower ones than it has seen is protected
///                      even from a holder that does not know yet that it
///                      lost
///   ZKR_SEQUENCER      this very acquisition as a string, which any program
///                      that uses zkrecipes can check
///
/// INT, TERM, HUP, QUIT, USR1, USR2 and WINCH are passed on. The command
/// stays in the foreground of the terminal: Ctrl-C reaches it directly, and
/// once. While the lock is waited for, a signal gives up: 128 + N. On a
/// terminal it says for whom it waits, after a second and now and then.
///
/// When the lock is lost (its session ended, its node was deleted) the
/// command and the processes it started get TERM, and KILL after the grace;
/// the status is then 76. Processes that have detached themselves are not
/// reached. If zkrecipes itself is killed, the command gets TERM (on Linux,
/// unless --on-loss continue). On Windows all of them are ended at once in
/// both cases. Ctrl-Z stops both, and the lock is lost after the session
/// timeout.
///
/// Without --shared, --write and --permits it takes a lock: one holder.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, override_usage = help::RUNNING.replace("VERB", "lock"), after_help = examples!("\
  zkrecipes lock /locks/backup -- backup.sh --full
  zkrecipes lock --try /locks/cron/report -- report.sh || test $? = 75
  zkrecipes lock --timeout 30s -E 0 /locks/backup -- backup.sh
  zkrecipes lock --shared /locks/catalogue -- read-catalogue
  zkrecipes lock --permits 3 /limits/exports -- export.sh
  zkrecipes lock /locks/db -- sh -c 'migrate --token \"$ZKR_FENCING_TOKEN\"'"))]
pub(crate) struct Args {
    /// Of the lock, such as /locks/backup
    path: String,
    /// What to run, and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// The read side of a read/write lock, held together
    #[arg(long, short, conflicts_with_all = ["write", "permits", "of", "take"])]
    shared: bool,
    /// Its write side: one holder. Among programs that use zkrecipes the same as a lock, but Apache Curator's readers
    /// respect writers only: use it beside readers
    #[arg(long, conflicts_with_all = ["permits", "of", "take"])]
    write: bool,
    /// The size of a semaphore, which all name alike; takes one of its permits, or as many as --take says. (Together
    /// with --of: how many permits to take)
    #[arg(long, value_name = "SIZE", value_parser = args::count)]
    permits: Option<usize>,
    /// How many permits to take at once
    #[arg(long, value_name = "N", value_parser = args::count)]
    take: Option<usize>,
    /// The size of the semaphore, where --permits says how many to take
    #[arg(long, value_name = "SIZE", value_parser = args::count)]
    of: Option<usize>,
    /// Do not wait for others; a server is tried for as long as --connect-timeout says
    #[arg(long = "try", short = 'n', conflicts_with = "timeout")]
    is_try: bool,
    /// Wait no longer than that, once a server has been found
    #[arg(long, short = 'w', value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// The status when it could not be had in time
    #[arg(long, short = 'E', value_name = "N", default_value_t = NOT_ACQUIRED as u8)]
    conflict_exit_code: u8,
    /// The command when the lock is lost: kill it, or let it continue, and a status of 0 becomes 76
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true, default_value = "kill")]
    on_loss: Then,
    /// The command when somebody asks for the lock (zkrecipes break): let it continue, or kill it as above; the status is
    /// then the command's
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true, default_value = "continue")]
    on_revoke: Then,
    /// Between TERM and KILL
    #[arg(long, value_name = "TIME", value_parser = args::duration, default_value = "5s")]
    grace: Duration,
    /// The command gets ZKRECIPES_AUTH, _SASL and the TLS certificate and key, too
    #[arg(long)]
    pass_credentials: bool,
}

/// What to take.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Lock,
    Read,
    Write,
    Permits { n: usize, of: usize },
}

struct Plan {
    job: Job,
    kind: Kind,
    /// `None` waits for ever, zero does not wait.
    timeout: Option<Duration>,
    conflict: i32,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let plan = args.plan()?;
    let desk = Desk::open()?;
    let ended = common.with_client(desk.cancel(), |client| {
        let held = acquire(client, &plan, desk.cancel())?;
        desk.run(&plan.job, &held, || {})
    });
    Ok(match desk.explain(ended)? {
        End::Done(code) | End::Yielded(code) => code,
        End::Lost(code) if plan.job.on_loss == Then::Kill || code == 0 => LOST,
        End::Lost(code) => code,
    })
}

impl Args {
    fn plan(self) -> Outcome<Plan> {
        let kind = match semaphore(self.permits, self.of, self.take)? {
            Some(permits) => permits,
            None if self.shared => Kind::Read,
            None if self.write => Kind::Write,
            None => Kind::Lock,
        };
        let timeout = if self.is_try { Some(Duration::ZERO) } else { self.timeout };
        let Args { path, command, grace, on_loss, on_revoke, pass_credentials: has_credentials, .. } = self;
        let gives_back = Default::default();
        let job = Job { path, command, grace, on_loss, on_revoke, has_credentials, gives_back };
        Ok(Plan { job, kind, timeout, conflict: self.conflict_exit_code.into() })
    }
}

/// `--permits SIZE`, `--permits SIZE --take N`, or `--permits N --of SIZE`.
fn semaphore(permits: Option<usize>, of: Option<usize>, take: Option<usize>) -> Outcome<Option<Kind>> {
    let kind = match (permits, of, take) {
        (None, None, None) => return Ok(None),
        (Some(size), None, take) => Kind::Permits { n: take.unwrap_or(1), of: size },
        (Some(n), Some(size), None) => Kind::Permits { n, of: size },
        (None, Some(size), take) => Kind::Permits { n: take.unwrap_or(1), of: size },
        (Some(permits), Some(size), Some(n)) if permits == n => Kind::Permits { n, of: size },
        (Some(_), Some(_), Some(_)) => {
            return Err(Failure::usage(
                "--permits and --take disagree: with --of, --permits is how many to take",
            ));
        }
        (None, None, Some(_)) => {
            return Err(Failure::usage("--take needs the size of the semaphore: give --permits SIZE too"));
        }
    };
    Ok(Some(kind))
}

fn acquire(client: &Client, plan: &Plan, cancel: &CancelToken) -> Outcome<Held> {
    let (path, limit) = (plan.job.path.as_str(), plan.timeout);
    let (handle, n) = match plan.kind {
        Kind::Lock => (Handle::clone(&*client.lock(path, LockOptions::default())?), 1),
        Kind::Read => (Handle::clone(client.read_write_lock(path)?.read()), 1),
        Kind::Write => (Handle::clone(client.read_write_lock(path)?.write()), 1),
        Kind::Permits { n, of } => (Handle::clone(&*client.semaphore(path, of)?), n),
    };
    under::tell_waits(&handle);
    let acquiring = drive::acquire(&handle, n, limit);
    wait(async move { Ok(acquiring.await?.hand_over()) }, cancel).map_err(|error| {
        match (error.kind(), limit) {
            // To whoever has status 0 for it that is no failure: cron would send what is said by mail.
            (ErrorKind::Timeout, _) if plan.conflict == 0 => Failure::new(0, ""),
            (ErrorKind::Timeout, Some(limit)) => {
                let what =
                    if limit.is_zero() { format!("{path} cannot be had now") } else { error.to_string() };
                Failure::new(plan.conflict, format!("{what}; see zkrecipes ls {path}"))
            }
            _ => error.into(),
        }
    })
}

fn wait(
    acquiring: impl Future<Output = Result<Held>> + Send + 'static,
    cancel: &CancelToken,
) -> Result<Held> {
    drive::wait(acquiring, Some(cancel), None)
}
