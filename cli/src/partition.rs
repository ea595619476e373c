//! `zkrecipes partition PATH --of N -- COMMAND …`: runs a command for each partition that is ours.
//!
//! 1. Become a member, and wait for partitions; a signal withdraws.
//! 2. Run the command for each as [`crate::job`] does, all at the same time.
//! 3. When a partition is asked for or lost, its command is ended. What ended by itself is begun again as long as its partition is ours.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Partition, PartitionerOptions, Partitions, Result};

use crate::args;
use crate::common::Common;
use crate::help::{self, examples};
use crate::job::{Desk, End, Job, News, Then};
use crate::outcome::{Failure, Outcome, say};
use crate::under::Under;

/// Run a command for each partition that is ours
///
/// Becomes one of the members who share the partitions at PATH, and runs the
/// command for each that it gets, all at the same time. No two members have
/// one partition at the same time.
///
/// When a partition is to move, because somebody came or went, or when it is
/// lost, its command and the processes that it started get TERM, and KILL
/// after the grace. A command that ends by itself is begun again, after a
/// pause, as long as its partition is ours.
///
/// The command finds in its environment
///
///   ZKR_PARTITION      the name of the partition
///   ZKR_FENCING_TOKEN  a number that rises with every owner of the partition;
///                      pass it along, and let what you write to refuse
///                      lower ones
///   ZKR_SEQUENCER      this turn as a string, which any program that uses
///                      zkrecipes can check
///
/// Signals are passed on to all commands. INT, TERM, HUP and QUIT also end
/// the membership: 128 + N.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, override_usage = help::RUNNING.replace("VERB", "partition"), after_help = examples!("\
  zkrecipes partition --of 12 /partitions/imports -- sh -c 'import --part \"$ZKR_PARTITION\"'
  zkrecipes partition --names eu,us,asia --name \"$(hostname)\" /partitions/regions -- serve-region"))]
pub(crate) struct Args {
    /// Where they are shared
    path: String,
    /// What to run, and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// How many partitions there are, called 0, 1 and so on; the same for all members
    #[arg(long, value_name = "N", value_parser = args::count, required_unless_present = "names")]
    of: Option<usize>,
    /// What the partitions are called; the same for all members
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "of")]
    names: Vec<String>,
    /// How much of them this member is to have, beside the others
    #[arg(long, value_name = "N", value_parser = args::count, default_value = "1")]
    weight: usize,
    /// What this member is called: who comes back under its name gets what it had
    #[arg(long)]
    name: Option<String>,
    /// Between TERM and KILL
    #[arg(long, value_name = "TIME", value_parser = args::duration, default_value = "5s")]
    grace: Duration,
    /// The command gets ZKRECIPES_AUTH, _SASL and the TLS certificate and key, too
    #[arg(long)]
    pass_credentials: bool,
}

/// What a command for a partition runs under.
struct Owned(Partition);

impl Under for Owned {
    fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = Under::environment(&self.0);
        environment.push(("ZKR_PARTITION", self.0.name().to_owned()));
        environment
    }

    fn listen(&self, news: &Sender<News>) {
        Under::listen(&self.0, news);
    }

    fn leave(&self, has_failed: bool, cancel: &CancelToken) -> Result<()> {
        Under::leave(&self.0, has_failed, cancel)
    }
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, command, of, names, weight, name, grace, pass_credentials: has_credentials } = args;
    let partitions: Partitions = of.map_or_else(|| names.into(), Partitions::from);
    // Its command has the grace, and then is killed.
    let mut options = PartitionerOptions::default().drain(grace * 2 + Duration::from_secs(1));
    options.weight = u32::try_from(weight).unwrap_or(u32::MAX);
    options.name = name;
    let desk = Desk::open()?;
    let outcome = common.with_client(desk.cancel(), |client| {
        let member = client.partitioner(&path, partitions, options)?;
        let gives_back = Arc::new(AtomicBool::new(false));
        let job = |partition: &Partition| Job {
            path: partition.path().to_owned(),
            command: command.clone(),
            grace,
            on_loss: Then::Kill,
            on_revoke: Then::Kill,
            has_credentials,
            gives_back: gives_back.clone(),
        };
        let (desk, job, failure) = (&desk, &job, &Mutex::new(None));
        let leave = || {
            gives_back.store(true, Ordering::Release);
            let member = member.clone();
            // It may have left.
            let _ = drive::wait(async move { member.leave().await }, None, None);
        };
        thread::scope(|threads| {
            let end = loop {
                match drive::wait(drive::next_partition(&member, None), Some(desk.cancel()), None) {
                    Ok(won) => drop(threads.spawn(move || {
                        if let Err(cannot_run) = serve(desk, job, won.keep()) {
                            lock(failure).get_or_insert(cannot_run);
                            leave();
                        }
                    })),
                    Err(error) => break error,
                }
            };
            // Commands that are still running are ended, as when their partitions are asked for.
            leave();
            match lock(failure).take() {
                Some(failure) => Err(failure),
                None => Err(end.into()),
            }
        })
    });
    desk.explain(outcome)
}

fn lock(failure: &Mutex<Option<Failure>>) -> MutexGuard<'_, Option<Failure>> {
    failure.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the command for one partition; an error says that it could not be run.
fn serve(desk: &Desk, job: &(impl Fn(&Partition) -> Job + Sync), partition: Partition) -> Outcome<()> {
    let ended = desk.run(&job(&partition), &Owned(partition.clone()), || {});
    // What was not run is still held; released before, there is nothing to do.
    let _ = partition.release_in_background();
    match ended {
        Ok(End::Done(code)) if !desk.cancel().is_cancelled() => {
            say(&format!("status {code}: the command for {} is begun again", partition.name()));
            Ok(())
        }
        Err(failure) if !failure.is_withdrawn() => Err(failure),
        _ => Ok(()),
    }
}
