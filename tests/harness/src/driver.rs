//! One driver process: commands go in by line, answers and events come out in any order.
//!
//! To start an interpreter takes longer than most scenarios. So a process that has ended its scenario well serves others after
//! that, in which its clients have other names.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::world::World;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    Rust,
    C,
    Python,
    Aio,
    Node,
    /// Rust over sessions of the crate zookeeper-client.
    Guest,
}

impl Language {
    /// Those that a release has; the guest plays when it is asked for.
    pub const ALL: [Language; 5] =
        [Language::Rust, Language::C, Language::Python, Language::Aio, Language::Node];

    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::C => "c",
            Language::Python => "python",
            Language::Aio => "aio",
            Language::Node => "node",
            Language::Guest => "guest",
        }
    }

    pub fn named(name: &str) -> Option<Language> {
        Language::ALL.into_iter().chain([Language::Guest]).find(|language| language.name() == name)
    }

    /// Whether a process of it is used again.
    fn starts_slowly(self) -> bool {
        !matches!(self, Language::Rust | Language::C | Language::Guest)
    }

    fn command(self, root: &Path) -> Vec<PathBuf> {
        let bin = std::env::current_exe().expect("our own path");
        let bin = bin.parent().expect("our own directory");
        match self {
            Language::Rust => vec![bin.join("rust-driver")],
            Language::Guest => vec![bin.join("guest-driver")],
            Language::C => vec![root.join("target/drivers/c-driver")],
            Language::Python => {
                vec![root.join(".venv/bin/python"), root.join("tests/drivers/python/driver.py")]
            }
            Language::Aio => {
                vec![root.join(".venv/bin/python"), root.join("tests/drivers/python/aio_driver.py")]
            }
            Language::Node => vec!["node".into(), root.join("tests/drivers/node/driver.mjs")],
        }
    }
}

/// What a driver answered: `ok` with its values, or an error's name and reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub ok: bool,
    pub values: Vec<String>,
}

impl Answer {
    pub fn ok(values: impl IntoIterator<Item = String>) -> Answer {
        Answer { ok: true, values: values.into_iter().collect() }
    }

    pub fn error(values: &str) -> Answer {
        Answer { ok: false, values: values.split_whitespace().map(str::to_owned).collect() }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", if self.ok { "ok" } else { "error" }, self.values.join(" "))
    }
}

#[derive(Default)]
struct Heard {
    /// What the names of clients end with in this scenario.
    mark: String,
    answers: HashMap<u64, Answer>,
    events: Vec<String>,
    /// Lines that are neither: a driver must not chatter on stdout.
    noise: Vec<String>,
    ended: bool,
}

pub struct Driver {
    pub language: Language,
    child: Child,
    stdin: Option<ChildStdin>,
    heard: Arc<(Mutex<Heard>, Condvar)>,
    next: u64,
    diary: PathBuf,
    /// How many scenarios it was in.
    served: u64,
    was_signalled: Cell<bool>,
}

/// Those that have nothing to do.
static IDLE: Mutex<Vec<Driver>> = Mutex::new(Vec::new());
/// After so many scenarios one ends, so that ends are seen, too.
const MOST_SERVED: u64 = 25;

/// How often who waits looks whether the servers are still there.
const LOOK: Duration = Duration::from_millis(500);

fn idle() -> MutexGuard<'static, Vec<Driver>> {
    IDLE.lock().expect("no panics inside")
}

impl Driver {
    /// One for a scenario: an idle one, if there is one.
    pub fn find(language: Language, root: &Path, diary: PathBuf) -> Result<Driver, String> {
        let mut idle = idle();
        let Some(index) = idle.iter().position(|driver| driver.language == language) else {
            drop(idle);
            return Driver::start(language, root, diary);
        };
        let mut driver = idle.swap_remove(index);
        drop(idle);
        driver.begin_another();
        match driver.child.try_wait() {
            Ok(None) => Ok(driver),
            ended => Err(format!("the {} driver was idle and has ended: {ended:?}", language.name())),
        }
    }

    fn begin_another(&mut self) {
        self.served += 1;
        let mut heard = self.heard.0.lock().expect("no panics inside");
        *heard = Heard { mark: format!(".{}", self.served), ended: heard.ended, ..Heard::default() };
    }

    /// Its scenario has ended well, and none of its clients is left.
    pub fn rest(mut self, patience: Duration) -> Result<(), String> {
        if self.is_dead() {
            return Ok(());
        }
        if self.language.starts_slowly() && !self.was_signalled.get() && self.served < MOST_SERVED {
            idle().push(self);
            return Ok(());
        }
        self.quit(patience)
    }

    /// Lets all that are idle end.
    pub fn dismiss_all(patience: Duration) -> Result<(), String> {
        std::mem::take(&mut *idle()).into_iter().try_for_each(|mut driver| driver.quit(patience))
    }

