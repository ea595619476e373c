//! `zkrecipes elect PATH -- COMMAND …`: runs a command while it leads.
//!
//! 1. Campaign; a signal withdraws.
//! 2. Run the command as [`crate::job`] does, and tell everybody that it has begun.
//! 3. When the leadership is lost or asked for, the command is ended; campaign again. So it is when a check (`--healthy`) says that it
//!    cannot lead.
//! 4. When the command has ended by itself, resign and give its status back.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zkrecipes::ElectionOptions;
use zkrecipes::drive::{self, CancelToken, Terms};

use crate::args;
use crate::common::Common;
use crate::healthy::Check;
use crate::help::{self, examples};
use crate::job::{Desk, End, Job, Then};
use crate::outcome::{Failure, LOST, Outcome, say};
use crate::under;

/// Run a command while it leads
///
/// Becomes a candidate of the election at PATH and waits until it leads. Then
/// it runs the command. When the command ends by itself, the next candidate
/// leads, and the status is the command's.
///
/// When the leadership is lost (its session ended, its node was deleted) or
/// somebody asks for it (zkrecipes break, a candidate with a higher priority),
/// the command and the processes it started get TERM, and KILL after the grace
/// (on Windows they are ended at once). Then it stands again, and runs the
/// command again once it leads again.
///
/// With --healthy it stands only while that command, which sh runs every five
/// seconds, ends with 0. When it ends with something else, the leadership is
/// asked for, as somebody else would.
///
/// The command finds in its environment
///
///   ZKR_EPOCH          a number that rises with every leader; pass it along,
///                      and let what you write to refuse lower ones
///   ZKR_FENCING_TOKEN  the same number
///   ZKR_SEQUENCER      this leadership as a string, which any program that
///                      uses zkrecipes can check
///
/// Signals are passed on to a command that runs, as zkrecipes lock does. INT,
/// TERM, HUP and QUIT also end the candidacy. While it waits, a signal gives
/// up: 128 + N. It waits through an outage.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, override_usage = help::RUNNING.replace("VERB", "elect"), after_help = examples!("\
  zkrecipes elect /leaders/index -- index-writer
  zkrecipes elect --data 10.0.0.7:80 /leaders/api -- serve --port 80
  zkrecipes elect --healthy 'curl -fs localhost/ready' /leaders/api -- serve
  zkrecipes elect /leaders/cron -- sh -c 'run-jobs --epoch \"$ZKR_EPOCH\"'"))]
pub(crate) struct Args {
    /// Of the election
    path: String,
    /// What to run, and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// What zkrecipes leader shows of this candidate
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    data: String,
    /// Of all who stand the one with the highest number leads
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true,
        hide_default_value = true
    )]
    priority: i32,
    /// Stand only while COMMAND ends with 0, as sh runs it
    #[arg(long, value_name = "COMMAND")]
    healthy: Option<String>,
    /// How often that is run, and how long it may take
    #[arg(long, value_name = "TIME", value_parser = args::duration, default_value = "5s", requires = "healthy")]
    healthy_every: Duration,
    /// Do not stand again: status 76 after a loss, and the command's after it was asked for
    #[arg(long)]
    once: bool,
    /// The command when somebody asks for the leadership: kill it, or let it continue
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true, default_value = "kill")]
    on_revoke: Then,
    /// Between TERM and KILL
    #[arg(long, value_name = "TIME", value_parser = args::duration, default_value = "5s")]
    grace: Duration,
    /// The command gets ZKRECIPES_AUTH, _SASL and the TLS certificate and key, too
    #[arg(long)]
    pass_credentials: bool,
    /// Whose election it is: latch for Apache Curator's LeaderLatch (the default), selector for its LeaderSelector;
    /// kazoo's needs --naming kazoo
    #[arg(long)]
    layout: Option<String>,
}

/// How long after KILL a command is gone, and the longest time for draining.
const KILLED: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

struct Plan {
    job: Job,
    data: String,
    options: ElectionOptions,
    check: Option<Check>,
    is_once: bool,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let plan = args.plan()?;
    let desk = Desk::open()?;
    let outcome = common.with_client(desk.cancel(), |client| {
        let election = client.election(&plan.job.path, plan.data.as_bytes(), plan.options.clone())?;
        under::tell_waits(&election);
        let terms = drive::terms(&election)?;
        match &plan.check {
            Some(check) => check.beside(&desk, &election, || lead(&plan, &desk, terms)),
            None => lead(&plan, &desk, terms),
        }
    });
    desk.explain(outcome)
}

fn lead(plan: &Plan, desk: &Desk, mut terms: Terms) -> Outcome {
    loop {
        let won = campaign(terms, desk.cancel())?;
        let (back, Some(leadership)) = won else { return Err(Failure::withdrawn()) };
        terms = back;
        let (begun, data) = (leadership.clone(), plan.data.clone());
        let begun = move || {
            // Who has lost already is told so elsewhere.
            let telling = async move { begun.acknowledge(data.as_bytes()).await };
            let _ = drive::start(telling, &CancelToken::new(), |_| {});
        };
        let code = match desk.run(&plan.job, &leadership, begun)? {
            End::Done(code) => return Ok(code),
            End::Yielded(code) => code,
            End::Lost(_) => LOST,
        };
        if plan.is_once || desk.cancel().is_cancelled() {
            return Ok(code);
        }
        // Who leads now, if anybody does, is not known here.
        say(&match plan.job.gives_back.load(Ordering::Acquire) {
            true => {
                format!("no longer the leader of {}; it does not stand until it is healthy", plan.job.path)
            }
            false => format!("no longer the leader of {}; standing again", plan.job.path),
        });
        terms.succeeded();
    }
}

/// Waits until this candidate leads, through any outage.
fn campaign(mut terms: Terms, cancel: &CancelToken) -> Outcome<(Terms, Option<zkrecipes::Leadership>)> {
    let campaigning = async move {
        let won = terms.next().await?;
        Ok((terms, won))
    };
    Ok(drive::wait(campaigning, Some(cancel), None)?)
}

impl Args {
    fn plan(self) -> Outcome<Plan> {
        let mut options = ElectionOptions::default();
        if let Some(layout) = self.layout {
            options.layout = layout.parse()?;
        }
        // Until the command has ended it leads.
        options = options.priority(self.priority).drain(match self.on_revoke {
            Then::Kill => (self.grace + KILLED).min(LONGEST),
            Then::Continue => LONGEST,
        });
        let has_credentials = self.pass_credentials;
        let every = self.healthy_every;
        let gives_back = Arc::new(AtomicBool::new(false));
        let is_ill = gives_back.clone();
        let check = self.healthy.map(|command| Check { command, every, has_credentials, is_ill });
        let Args { path, command, grace, on_revoke, data, once: is_once, .. } = self;
        let job = Job { path, command, grace, on_loss: Then::Kill, on_revoke, has_credentials, gives_back };
        Ok(Plan { job, data, options, check, is_once })
    }
}
