//! `zkrecipes lock PATH -- COMMAND …`: runs a command under a lock.
//!
//! 1. Acquire; a signal withdraws.
//! 2. Run the command in our own process group, so that it keeps the terminal.
//! 3. Pass signals on, except those that the terminal sent to both of us.
//! 4. When the lock is lost, end the command and everything it started.
//! 5. Release, and give the command's status back.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, Error, ErrorKind, Held, LockOptions, Result};

use crate::args::{self, Word, Words};
use crate::common::Common;
use crate::help;
use crate::outcome::{CANNOT_RUN, Failure, INTERNAL, LOST, NOT_ACQUIRED, NOT_FOUND, Outcome, say};
use crate::signals::{Signal, Signals, is_ending};
use crate::tree::Tree;

const PASSED_ON: [i32; 7] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];

/// What to take.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Lock,
    Read,
    Write,
    Permits { n: usize, of: usize },
}

/// What happens to the command when the lock is lost, or asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Then {
    Kill,
    Continue,
}

struct Plan {
    path: String,
    command: Vec<OsString>,
    kind: Kind,
    /// `None` waits for ever, zero does not wait.
    timeout: Option<Duration>,
    conflict: i32,
    grace: Duration,
    on_loss: Then,
    on_revoke: Then,
}

/// What can happen while the command runs.
enum News {
    Signal(Signal),
    Lost(Error),
    Asked,
    Ended,
}

pub(crate) fn run(words: Words, mut common: Common) -> Outcome {
    let Some(plan) = parse(words, &mut common)? else { return help::print(help::LOCK) };
    let (sender, news) = channel();
    let cancel = CancelToken::new();
    let (told, withdrawing) = (sender.clone(), cancel.clone());
    let signals = Signals::catch(&PASSED_ON, move |signal| {
        if is_ending(signal.number) {
            withdrawing.cancel();
        }
        let _ = told.send(News::Signal(signal));
    })
    .map_err(|error| Failure::new(INTERNAL, format!("cannot catch signals: {error}")))?;
    let outcome = common.with_client(&cancel, |client| {
        let held = acquire(client, &plan, &cancel)?;
        let watched = sender.clone();
        held.on_lost(move |error| drop(watched.send(News::Lost(error))));
        let asked = sender.clone();
        held.on_revoke(move || drop(asked.send(News::Asked)));
        under(&plan, &held, &signals, &sender, &news)
    });
    match signals.ending() {
        // Withdrawn before the command ran.
        Some(signal) if outcome.as_ref().is_err_and(Failure::is_withdrawn) => Err(Failure::signal(signal)),
        _ => outcome,
    }
}