    /// `diary` receives the process's stderr.
    fn start(language: Language, root: &Path, diary: PathBuf) -> Result<Driver, String> {
        let command = language.command(root);
        let stderr = File::create(&diary).map_err(|error| format!("{}: {error}", diary.display()))?;
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .map_err(|error| {
                format!("the {} driver {:?} does not start: {error}", language.name(), command[0])
            })?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("piped");
        let heard = Arc::new((Mutex::new(Heard::default()), Condvar::new()));
        let ears = heard.clone();
        std::thread::spawn(move || {
            let (mut stdout, mut line) = (BufReader::new(stdout), String::new());
            // A line without its end was cut off with its process.
            while stdout.read_line(&mut line).is_ok() && line.ends_with('\n') {
                let (heard, news) = &*ears;
                heard.lock().expect("no panics inside").note(line.trim_end().to_owned());
                news.notify_all();
                line.clear();
            }
            let (heard, news) = &*ears;
            heard.lock().expect("no panics inside").ended = true;
            news.notify_all();
        });
        Ok(Driver {
            language,
            child,
            stdin,
            heard,
            next: 0,
            diary,
            served: 0,
            was_signalled: Cell::new(false),
        })
    }

    /// Has a client do something and returns the number of the command; the answer comes in its own time.
    pub fn send(&mut self, client: &str, command: &str) -> Result<u64, String> {
        self.next += 1;
        let stdin = self.stdin.as_mut().ok_or("the driver has ended")?;
        let mark = &self.heard.0.lock().expect("no panics inside").mark;
        writeln!(stdin, "{} {client}{mark} {command}", self.next)
            .and_then(|()| stdin.flush())
            .map_err(|error| format!("the driver does not listen: {error}"))?;
        Ok(self.next)
    }

    /// Nobody waits for what a server that has ended would have led to.
    pub fn wait(&self, number: u64, patience: Duration, world: &World) -> Result<Answer, String> {
        self.wait_until(patience, world, |heard| heard.answers.get(&number).cloned())
            .ok_or_else(|| self.silence("no answer", patience))
    }

    /// Waits for an event line (without its `event` prefix), past ones included.
    pub fn wait_event(
        &self,
        fits: impl Fn(&str) -> bool,
        patience: Duration,
        world: &World,
    ) -> Result<(), String> {
        self.wait_until(patience, world, |heard| heard.events.iter().any(|seen| fits(seen)).then_some(()))
            .ok_or_else(|| self.silence(&format!("no such event, only {:?}", self.events()), patience))
    }

    pub fn events(&self) -> Vec<String> {
        self.heard.0.lock().expect("no panics inside").events.clone()
    }

    pub fn noise(&self) -> Vec<String> {
        self.heard.0.lock().expect("no panics inside").noise.clone()
    }

    pub fn signal(&self, signal: i32) {
        self.was_signalled.set(true);
        // SAFETY: the child has not been waited for, so the id is still its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Killed or ended; a dead driver has nothing more to say.
    pub fn is_dead(&self) -> bool {
        self.stdin.is_none()
    }

    pub fn kill(&mut self) {
        // Before its input ends, which would let it end in peace.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.stdin = None;
    }

    /// Closes the driver's stdin and gives it a moment to end with status 0 by itself.
    fn quit(&mut self, patience: Duration) -> Result<(), String> {
        self.stdin = None;
        let end = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the driver ended with {status}")),
                _ if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                _ => {
                    self.kill();
                    return Err("the driver did not end when its input did".into());
                }
            }
        }
    }

    pub fn diary(&self) -> String {
        let text = std::fs::read(&self.diary).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn wait_until<T>(
        &self,
        patience: Duration,
        world: &World,
        mut found: impl FnMut(&Heard) -> Option<T>,
    ) -> Option<T> {
        let (heard, news) = &*self.heard;
        let end = Instant::now() + patience;
        let mut heard = heard.lock().expect("no panics inside");
        loop {
            if let Some(found) = found(&heard) {
                return Some(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if heard.ended || left.is_zero() || world.check().is_err() {
                return None;
            }
            heard = news.wait_timeout(heard, left.min(LOOK)).expect("no panics inside").0;
        }
    }

    /// The process may close its output a moment before it can be waited for.
    fn last_status(&self) -> String {
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: a plain query that leaves the child to be waited for.
        let known =
            unsafe { libc::waitid(libc::P_PID, self.child.id(), &mut info, libc::WEXITED | libc::WNOWAIT) };
        if known != 0 {
            return String::new();
        }
        // SAFETY: waitid has filled it in.
        let status = unsafe { info.si_status() };
        match info.si_code {
            libc::CLD_EXITED => format!(" with status {status}"),
            _ => format!(" by signal {status}"),
        }
    }

    fn silence(&self, what: &str, patience: Duration) -> String {
        match self.heard.0.lock().expect("no panics inside").ended {
            true => format!("{what}: the driver has ended{}", self.last_status()),
            false => format!("{what} within {patience:?}"),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Heard {
    fn note(&mut self, line: String) {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first == "event" {
            // What is told of another scenario's client comes too late to matter.
            if let Some(client) = words.next().and_then(|client| client.strip_suffix(&self.mark)) {
                self.events.push([client].into_iter().chain(words).collect::<Vec<_>>().join(" "));
            }
            return;
        }
        let status = words.next();
        match (first.parse(), status) {
            (Ok(number), Some("ok" | "error")) => {
                let values = words.map(str::to_owned).collect();
                self.answers.insert(number, Answer { ok: status == Some("ok"), values });
            }
            _ => self.noise.push(line),
        }
    }
}
