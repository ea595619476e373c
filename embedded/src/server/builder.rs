//! How a server is set up.

use super::world::{Limits, World};
use super::{Ensemble, Server};
use crate::machine::{Cluster, Config, Dialect, Machine, Now, Profile};
use crate::shell::{Desk, Handle, Tell};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Set where no embedded server may be started, in production for example.
const FORBID: &str = "ZKRECIPES_FORBID_EMBEDDED";

/// Sets up a [`Server`]. Made by [`Server::builder`].
pub struct Builder {
    port: u16,
    member_ports: Vec<u16>,
    address: IpAddr,
    takes_strangers: bool,
    limits: Limits,
    log_limit: usize,
    min_timeout: Option<Duration>,
    version: String,
    config: Config,
    reads_without_quorum: bool,
    servers: Option<String>,
    saved: Option<Vec<u8>>,
    tell: Option<Tell>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Builder {
            port: 0,
            member_ports: Vec::new(),
            address: Ipv4Addr::LOCALHOST.into(),
            takes_strangers: false,
            limits: Limits::default(),
            log_limit: 1 << 20,
            min_timeout: None,
            version: "3.9".to_owned(),
            config: Config::default(),
            reads_without_quorum: false,
            servers: None,
            saved: None,
            tell: None,
        }
    }

    /// The port; 0, which is the default, takes a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The ports of an ensemble's members, the leader first. Members beyond them take free ones.
    pub fn member_ports(mut self, ports: &[u16]) -> Self {
        self.member_ports = ports.to_vec();
        self
    }

    /// The address to listen on, 127.0.0.1 by default. One that other machines can reach needs
    /// [`Builder::allow_remote`] as well.
    pub fn bind(mut self, address: IpAddr) -> Self {
        self.address = address;
        self
    }

    /// Lets other machines connect, if the address is one that they can reach. This server knows no TLS and no quotas, and
    /// whoever connects may do what the access lists allow: on a network where you trust everybody.
    pub fn allow_remote(mut self, allowed: bool) -> Self {
        self.takes_strangers = allowed;
        self
    }

    /// How many connections there may be at a time, 10,000 by default; further ones are closed at once.
    pub fn connection_limit(mut self, connections: usize) -> Self {
        self.limits.connections = connections;
        self
    }

    /// How long a connection may say nothing before its handshake, a minute by default; then it is closed.
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.limits.handshake = timeout;
        self
    }

    /// ZooKeeper's unit of time, 500 ms by default. Sessions end up to one tick after their timeout.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.config.tick = tick;
        self
    }

    /// The shortest timeout a session can have; two ticks by default.
    pub fn min_session_timeout(mut self, timeout: Duration) -> Self {
        self.min_timeout = Some(timeout);
        self
    }

    /// The longest timeout a session can have; 60 s by default.
    pub fn max_session_timeout(mut self, timeout: Duration) -> Self {
        self.config.max_session_timeout = timeout;
        self
    }

    /// Frames of this many bytes or more close their connection; 1 MiB by default, as in ZooKeeper.
    pub fn data_limit(mut self, bytes: usize) -> Self {
        self.limits.frame = bytes.clamp(64, i32::MAX as usize);
        self
    }

    /// How many requests the log keeps, about a million by default; 0 turns it off.
    pub fn log_limit(mut self, entries: usize) -> Self {
        self.log_limit = entries;
        self
    }

    /// The release to behave like: `"3.9"` (default), `"3.8"`, or a patch release such as `"3.8.4"`. Or another server that
    /// speaks the protocol, one of [`Dialect::NAMES`]: `"clickhouse-keeper"`, `"raftkeeper"`.
    pub fn emulate(mut self, version: &str) -> Self {
        self.version = version.to_owned();
        self
    }

    /// Behaves like another server that speaks the protocol, in these points.
    ///
    /// ```
    /// use zkrecipes_embedded::{Dialect, Server};
    ///
    /// let mut dialect = Dialect::default();
    /// dialect.refuses_containers = Some(zkrecipes_embedded::wire::Code::BadArguments);
    /// dialect.keeps_pzxid = true;
    /// let server = Server::builder().dialect(dialect).start()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.config.dialect = dialect;
        self
    }

    /// A client that proves this `user:base64(sha1("user:password"))` may do everything. See [`digest`](crate::digest).
    pub fn super_digest(mut self, digest: &str) -> Self {
        self.config.super_digest = Some(digest.to_owned());
        self
    }

    /// A client that asks for anything before it has proved an identity of this scheme, such as `"digest"`, is
    /// disconnected, as by a server with `enforce.auth.schemes`.
    pub fn require_auth(mut self, scheme: &str) -> Self {
        self.config.require_auth = Some(scheme.to_owned());
        self
    }

    /// Allows nodes with a time to live. Real servers refuse them unless asked to, and so does this one.
    pub fn extended_types(mut self, allowed: bool) -> Self {
        self.config.extended_types = allowed;
        self
    }

    /// How often containers and nodes with a time to live are looked through; a minute by default.
    pub fn reap_every(mut self, interval: Duration) -> Self {
        self.config.reap_every = interval.max(Duration::from_millis(1));
        self
    }

    /// Serves only reads, and only clients that said they can live with that.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.config.read_only = read_only;
        self
    }

    /// Lets an ensemble without a majority serve reads, to clients that said they can live with that.
    pub fn read_only_without_quorum(mut self, allowed: bool) -> Self {
        self.reads_without_quorum = allowed;
        self
    }

    /// Lets clients change the list of servers in `/zookeeper/config`, which is this at first, one to a line:
    /// `server.1=HOST:PORT:PORT:participant;CLIENTPORT`. Nothing but the list changes. Real servers refuse it unless
    /// asked to, and so does this one; and they want a client with the right to write that node, such as
    /// [`Builder::super_digest`] gives.
    pub fn reconfig(mut self, servers: &str) -> Self {
        self.servers = Some(servers.to_owned());
        self
    }

    /// Goes on from where another server stopped, with its nodes, sessions and zxids. See [`Server::save`].
    pub fn saved(mut self, saved: Vec<u8>) -> Self {
        self.saved = Some(saved);
        self
    }

    /// Is told in one line what happens to connections and sessions. Called on the server's thread: be quick, and
    /// do not call the server from in there.
    pub fn tell(mut self, tell: impl Fn(&str) + Send + 'static) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    /// If `ZKRECIPES_FORBID_EMBEDDED` is set, the address cannot be listened on or is one that other machines can reach, the release to emulate is not known, or what was saved cannot be read.
    pub fn start(self) -> io::Result<Server> {
        self.start_members(1)
    }

    /// Starts several servers as one ensemble. The first leads; it takes the port, the others take free ones.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub fn start_ensemble(self, members: usize) -> io::Result<Ensemble> {
        self.start_members(members.max(1)).map(Ensemble::new)
    }

    fn start_members(mut self, members: usize) -> io::Result<Server> {
        if std::env::var_os(FORBID).is_some_and(|value| !value.is_empty()) {
            let message = format!("embedded servers are forbidden here: {FORBID} is set");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        if !self.address.is_loopback() && !self.takes_strangers {
            let message = format!(
                "other machines could reach a server at {}, which has neither TLS nor quotas; allow_remote lets them",
                self.address
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        if let Some(dialect) = Dialect::named(&self.version) {
            self.config.profile = dialect.profile();
            self.config.dialect = dialect;
        } else {
            self.config.profile = Profile::parse(&self.version).ok_or_else(|| {
                let message = format!(
                    "cannot emulate {:?}: there are \"3.8\" and \"3.9\", with or without a patch, and {}",
                    self.version,
                    Dialect::NAMES.join(", ")
                );
                io::Error::new(io::ErrorKind::InvalidInput, message)
            })?;
        }
        self.config.tick = self.config.tick.max(Duration::from_millis(1));
        self.config.min_session_timeout = self.min_timeout.unwrap_or(self.config.tick * 2);
        self.config.max_session_timeout =
            self.config.max_session_timeout.max(self.config.min_session_timeout);
        self.config.first_session_id =
            if self.config.dialect.counts_sessions { 1 } else { fresh_session_id() };
        self.config.secret = fresh_secret();

        let mut machine = match &self.saved {
            None => Machine::new(self.config),
            // The clock of a new server stands at zero.
            Some(saved) => Machine::load(self.config, saved, Now::default()).map_err(|_| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    "what was saved is not from a server of this version",
                )
            })?,
        };
        machine.allow_reconfig(self.servers.take());
        let port = |member: usize| match self.member_ports.get(member) {
            Some(port) => *port,
            None if member == 0 => self.port,
            None => 0,
        };
        let mut cluster = Cluster::new(machine, members);
        cluster.read_only_without_quorum(self.reads_without_quorum);
        let addresses = (0..members).map(|m| SocketAddr::new(self.address, port(m))).collect();
        let started = Handle::start("zk-embedded", addresses, |registry| {
            let desk = Desk::new(registry, self.log_limit, self.tell);
            World::new(desk, cluster, self.limits)
        })?;
        Ok(Server::running(started))
    }
}

/// As real servers make them: their number (1) on top, then the time, then a counter.
fn fresh_session_id() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (1 << 56) | ((since.as_millis() as i64) << 16 & 0x00ff_ffff_ffff_0000)
}

/// What nobody can guess: the standard library keys its hashes with what the system gives it for that.
fn fresh_secret() -> u128 {
    let keyed = RandomState::new();
    (u128::from(keyed.hash_one(0)) << 64) | u128::from(keyed.hash_one(1))
}