fn parse(mut words: Words, common: &mut Common) -> Outcome<Option<Plan>> {
    let (mut path, mut first) = (None, None);
    let (mut kind, mut kinds, mut is_try) = (Kind::Lock, Vec::new(), false);
    let (mut permits, mut of, mut take) = (None, None, None);
    let (mut timeout, mut conflict, mut grace) = (None, NOT_ACQUIRED, Duration::from_secs(5));
    let (mut on_loss, mut on_revoke) = (Then::Kill, Then::Continue);
    while let Some(word) = words.next_word()? {
        match word {
            Word::Option(option) => match option.as_str() {
                "--help" | "-h" => return Ok(None),
                "--shared" | "-s" => {
                    kind = Kind::Read;
                    kinds.push("--shared");
                }
                "--write" => {
                    kind = Kind::Write;
                    kinds.push("--write");
                }
                "--permits" => permits = Some(words.number(&option, i32::MAX as usize)?),
                "--of" => of = Some(words.number(&option, i32::MAX as usize)?),
                "--take" => take = Some(words.number(&option, i32::MAX as usize)?),
                "--try" | "-n" => is_try = true,
                "--timeout" | "-w" => timeout = Some(words.duration(&option)?),
                "--conflict-exit-code" | "-E" => conflict = words.number(&option, 255)? as i32,
                "--grace" => grace = words.duration(&option)?,
                "--on-loss" => on_loss = then(&words.value(&option)?, &option)?,
                "--on-revoke" => on_revoke = then(&words.value(&option)?, &option)?,
                _ if common.accept(&option, &mut words)? => {}
                _ => return Err(args::unknown(&option, "zkrecipes lock")),
            },
            Word::Plain(word) if path.is_none() => path = Some(args::text(&word, "the path")?),
            Word::Plain(word) => {
                first = Some(word);
                break;
            }
            Word::Dashes => break,
        }
    }
    let command: Vec<_> = first.into_iter().chain(words.remainder()).collect();
    let path = path.ok_or_else(|| Failure::usage("lock needs a path; see zkrecipes lock --help"))?;
    if command.is_empty() {
        return Err(Failure::usage(format!(
            "which command should run under the lock? zkrecipes lock {path} -- COMMAND …"
        )));
    }
    if is_try && timeout.is_some() {
        return Err(Failure::usage("--try does not wait and --timeout does: give one of them"));
    }
    if let Some(permits_kind) = semaphore(permits, of, take)? {
        kind = permits_kind;
        kinds.push("--permits");
    }
    kinds.dedup();
    if let [one, other, ..] = kinds[..] {
        return Err(Failure::usage(format!("{one} and {other} are different recipes: give one of them")));
    }
    let timeout = if is_try { Some(Duration::ZERO) } else { timeout };
    Ok(Some(Plan { path, command, kind, timeout, conflict, grace, on_loss, on_revoke }))
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

fn then(value: &str, option: &str) -> Outcome<Then> {
    match value {
        "kill" => Ok(Then::Kill),
        "continue" => Ok(Then::Continue),
        _ => Err(Failure::usage(format!("{option} {value:?} is not one of kill, continue"))),
    }
}

fn acquire(client: &Client, plan: &Plan, cancel: &CancelToken) -> Outcome<Held> {
    let limit = plan.timeout;
    let acquired = match plan.kind {
        Kind::Lock => {
            let lock = client.lock(&plan.path, LockOptions::default())?;
            wait(lock.acquire_within(limit), cancel)
        }
        Kind::Read => wait(client.read_write_lock(&plan.path)?.read().acquire_within(limit), cancel),
        Kind::Write => wait(client.read_write_lock(&plan.path)?.write().acquire_within(limit), cancel),
        Kind::Permits { n, of } => wait(client.semaphore(&plan.path, of)?.acquire_within(n, limit), cancel),
    };
    acquired.map_err(|error| match (error.kind(), limit) {
        (ErrorKind::Timeout, Some(limit)) => {
            let path = &plan.path;
            let when = if limit.is_zero() { "now".into() } else { format!("within {limit:?}") };
            Failure::new(plan.conflict, format!("{path} cannot be had {when}; see zkrecipes ls {path}"))
        }
        _ => error.into(),
    })
}

fn wait(
    acquiring: impl Future<Output = Result<Held>> + Send + 'static,
    cancel: &CancelToken,
) -> Result<Held> {
    drive::wait(acquiring, Some(cancel), None)
}

/// Runs the command while the lock is held, and lets the lock go.
fn under(
    plan: &Plan,
    held: &Held,
    signals: &Signals,
    sender: &Sender<News>,
    news: &Receiver<News>,
) -> Outcome {
    if signals.ending().is_some() {
        return Err(Failure::withdrawn());
    }
    let mut command = Command::new(&plan.command[0]);
    command
        .args(&plan.command[1..])
        .env("ZKR_FENCING_TOKEN", held.fencing_token().to_string())
        .env("ZKR_SEQUENCER", held.sequencer());
    let mut child = signals.spawn(&mut command, plan.on_loss == Then::Kill).map_err(|error| {
        let status = match error.kind() {
            std::io::ErrorKind::NotFound => NOT_FOUND,
            _ => CANNOT_RUN,
        };
        Failure::new(status, format!("cannot run {:?}: {error}", plan.command[0]))
    })?;
    let id = child.id() as i32;
    let ended = sender.clone();
    std::thread::spawn(move || {
        await_end(id);
        let _ = ended.send(News::Ended);
    });
    let mut tree = Tree::of(id);
    let attended = attend(plan, &mut tree, id, news);
    let status = child
        .wait()
        .map_err(|error| Failure::new(INTERNAL, format!("the command's status is unknown: {error}")))?;
    if attended.was_killed {
        tree.finish(attended.kill_at);
    }
    let left = drive::wait(held.leave(!status.success()), None, None);
    let code = code_of(status);
    match (attended.lost, left) {
        (true, _) if plan.on_loss == Then::Kill || code == 0 => Ok(LOST),
        // Lost too late for a notice.
        (false, Err(error)) => {
            say(&error.to_string());
            Ok(LOST)
        }
        _ => Ok(code),
    }
}

/// What was seen while the command ran.
struct Attended {
    lost: bool,
    was_killed: bool,
    kill_at: Option<Instant>,
}

/// Attends to the command until it ends.
fn attend(plan: &Plan, tree: &mut Tree, id: i32, news: &Receiver<News>) -> Attended {
    let mut seen = Attended { lost: false, was_killed: false, kill_at: None };
    loop {
        let received = match seen.kill_at {
            Some(at) => news.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let then = match received {
            Ok(News::Signal(signal)) => {
                if !signal.reached_group {
                    // SAFETY: plain numbers; the child was not waited for yet.
                    unsafe { libc::kill(id, signal.number) };
                }
                continue;
            }
            Ok(News::Lost(error)) => {
                say(&error.to_string());
                seen.lost = true;
                plan.on_loss
            }
            Ok(News::Asked) => {
                say(&format!("somebody asks for {}", plan.path));
                plan.on_revoke
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
            seen.kill_at = Some(Instant::now() + plan.grace);
            tree.terminate();
        }
    }
}

/// Waits for the end of a child, but leaves it to be waited for: until then nobody else gets its number, and a signal
/// that we send it cannot reach a stranger.
fn await_end(id: i32) {
    loop {
        // SAFETY: a siginfo of zeros is a valid one to write to.
        let ended = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, id as libc::id_t, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if ended == 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// As shells tell it: 128 and the signal for a command that was killed.
fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
