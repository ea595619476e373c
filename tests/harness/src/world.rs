//! The servers a scenario can run against, behind one face: the embedded one, and real ZooKeeper behind the fault
//! proxy.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zkrecipes_embedded::{Control, FaultId, Proxy, Server};

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Kind {
    Embedded,
    /// The oldest line that is supported.
    Real35,
    Real36,
    Real37,
    Real38,
    /// The newest release.
    Real39,
    /// Three nodes of the newest release.
    Ensemble,
    /// The embedded server in the dialects of others; or one of them itself, where the environment says where it is.
    ClickHouse,
    OldClickHouse,
    RaftKeeper,
}

impl Kind {
    pub const ALL: [Kind; 10] = [
        Kind::Embedded,
        Kind::Real35,
        Kind::Real36,
        Kind::Real37,
        Kind::Real38,
        Kind::Real39,
        Kind::Ensemble,
        Kind::ClickHouse,
        Kind::OldClickHouse,
        Kind::RaftKeeper,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Embedded => "embedded",
            Kind::Real35 => "zookeeper-3.5",
            Kind::Real36 => "zookeeper-3.6",
            Kind::Real37 => "zookeeper-3.7",
            Kind::Real38 => "zookeeper-3.8",
            Kind::Real39 => "zookeeper-3.9",
            Kind::Ensemble => "ensemble-3.9",
            Kind::ClickHouse => "clickhouse",
            Kind::OldClickHouse => "clickhouse-25.8",
            Kind::RaftKeeper => "raftkeeper",
        }
    }

    fn version(self) -> &'static str {
        self.name().rsplit('-').next().unwrap_or_default()
    }

    /// What the embedded server emulates, if it is that one in a dialect.
    pub fn dialect(self) -> Option<&'static str> {
        match self {
            Kind::ClickHouse => Some("clickhouse-keeper"),
            Kind::OldClickHouse => Some("clickhouse-keeper-25.8"),
            Kind::RaftKeeper => Some("raftkeeper"),
            _ => None,
        }
    }

    /// Played on it is where everything is, and without flags by Rust at most: only servers differ here.
    pub fn is_rare(self) -> bool {
        self.dialect().is_some() || matches!(self, Kind::Real35 | Kind::Real36 | Kind::Real37)
    }

    /// What scenarios may need that it does not have.
    fn lacks(self) -> &'static [&'static str] {
        match self {
            Kind::Embedded | Kind::Real37 | Kind::Real38 | Kind::Real39 | Kind::Ensemble => &[],
            Kind::Real36 => &["whoami"],
            Kind::Real35 => &["whoami", "watches-that-stay"],
            Kind::RaftKeeper => &["whoami", "ttl", "containers", "watches-that-stay", "usual-requests"],
            Kind::ClickHouse | Kind::OldClickHouse => {
                &["whoami", "ttl", "containers", "watches-that-stay", "usual-requests", "sessions-that-go-on"]
            }
        }
    }

    /// Whether it has all that.
    pub fn has<'a>(self, mut needs: impl Iterator<Item = &'a str>) -> bool {
        needs.all(|need| !self.lacks().contains(&need))
    }

    /// Where one of these servers is, if somebody has started it: `ZKR_CLICKHOUSE`, for example.
    pub fn elsewhere(self) -> Option<String> {
        let variable = match self {
            Kind::ClickHouse => "ZKR_CLICKHOUSE",
            Kind::RaftKeeper => "ZKR_RAFTKEEPER",
            _ => return None,
        };
        std::env::var(variable).ok().filter(|hosts| !hosts.is_empty())
    }

    fn nodes(self) -> usize {
        if self == Kind::Ensemble { 3 } else { 1 }
    }
}

/// What a scenario may ask of the server's side.
pub enum World {
    Embedded(Server),
    /// One proxy for each server.
    Real {
        proxies: Vec<Proxy>,
        zookeeper: Arc<ZooKeeper>,
        home: Option<Arc<Hall>>,
    },
}

pub type Told<T> = Result<T, String>;

impl World {
    pub fn embedded(dialect: Option<&str>) -> Told<World> {
        let builder = Server::builder();
        let builder = match dialect {
            Some(dialect) => builder.emulate(dialect),
            None => builder,
        };
        let started = builder
            .tick(Duration::from_millis(100))
            .min_session_timeout(Duration::from_millis(200))
            .max_session_timeout(Duration::from_secs(120))
            // As the real ones have it.
            .extended_types(true)
            .start();
        started.map(World::Embedded).map_err(|error| error.to_string())
    }

