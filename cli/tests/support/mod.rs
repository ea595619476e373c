//! The real command against a server of its own.

#![allow(dead_code, reason = "each test program uses its part")]

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use zkrecipes_embedded::Server;

pub mod terminal;
pub mod tmux;

/// Long enough for a loaded machine; a test that needs it has failed.
pub const SOON: Duration = Duration::from_secs(30);

/// Says that it runs, then runs until it gets a line, whatever the signals.
pub const UNTIL_A_LINE: &str = "echo started; until read line; do :; done";

pub fn server() -> Server {
    Server::builder()
        .tick(Duration::from_millis(100))
        .min_session_timeout(Duration::from_millis(200))
        .max_session_timeout(Duration::from_secs(60))
        .start()
        .expect("a free port")
}

/// Cargo's, or that of another package, when `ZKR_COMMAND` is its absolute path.
pub fn program() -> OsString {
    std::env::var_os("ZKR_COMMAND").unwrap_or_else(|| env!("CARGO_BIN_EXE_zkrecipes").into())
}

/// The command, which knows no server.
pub fn bare() -> Command {
    let mut command = Command::new(program());
    for variable in ["HOSTS", "AUTH", "AUTH_FILE", "SASL", "SASL_FILE", "TLS_CA", "TLS_CERT", "TLS_KEY"] {
        command.env_remove(format!("ZKRECIPES_{variable}"));
    }
    command.stdin(Stdio::null());
    command
}

/// The command with the server in its environment.
pub fn command(server: &Server, args: &[&str]) -> Command {
    let mut command = bare();
    command.env("ZKRECIPES_HOSTS", server.connect_string()).args(args);
    command
}

/// Starts the command and lets it run.
pub fn start(server: &Server, args: &[&str]) -> Running {
    Running::of(command(server, args))
}

/// Runs the command to its end.
pub fn run(server: &Server, args: &[&str]) -> Ended {
    start(server, args).end()
}

/// `zkrecipes lock … -- sh -c SCRIPT`, up to the script's first line, which is `started`.
pub fn holding(server: &Server, args: &[&str], script: &str) -> Running {
    let args: Vec<_> =
        ["lock"].into_iter().chain(args.iter().copied()).chain(["--", "sh", "-c", script]).collect();
    let running = start(server, &args);
    assert_eq!(running.out.line(), "started");
    running
}

pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    pub out: Lines,
    pub err: Lines,
}

impl Running {
    pub fn of(mut command: Command) -> Running {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let stdin = child.stdin.take();
        let out = Lines::of(child.stdout.take().expect("piped"));
        let err = Lines::of(child.stderr.take().expect("piped"));
        Running { child, stdin, out, err }
    }

    pub fn signal(&self, number: i32) {
        // SAFETY: plain numbers, a child of ours that was not waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, number) }, 0);
    }

    /// A line on the command's stdin.
    pub fn send_line(&mut self) {
        self.stdin.as_mut().expect("open").write_all(b"\n").expect("somebody reads");
    }

    /// Its end, and everything that was not read before.
    pub fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let status = wait(&mut self.child);
        Ended { status: code(status), out: self.out.rest(), err: self.err.rest() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub struct Ended {
    /// As a shell tells it.
    pub status: i32,
    pub out: String,
    pub err: String,
}

pub fn wait(child: &mut Child) -> ExitStatus {
    let mut status = None;
    eventually("the command ends", || {
        status = child.try_wait().expect("a child of ours");
        status.is_some()
    });
    status.expect("ended")
}

pub fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| -status.signal().expect("no code"))
}

/// What a process writes, line by line.
pub struct Lines(Receiver<String>);

impl Lines {
    pub fn of(stream: impl Read + Send + 'static) -> Lines {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Lines(lines)
    }

    pub fn line(&self) -> String {
        self.0.recv_timeout(SOON).expect("another line")
    }

    /// The next line that has this in it.
    pub fn line_with(&self, part: &str) -> String {
        loop {
            let line = self.line();
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Everything up to the end, which comes when the last process that could write has ended.
    pub fn rest(&self) -> String {
        let mut rest = String::new();
        loop {
            match self.0.recv_timeout(SOON) {
                Ok(line) => rest += &(line + "\n"),
                Err(RecvTimeoutError::Disconnected) => return rest,
                Err(RecvTimeoutError::Timeout) => panic!("somebody still has the other end; so far: {rest}"),
            }
        }
    }
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < until, "{what}: this did not come true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The contender nodes under `path`: those that end with a number, and not those whose random name ends with digits.
pub fn contenders(server: &Server, path: &str) -> Vec<String> {
    let prefix = format!("{path}/");
    let is_number = |end: &str| end.len() == 10 && end.bytes().all(|byte| byte.is_ascii_digit());
    let is_contender = |node: &String| {
        node.starts_with(&prefix) && node.rsplit_once(['-', '_']).is_some_and(|(_, end)| is_number(end))
    };
    server.nodes().into_iter().filter(is_contender).collect()
}

/// Nobody queues any more, and the server has no session and no watch left.
pub fn assert_nothing_left(server: &Server, path: &str) {
    assert_eq!(contenders(server, path), [""; 0]);
    assert_eq!(server.watch_count(), 0);
    assert_eq!(server.sessions(), [0; 0]);
}

/// The same after a loss: the server ends the session by its own clock, and one that was being opened anew when the command
/// ended runs out by itself.
pub fn assert_nothing_stays(server: &Server, path: &str) {
    eventually("no session is left", || server.sessions().is_empty());
    assert_nothing_left(server, path);
}

/// The words of every line, without the line of headings.
pub fn cells(table: &str) -> Vec<Vec<&str>> {
    table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect()
}

pub fn os(words: &[&str]) -> Vec<std::ffi::OsString> {
    words.iter().map(OsStr::new).map(OsStr::to_owned).collect()
}
