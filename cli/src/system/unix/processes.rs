//! A command with the processes it started: ending a shell alone would leave its children at work without the lock.
//!
//! Processes that detached themselves from the command before it was ended are not reached.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// What becomes of a command without us.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bond {
    /// It ends with us, where the system sees to it.
    EndsWithUs,
    GoesOn,
    /// As the first, in a process group of its own: all that it starts can be killed, and Ctrl-C does not reach it.
    Apart,
}

/// A process, told from a later one with the same number by when it started.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Process {
    id: i32,
    started: u64,
}

/// A command and what it started.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Our own child: its number is taken until we have waited for it.
    root: Option<i32>,
    /// Everybody else that was seen; they stay here when their parents die.
    others: Vec<Process>,
}

impl Tree {
    pub(crate) fn of(root: &Child) -> Tree {
        Tree { root: Some(root.id() as i32), others: Vec::new() }
    }

    /// Passes a signal on to the command alone.
    pub(crate) fn pass_on(&self, number: i32) {
        if let Some(root) = self.root {
            // SAFETY: plain numbers; the child was not waited for yet.
            unsafe { libc::kill(root, number) };
        }
    }

    /// Kills what is [`Bond::Apart`], with all that it has started.
    pub(crate) fn kill_group(&mut self) {
        if let Some(root) = self.root {
            // SAFETY: as above.
            unsafe { libc::kill(-root, libc::SIGKILL) };
        }
    }

    /// Asks everybody to end.
    pub(crate) fn terminate(&mut self) {
        self.stop();
        self.signal(libc::SIGTERM);
        self.signal(libc::SIGCONT);
    }

    pub(crate) fn kill(&mut self) {
        self.stop();
        self.signal(libc::SIGKILL);
    }

    /// Stops everybody, so that nobody ends while a child of theirs that we have not seen yet begins: it would be
    /// nobody's. A fork that is under way when the signal is sent has either put its child where we look, or waits.
    fn stop(&mut self) {
        loop {
            self.signal(libc::SIGSTOP);
            if !self.look() {
                return;
            }
        }
    }

    /// Once the command itself has ended and was waited for: gives the others until then, and kills whoever is left.
    pub(crate) fn finish(&mut self, until: Option<Instant>) {
        self.root = None;
        loop {
            self.look();
            match until {
                _ if self.others.is_empty() => return,
                Some(until) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                _ => return self.kill(),
            }
        }
    }

    fn signal(&self, number: i32) {
        self.pass_on(number);
        for process in &self.others {
            if started(process.id) == Some(process.started) {
                // SAFETY: plain numbers.
                unsafe { libc::kill(process.id, number) };
            }
        }
    }

    /// Forgets who has ended, and adds everybody who descends from those who have not; whether anybody was added.
    #[cfg(target_os = "linux")]
    fn look(&mut self) -> bool {
        let Ok(entries) = std::fs::read_dir("/proc") else { return false };
        let running: Vec<_> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|id| stat(id).map(|(parent, started)| (parent, Process { id, started })))
            .collect();
        self.others.retain(|known| running.iter().any(|(_, process)| process == known));
        let mut any = false;
        loop {
            let is_ours = |id| self.root == Some(id) || self.others.iter().any(|other| other.id == id);
            let children = running.iter().filter(|(parent, _)| is_ours(*parent)).map(|(_, process)| *process);
            let unknown: Vec<_> = children.filter(|process| !self.others.contains(process)).collect();
            if unknown.is_empty() {
                return any;
            }
            any = true;
            self.others.extend(unknown);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn look(&mut self) -> bool {
        false
    }
}

/// What waits for the end of a child, but leaves it to be waited for: until then nobody else gets its number, and a signal
/// that we send it cannot reach a stranger.
pub(crate) fn end_of(child: &Child) -> impl FnOnce() + Send + use<> {
    let id = child.id();
    move || loop {
        // SAFETY: a siginfo of zeros is a valid one to write to.
        let ended = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if ended == 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// What runs a line as people type it.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}

/// As shells tell it: 128 and the signal for a command that was killed.
pub(crate) fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// When the process started, unless it has ended.
#[cfg(target_os = "linux")]
fn started(id: i32) -> Option<u64> {
    stat(id).map(|(_, started)| started)
}

#[cfg(not(target_os = "linux"))]
fn started(_id: i32) -> Option<u64> {
    None
}

/// The parent of a process that runs, and when it started.
#[cfg(target_os = "linux")]
fn stat(id: i32) -> Option<(i32, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name may contain anything, also spaces and parentheses: the last one ends it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    // A zombie has ended.
    (state != "Z" && state != "X").then_some((parent, started))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_parent_and_the_start_of_a_process_are_found() {
        let id = std::process::id() as i32;
        let (parent, started) = stat(id).expect("we run");
        // SAFETY: a plain number.
        assert_eq!(parent, unsafe { libc::getppid() });
        assert_eq!(super::started(id), Some(started));
        assert!(started > 0);
    }
}
