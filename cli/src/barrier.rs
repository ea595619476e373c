//! `zkrecipes barrier create|remove|wait PATH`, and `barrier enter PATH -- COMMAND …`.

use std::ffi::OsString;
use std::time::Duration;

use zkrecipes::drive;
use zkrecipes::{Barrier, Client, DoubleBarrier, ErrorKind};

use crate::args;
use crate::common::Common;
use crate::help::{self, examples};
use crate::job::{Desk, End, Job, Then};
use crate::outcome::{Failure, LOST, NOT_ACQUIRED, Outcome};
use crate::under;

/// Wait for each other
///
/// Signals are passed on to a command that runs, as zkrecipes lock does.
/// While it waits, a signal gives up: 128 + N. Who gives up counts for
/// nobody.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, arg_required_else_help = false, after_help = examples!("\
  zkrecipes barrier create /maintenance
  zkrecipes barrier wait --timeout 10m /maintenance && start-work
  zkrecipes barrier remove /maintenance
  zkrecipes barrier enter --parties 4 /simulation -- compute --step 7"))]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Puts a barrier up. It stays up until it is removed, whatever becomes of those who use it; it may be said again
    Create {
        /// Of the barrier
        path: String,
    },
    /// Takes it away, whoever has put it up; it may be said again
    Remove {
        /// Of the barrier
        path: String,
    },
    /// Waits until there is none
    Wait {
        /// Of the barrier
        path: String,
        /// Wait no longer than that, once a server has been found; status 75
        #[arg(long, short = 'w', value_name = "TIME", value_parser = args::duration)]
        timeout: Option<Duration>,
    },
    /// Waits until N have come, runs the command, waits until the commands of all N have ended, and exits with the status of
    /// its own
    ///
    /// A command that fails does not wait for the others, and is not waited
    /// for; neither is one whose machine dies. Status 76: the session ended
    /// before all had left.
    #[command(verbatim_doc_comment, override_usage = help::RUNNING.replace("VERB", "barrier enter --parties N"), after_help = examples!("\
  zkrecipes barrier enter --parties 4 /simulation -- compute --step 7"))]
    Enter(Enter),
}

#[derive(clap::Args)]
struct Enter {
    /// Of the barrier
    path: String,
    /// What to run, and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// How many wait for each other; all must say the same number
    #[arg(long, value_name = "N", value_parser = args::count)]
    parties: usize,
    /// What others see as this member (host:pid)
    #[arg(long)]
    name: Option<String>,
    /// Wait no longer than that, once a server has been found; status 75
    #[arg(long, short = 'w', value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// Between TERM and KILL
    #[arg(long, value_name = "TIME", value_parser = args::duration, default_value = "5s")]
    grace: Duration,
    /// The command gets ZKRECIPES_AUTH, _SASL and the TLS certificate and key, too
    #[arg(long)]
    pass_credentials: bool,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    match args.verb {
        Verb::Create { path } => gate(common, &path, |barrier| async move { barrier.create().await }),
        Verb::Remove { path } => gate(common, &path, |barrier| async move { barrier.remove().await }),
        Verb::Wait { path, timeout } => gate(common, &path, move |barrier| {
            under::say_waits(|tell| barrier.on_wait(tell), |progress| under::who(progress, "has put it up"));
            async move { barrier.wait(timeout).await }
        }),
        Verb::Enter(args) => enter(args, common),
    }
}

fn gate<F>(common: Common, path: &str, doing: impl FnOnce(Barrier) -> F) -> Outcome
where
    F: Future<Output = zkrecipes::Result<()>> + Send + 'static,
{
    let desk = Desk::open()?;
    let outcome = common.with_client(desk.cancel(), |client| {
        match drive::wait(doing(client.barrier(path)?), Some(desk.cancel()), None) {
            Err(error) if error.kind() == ErrorKind::Timeout => {
                Err(Failure::new(NOT_ACQUIRED, format!("the barrier {path} is still up")))
            }
            done => Ok(done.map(|()| 0)?),
        }
    });
    desk.explain(outcome)
}

fn enter(args: Enter, common: Common) -> Outcome {
    let Enter { path, command, parties, name, timeout: limit, grace, pass_credentials: has_credentials } =
        args;
    let gives_back = Default::default();
    let job = Job {
        path,
        command,
        grace,
        on_loss: Then::Kill,
        on_revoke: Then::Continue,
        has_credentials,
        gives_back,
    };
    let desk = Desk::open()?;
    let outcome = common.with_client(desk.cancel(), |client| {
        let barrier = entered(client, &job.path, parties, name.as_deref(), limit, &desk)?;
        Ok(match desk.run(&job, &barrier, || {})? {
            End::Done(code) | End::Yielded(code) => code,
            End::Lost(_) => LOST,
        })
    });
    desk.explain(outcome)
}

/// Waits until all have come.
fn entered(
    client: &Client,
    path: &str,
    parties: usize,
    name: Option<&str>,
    limit: Option<Duration>,
    desk: &Desk,
) -> Outcome<DoubleBarrier> {
    let barrier = client.double_barrier(path, parties, name)?;
    under::say_waits(
        |tell| barrier.on_wait(tell),
        move |progress| {
            progress.ahead.map_or(String::new(), |ahead| format!(": {ahead} of {parties} are missing"))
        },
    );
    let entering = barrier.clone();
    match drive::wait(async move { entering.enter(limit).await }, Some(desk.cancel()), None) {
        Err(error) if error.kind() == ErrorKind::Timeout => {
            Err(Failure::new(NOT_ACQUIRED, format!("not all {parties} have come to {path} in time")))
        }
        entered => Ok(entered.map(|()| barrier)?),
    }
}
