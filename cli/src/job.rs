//! A command that runs under something: `zkrecipes lock`, `zkrecipes elect`.
//!
//! 1. Run the command in our own process group, so that it keeps the terminal.
//! 2. Pass signals on, except those that the terminal sent to both of us.
//! 3. When what is held is lost, end the command and everything it started.
//! 4. Leave what it ran under, and tell how it ended: by its status, or 128 and the number of the signal that ended it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use zkrecipes::drive::CancelToken;
use zkrecipes::{Error, ErrorKind};

use crate::credentials;
use crate::outcome::{CANNOT_RUN, Failure, INTERNAL, NOT_FOUND, Outcome, say};
use crate::system::processes::{Bond, Tree, code_of, end_of};
use crate::system::signals::{
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, Signal, Signals, is_ending,
};
use crate::under::Under;

const PASSED_ON: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH];

/// What happens to the command when what is held is lost, or asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Then {
    Kill,
    Continue,
}

/// The command, and what may happen to it.
pub(crate) struct Job {
    pub(crate) path: String,
    pub(crate) command: Vec<OsString>,
    /// Between TERM and KILL.
    pub(crate) grace: Duration,
    pub(crate) on_loss: Then,
    pub(crate) on_revoke: Then,
    /// Whether it finds in its environment who we are towards the servers.
    pub(crate) has_credentials: bool,
    /// Whether it is this process that gives back what the command runs under, and nobody who asks for it.
    pub(crate) gives_back: Arc<AtomicBool>,
}

/// How it ended, with the command's status as shells tell it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done(i32),
    /// The command was ended because somebody asked for what it ran under.
    Yielded(i32),
    /// What it ran under was lost before it ended.
    Lost(i32),
}

/// What can happen while the command runs.
pub(crate) enum News {
    Signal(Signal),
    Lost(Error),
    Asked,
    Ended,
}

/// Takes the signals of the process: they withdraw what waits, and are passed on to a command that runs.
pub(crate) struct Desk {
    signals: Signals,
    cancel: CancelToken,
    running: Running,
}

/// Who is told while commands run.
type Running = Arc<Mutex<BTreeMap<usize, Sender<News>>>>;

impl Desk {
    pub(crate) fn open() -> Outcome<Desk> {
        let (cancel, running) = (CancelToken::new(), Running::default());
        let (withdrawing, told) = (cancel.clone(), running.clone());
        let signals = Signals::catch(&PASSED_ON, move |signal| {
            let running = lock(&told);
            if if running.is_empty() { is_ending(signal.number) } else { is_final(signal.number) } {
                withdrawing.cancel();
            }
            for sender in running.values() {
                // One whose command has ended hears nothing more.
                let _ = sender.send(News::Signal(signal));
            }
        })
        .map_err(|error| Failure::new(INTERNAL, format!("cannot catch signals: {error}")))?;
        Ok(Desk { signals, cancel, running })
    }

