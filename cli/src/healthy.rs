//! `zkrecipes elect --healthy COMMAND`: a command whose status says whether this candidate can lead.
//!
//! 1. A candidate does not stand until its first check has ended with 0.
//! 2. A check that has not ended when the next one is due is killed, with what it started, and counts as not healthy.
//! 3. The checks end with what they are for.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use zkrecipes::Election;

use crate::credentials;
use crate::job::Desk;
use crate::outcome::say;
use crate::system::processes::{Tree, end_of, shell};

/// More often nobody would hear anything else.
const LEAST: Duration = Duration::from_millis(100);

/// What says whether a candidate is healthy, and how often it is asked.
pub(crate) struct Check {
    pub(crate) command: String,
    pub(crate) every: Duration,
    /// Whether it finds in its environment who we are towards the servers.
    pub(crate) has_credentials: bool,
    /// Whether the last check has failed.
    pub(crate) is_ill: Arc<AtomicBool>,
}

/// What a check waits for.
enum CheckNews {
    /// The check of that number has.
    Ended(u64),
    Stopped,
}

/// Stops the checks when it is dropped.
struct Stop(Sender<CheckNews>);

impl Drop for Stop {
    fn drop(&mut self) {
        // Who checks no more hears nothing.
        let _ = self.0.send(CheckNews::Stopped);
    }
}

impl Check {
    /// Checks for as long as `work` goes on.
    pub(crate) fn beside<T>(&self, desk: &Desk, election: &Election, work: impl FnOnce() -> T) -> T {
        election.set_healthy(false);
        let (sender, news) = channel();
        std::thread::scope(|scope| {
            // Also when the work panics.
            let _stop = Stop(sender.clone());
            scope.spawn(move || self.go_on(desk, election, &sender, &news));
            work()
        })
    }

    fn go_on(
        &self,
        desk: &Desk,
        election: &Election,
        sender: &Sender<CheckNews>,
        news: &Receiver<CheckNews>,
    ) {
        let mut was_healthy = true;
        for number in 0.. {
            let due = Instant::now() + self.every.max(LEAST);
            let Some(outcome) = self.ask(desk, number, due, sender, news) else { return };
            let is_healthy = outcome.is_ok();
            match outcome {
                Err(why) if was_healthy => say(&format!("not healthy, so it does not stand: {why}")),
                Ok(()) if !was_healthy => say("healthy again"),
                _ => {}
            }
            was_healthy = is_healthy;
            self.is_ill.store(!is_healthy, Ordering::Release);
            election.set_healthy(is_healthy);
            // The end of a check that was killed may be heard of only now.
            while let Ok(told) = news.recv_timeout(due.saturating_duration_since(Instant::now())) {
                if let CheckNews::Stopped = told {
                    return;
                }
            }
        }
    }

    /// What is wrong, if something is; `None` where nobody wants to know any more.
    fn ask(
        &self,
        desk: &Desk,
        number: u64,
        due: Instant,
        sender: &Sender<CheckNews>,
        news: &Receiver<CheckNews>,
    ) -> Option<Result<(), String>> {
        let mut command = shell(&self.command);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if !self.has_credentials {
            credentials::withhold(&mut command);
        }
        let (mut child, mut tree) = match desk.spawn_beside(&mut command) {
            Ok(spawned) => spawned,
            Err(error) => return Some(Err(format!("cannot run a shell: {error}"))),
        };
        let (await_end, ended) = (end_of(&child), sender.clone());
        std::thread::spawn(move || {
            await_end();
            // Nobody checks any more.
            let _ = ended.send(CheckNews::Ended(number));
        });
        loop {
            match news.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(CheckNews::Ended(which)) if which == number => break,
                Ok(CheckNews::Ended(_)) => {}
                Ok(CheckNews::Stopped) => {
                    kill(&mut child, &mut tree);
                    return None;
                }
                Err(_) => {
                    kill(&mut child, &mut tree);
                    return Some(Err(format!("{:?} had not ended after {:?}", self.command, self.every)));
                }
            }
        }
        Some(match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{:?} ended with {status}", self.command)),
            Err(error) => Err(format!("the status of {:?} is unknown: {error}", self.command)),
        })
    }
}

/// With all that it has started. It was not waited for yet, so nobody else has its number.
fn kill(child: &mut Child, tree: &mut Tree) {
    tree.kill_group();
    let _ = child.wait();
}