    /// Whether the servers are still there, as far as that is known at once.
    pub fn check(&self) -> Told<()> {
        match self {
            World::Embedded(_) => Ok(()),
            World::Real { zookeeper, .. } => zookeeper.check(),
        }
    }

    /// The same, for certain: something has failed.
    pub fn look_for_the_end(&self) -> Told<()> {
        match self {
            World::Embedded(_) => Ok(()),
            World::Real { zookeeper, .. } => zookeeper.tell("check"),
        }
    }

    /// The embedded server, or the proxies in front of the real ones.
    fn controls(&self) -> Vec<&Control> {
        match self {
            World::Embedded(server) => vec![&**server],
            World::Real { proxies, .. } => proxies.iter().map(|proxy| &**proxy).collect(),
        }
    }

    /// What the drivers connect to.
    pub fn hosts(&self) -> String {
        self.controls().iter().map(|control| control.connect_string()).collect::<Vec<_>>().join(",")
    }

    /// Where the observer looks, past the proxy.
    pub fn plain_hosts(&self) -> String {
        match self {
            World::Embedded(server) => server.connect_string(),
            World::Real { zookeeper, .. } => zookeeper.hosts.clone(),
        }
    }

    pub fn stop(&self) -> Told<()> {
        match self {
            World::Embedded(server) => server.stop(),
            World::Real { zookeeper, .. } => zookeeper.tell("stop")?,
        }
        Ok(())
    }

    pub fn start(&self) -> Told<()> {
        match self {
            World::Embedded(server) => server.restart().map_err(|error| error.to_string())?,
            World::Real { zookeeper, .. } => zookeeper.tell("start")?,
        }
        Ok(())
    }

    /// SIGKILL for one member of an ensemble, counted from 1.
    pub fn kill_member(&self, member: &str) -> Told<()> {
        self.member("kill", member)
    }

    pub fn start_member(&self, member: &str) -> Told<()> {
        self.member("start", member)
    }

    fn member(&self, verb: &str, member: &str) -> Told<()> {
        match self {
            World::Embedded(_) => Err("the embedded server has no members".into()),
            World::Real { zookeeper, .. } => zookeeper.tell(&format!("{verb} {member}")),
        }
    }

    pub fn expire(&self, session: u64) -> Told<()> {
        match self {
            World::Embedded(server) if server.expire(session) => Ok(()),
            World::Real { proxies, .. } if proxies.iter().any(|proxy| expire_behind(proxy, session)) => {
                Ok(())
            }
            _ => Err(format!("the server knows no session {session}")),
        }
    }

    pub fn drop_connections(&self) {
        self.controls().into_iter().for_each(Control::drop_connections);
    }

    /// In front of an ensemble each member's proxy gets the rule, so it may strike once on each way.
    pub fn inject(&self, rule: &str) -> Told<Vec<FaultId>> {
        self.controls().into_iter().map(|control| control.inject_text(rule)).collect()
    }

    pub fn fired(&self, faults: &[FaultId]) -> bool {
        self.controls().into_iter().zip(faults).any(|(control, fault)| control.fault_fired(*fault))
    }

    pub fn clear_faults(&self) {
        self.controls().into_iter().for_each(Control::clear_faults);
    }

    /// The embedded server, for what only it can do.
    pub fn inside(&self) -> Option<&Server> {
        match self {
            World::Embedded(server) => Some(server),
            World::Real { .. } => None,
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.controls().into_iter().for_each(Control::shutdown);
        if let World::Real { zookeeper, home: Some(home), .. } = self {
            home.give_back(zookeeper.clone());
        }
    }
}

/// The client whose session is ended may reconnect while the proxy is at it, and then one of the two is cut off.
fn expire_behind(proxy: &Proxy, session: u64) -> bool {
    let mut interrupted = false;
    for _ in 0..20 {
        match proxy.expire(session) {
            Ok(ended) => return ended || interrupted,
            Err(_) => interrupted = true,
        }
    }
    false
}

/// The real servers of one kind: one that all peaceful scenarios share, and some that are taken by those that
/// stop them.
pub struct Hall {
    kind: Kind,
    root: PathBuf,
    shared: Mutex<Option<Arc<ZooKeeper>>>,
    idle: Mutex<Vec<Arc<ZooKeeper>>>,
}

impl Hall {
    pub fn new(kind: Kind, root: &Path) -> Arc<Hall> {
        Arc::new(Hall { kind, root: root.into(), shared: Mutex::default(), idle: Mutex::default() })
    }