    /// Withdraws what waits when a signal says so.
    pub(crate) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// The failure of what was withdrawn names the signal.
    pub(crate) fn explain<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        match self.signals.ending() {
            Some(signal) if outcome.as_ref().is_err_and(Failure::is_withdrawn) => {
                Err(Failure::signal(signal))
            }
            _ => outcome,
        }
    }

    /// Runs the command, calls `begun` when it runs, and leaves what it runs under once it has ended.
    pub(crate) fn run(&self, job: &Job, under: &impl Under, begun: impl FnOnce()) -> Outcome<End> {
        let (sender, news) = channel();
        let number = {
            let mut running = lock(&self.running);
            let number = running.last_key_value().map_or(0, |(last, _)| last + 1);
            running.insert(number, sender.clone());
            number
        };
        let end = self.attend(job, under, begun, &sender, &news);
        lock(&self.running).remove(&number);
        if end.is_ok() && !self.cancel.is_cancelled() {
            // They were the command's.
            self.signals.forget();
        }
        end
    }

    fn attend(
        &self,
        job: &Job,
        under: &impl Under,
        begun: impl FnOnce(),
        sender: &Sender<News>,
        news: &Receiver<News>,
    ) -> Outcome<End> {
        if self.cancel.is_cancelled() || self.signals.ending().is_some_and(is_final) {
            return Err(Failure::withdrawn());
        }
        let (mut child, mut tree) = self.spawn(job, under)?;
        under.listen(sender);
        let (await_end, ended) = (end_of(&child), sender.clone());
        std::thread::spawn(move || {
            await_end();
            let _ = ended.send(News::Ended);
        });
        begun();
        let seen = job.attend(&mut tree, news);
        let status = child
            .wait()
            .map_err(|error| Failure::new(INTERNAL, format!("the command's status is unknown: {error}")))?;
        if seen.was_killed {
            tree.finish(seen.kill_at);
        }
        let left = under.leave(!status.success(), &self.cancel);
        let code = code_of(status);
        Ok(match (seen.lost, left) {
            (true, _) => End::Lost(code),
            (false, Err(error)) if error.kind() == ErrorKind::Cancelled => return Err(error.into()),
            // Lost too late for a notice.
            (false, Err(error)) => {
                say(&error.to_string());
                End::Lost(code)
            }
            (false, Ok(())) if seen.was_killed => End::Yielded(code),
            (false, Ok(())) => End::Done(code),
        })
    }

    /// Spawns what runs beside the commands, without their signals.
    pub(crate) fn spawn_beside(&self, command: &mut Command) -> std::io::Result<(Child, Tree)> {
        self.signals.spawn(command, Bond::Apart)
    }

    fn spawn(&self, job: &Job, under: &impl Under) -> Outcome<(Child, Tree)> {
        let mut command = Command::new(&job.command[0]);
        command.args(&job.command[1..]).envs(under.environment());
        if !job.has_credentials {
            credentials::withhold(&mut command);
        }
        let input = under.input();
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let bond = if job.on_loss == Then::Kill { Bond::EndsWithUs } else { Bond::GoesOn };
        let (mut child, tree) = self.signals.spawn(&mut command, bond).map_err(|error| {
            let status = match error.kind() {
                std::io::ErrorKind::NotFound => NOT_FOUND,
                _ => CANNOT_RUN,
            };
            Failure::new(status, format!("cannot run {:?}: {error}", job.command[0]))
        })?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            // A command need not read all of it.
            std::thread::spawn(move || drop(stdin.write_all(&input)));
        }
        Ok((child, tree))
    }
}

fn lock(running: &Running) -> MutexGuard<'_, BTreeMap<usize, Sender<News>>> {
    running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Whether the signal means that all is to end, and is not only something between people and the command.
fn is_final(number: i32) -> bool {
    matches!(number, SIGINT | SIGTERM | SIGHUP | SIGQUIT)
}

/// What was seen while the command ran.
struct Attended {
    lost: bool,
    was_killed: bool,
    kill_at: Option<Instant>,
}

impl Job {
    /// Attends to the command until it ends.
    fn attend(&self, tree: &mut Tree, news: &Receiver<News>) -> Attended {
        let mut seen = Attended { lost: false, was_killed: false, kill_at: None };
        loop {
            let received = match seen.kill_at {
                Some(at) => news.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let then = match received {
                Ok(News::Signal(signal)) => {
                    if !signal.reached_group {
                        tree.pass_on(signal.number);
                    }
                    continue;
                }
                Ok(News::Lost(error)) => {
                    say(&error.to_string());
                    seen.lost = true;
                    self.on_loss
                }
                Ok(News::Asked) => {
                    say(&match self.gives_back.load(Ordering::Acquire) {
                        true => format!("giving back {}", self.path),
                        false => format!("somebody asks for {}", self.path),
                    });
                    self.on_revoke
                }
                Err(RecvTimeoutError::Timeout) => {
                    say("the command did not end in time; killing it");
                    tree.kill();
                    seen.kill_at = None;
                    continue;
                }
                Ok(News::Ended) | Err(RecvTimeoutError::Disconnected) => return seen,
            };
            if then == Then::Kill && !seen.was_killed {
                seen.was_killed = true;
                seen.kill_at = Some(Instant::now() + self.grace);
                tree.terminate();
            }
        }
    }
}