    pub fn world(self: &Arc<Self>, exclusive: bool) -> Told<World> {
        let zookeeper = if exclusive { self.take()? } else { self.share()? };
        let proxies = zookeeper.hosts.split(',').map(Proxy::start).collect::<Result<_, _>>();
        let proxies = proxies.map_err(|error| format!("no proxy: {error}"))?;
        Ok(World::Real { proxies, zookeeper, home: exclusive.then(|| self.clone()) })
    }

    fn share(&self) -> Told<Arc<ZooKeeper>> {
        let mut shared = self.shared.lock().expect("no panics inside");
        let there = match &*shared {
            Some(there) => there.clone(),
            None => Arc::new(ZooKeeper::start(self.kind, &self.root)?),
        };
        // It stays, so that everybody hears why.
        shared.get_or_insert(there.clone()).check()?;
        Ok(there)
    }

    fn take(&self) -> Told<Arc<ZooKeeper>> {
        match self.idle.lock().expect("no panics inside").pop() {
            Some(zookeeper) => zookeeper.check().map(|()| zookeeper),
            None => ZooKeeper::start(self.kind, &self.root).map(Arc::new),
        }
    }

    fn give_back(&self, zookeeper: Arc<ZooKeeper>) {
        // A scenario that failed may have left it stopped; one that cannot be started again is let go.
        if zookeeper.tell("start").is_ok() {
            self.idle.lock().expect("no panics inside").push(zookeeper);
        }
    }
}

/// Answers in the place of `zookeeper.py` for a server that others look after.
const ELSEWHERE: &str =
    r#"echo "ready $1"; while read -r word; do [ "$word" = quit ] && exit; echo ok; done"#;

/// A running `zookeeper.py run`; it ends with its stdin, so with us.
pub struct ZooKeeper {
    kind: Kind,
    pub hosts: String,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    child: Mutex<Child>,
}

impl ZooKeeper {
    fn start(kind: Kind, root: &Path) -> Told<ZooKeeper> {
        let mut command = match kind.elsewhere() {
            // Nobody starts or stops it from here.
            Some(hosts) => {
                let mut command = Command::new("sh");
                command.args(["-c", ELSEWHERE, "sh", &hosts]);
                command
            }
            None => {
                let mut command = Command::new("python3");
                command.arg(root.join("tests/zookeeper/zookeeper.py"));
                command.args(["run", kind.version(), "--nodes", &kind.nodes().to_string(), "--tick", "250"]);
                command
            }
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("zookeeper.py does not start: {error}"))?;
        let stdin = child.stdin.take().expect("piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).map_err(|error| error.to_string())?;
        let Some(hosts) = line.trim().strip_prefix("ready ") else {
            return Err(format!("{} did not start; its last words are above", kind.name()));
        };
        let hosts = hosts.to_owned();
        Ok(ZooKeeper { kind, hosts, talk: Mutex::new((stdin, stdout)), child: Mutex::new(child) })
    }

    /// It ends, too, when one of its servers does.
    fn check(&self) -> Told<()> {
        match self.child.lock().expect("no panics inside").try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.ended(Ok(status))),
            Err(error) => Err(self.ended(Err(error))),
        }
    }

    fn ended(&self, status: std::io::Result<ExitStatus>) -> String {
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("{}: zookeeper.py has ended ({status}); its last words are above", self.kind.name())
    }

    fn tell(&self, command: &str) -> Told<()> {
        let mut talk = self.talk.lock().expect("no panics inside");
        let mut line = String::new();
        // One that does not listen, or answers nothing, has ended or does so now.
        let _ = writeln!(talk.0, "{command}").and_then(|()| talk.1.read_line(&mut line));
        match line.trim() {
            "ok" => Ok(()),
            "" => Err(self.ended(self.child.lock().expect("no panics inside").wait())),
            other => Err(format!("{command}: {other}")),
        }
    }
}

impl Drop for ZooKeeper {
    fn drop(&mut self) {
        if let Ok(mut talk) = self.talk.lock() {
            let _ = writeln!(talk.0, "quit");
        }
        if let Ok(mut child) = self.child.lock() {
            let _ = child.wait();
        }
    }
}
