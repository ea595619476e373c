//! Where a fault test runs: on the embedded server, and on a real one behind the fault proxy.
//!
//! `ZKR_REAL=host:port` names the real server (the four-letter words `dump` and `wchp` must be allowed). Each ground is a
//! world of its own: on the real server by a chroot.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use zkrecipes::{Client, ClientOptions};
use zkrecipes_embedded::{Fault, FaultId, LogEntry, Proxy, Server};

use super::{eventually, options};

#[derive(Clone)]
pub enum Ground {
    Embedded(Server),
    Real { proxy: Proxy, upstream: String, chroot: String },
}

/// The embedded server, and the real one if there is one.
pub fn grounds() -> Vec<Ground> {
    let mut grounds = vec![Ground::Embedded(super::server())];
    if let Ok(upstream) = std::env::var("ZKR_REAL") {
        let nonce = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        grounds.push(Ground::real(upstream, format!("/test-{}-{}", std::process::id(), nonce.as_nanos())));
    }
    grounds
}

/// Where there is much to try, it is tried on one of them: on the real server, if there is one.
pub fn ground() -> Ground {
    grounds().pop().expect("there is one")
}

impl Ground {
    pub fn real(upstream: String, chroot: String) -> Ground {
        let proxy = Proxy::start(&upstream).expect("a proxy in front of the real server");
        Ground::Real { proxy, upstream, chroot }
    }

    pub fn hosts(&self) -> String {
        match self {
            Ground::Embedded(server) => server.connect_string(),
            Ground::Real { proxy, chroot, .. } => format!("{}{chroot}", proxy.connect_string()),
        }
    }

    pub async fn client(&self, session_timeout: Duration) -> Client {
        self.client_with(options(session_timeout)).await
    }

    pub async fn client_with(&self, options: ClientOptions) -> Client {
        Client::connect(&self.hosts(), options).await.expect("the server answers")
    }

    pub fn inject(&self, fault: Fault) -> FaultId {
        match self {
            Ground::Embedded(server) => server.inject(fault),
            Ground::Real { proxy, .. } => proxy.inject(fault),
        }
    }

    pub fn clear_faults(&self) {
        match self {
            Ground::Embedded(server) => server.clear_faults(),
            Ground::Real { proxy, .. } => proxy.clear_faults(),
        }
    }

    pub fn fault_fired(&self, id: FaultId) -> bool {
        match self {
            Ground::Embedded(server) => server.fault_fired(id),
            Ground::Real { proxy, .. } => proxy.fault_fired(id),
        }
    }

    /// Answered requests of a kind on a path and what is below it.
    pub fn count(&self, op: &str, path: &str) -> usize {
        match self {
            Ground::Embedded(server) => server.count(op, &format!("{path}/**")),
            Ground::Real { proxy, chroot, .. } => proxy.count(op, &format!("{chroot}{path}/**")),
        }
    }

    /// What reached the server since the log was cleared, with the server's own paths.
    pub fn log(&self) -> Vec<LogEntry> {
        match self {
            Ground::Embedded(server) => server.log(),
            Ground::Real { proxy, .. } => proxy.log(),
        }
    }

    /// How many transactions have a part whose path ends like this.
    pub fn transactions(&self, path: &str) -> usize {
        let names = |entry: &&LogEntry| entry.parts.iter().any(|(_, part)| part.ends_with(path));
        self.log().iter().filter(names).count()
    }

    /// Whether a transaction that names `path` has reached the server.
    pub fn client_wrote(&self, path: &str) -> bool {
        self.transactions(path) > 0
    }

    /// The requests of one kind that a client made.
    pub fn requests_of(&self, client: &Client, op: &str) -> Vec<LogEntry> {
        let session = client.session_id();
        self.log().into_iter().filter(|entry| entry.session_id == session && entry.op == op).collect()
    }

    /// The lists of children that it asked for, with or without the metadata.
    pub fn lists_of(&self, client: &Client) -> Vec<LogEntry> {
        let session = client.session_id();
        let is_list = |entry: &LogEntry| entry.op.starts_with("getChildren");
        self.log().into_iter().filter(|entry| entry.session_id == session && is_list(entry)).collect()
    }

    pub fn clear_log(&self) {
        match self {
            Ground::Embedded(server) => server.clear_log(),
            Ground::Real { proxy, .. } => proxy.clear_log(),
        }
    }

    /// Really ends the session: the server drops its nodes. False if there is none.
    pub async fn expire(&self, session: u64) {
        match self {
            Ground::Embedded(server) => {
                server.expire(session);
            }
            Ground::Real { proxy, .. } => {
                // The client re-attaches at the same time, which cuts the one that comes first off.
                let proxy = proxy.clone();
                tokio::task::spawn_blocking(move || {
                    let until = std::time::Instant::now() + super::SOON;
                    while proxy.expire(session).is_err() {
                        assert!(std::time::Instant::now() < until, "the session cannot be ended");
                    }
                })
                .await
                .expect("expired");
            }
        }
    }

    /// Every connection breaks; new ones are taken.
    pub fn break_connections(&self) {
        match self {
            Ground::Embedded(server) => server.drop_connections(),
            Ground::Real { proxy, .. } => proxy.drop_connections(),
        }
    }

    /// The server is not to be had until `come_back`; sessions and nodes are kept.
    pub fn go_away(&self) {
        match self {
            Ground::Embedded(server) => server.stop(),
            Ground::Real { proxy, .. } => {
                proxy.inject(Fault::refuse_connections(1).forever());
                proxy.drop_connections();
            }
        }
    }

    pub fn come_back(&self) {
        match self {
            Ground::Embedded(server) => server.restart().expect("the port is ours"),
            Ground::Real { proxy, .. } => proxy.clear_faults(),
        }
    }

    pub fn sessions(&self) -> usize {
        match self {
            Ground::Embedded(server) => server.sessions().len(),
            Ground::Real { proxy, .. } => proxy.sessions().len(),
        }
    }

    /// The contenders' and holders' nodes under `path`, at any depth.
    pub fn nodes_under(&self, path: &str) -> Vec<String> {
        match self {
            Ground::Embedded(server) => {
                let is_contender = |node: &String| {
                    ["-lock-", "-latch-", "-lease-", "__"].iter().any(|mark| node.contains(mark))
                };
                super::nodes_under(server, path).into_iter().filter(is_contender).collect()
            }
            Ground::Real { upstream, chroot, .. } => {
                let prefix = format!("{chroot}{path}/");
                let mut nodes: Vec<_> = four_letter_word(upstream, "dump")
                    .lines()
                    .map(str::trim)
                    .filter(|line| line.starts_with(&prefix))
                    .map(|line| line[chroot.len()..].to_owned())
                    .collect();
                nodes.sort();
                nodes
            }
        }
    }

    /// How many watches stand; a real server does not tell those on children.
    pub fn watch_count(&self) -> usize {
        match self {
            Ground::Embedded(server) => server.watch_count(),
            Ground::Real { upstream, chroot, .. } => {
                let mut count = 0;
                let mut is_ours = false;
                for line in four_letter_word(upstream, "wchp").lines() {
                    match line.strip_prefix('\t') {
                        Some(_) if is_ours => count += 1,
                        Some(_) => {}
                        None => is_ours = line.starts_with(chroot.as_str()),
                    }
                }
                count
            }
        }
    }

    pub async fn assert_nothing_left(&self, path: &str) {
        eventually("the path is empty again", || self.nodes_under(path).is_empty()).await;
        eventually("no watch is left", || self.watch_count() == 0).await;
    }
}

fn four_letter_word(server: &str, word: &str) -> String {
    let mut answer = String::new();
    let mut stream = TcpStream::connect(server).expect("the real server answers");
    stream.write_all(word.as_bytes()).expect("asked");
    stream.read_to_string(&mut answer).expect("answered");
    assert!(!answer.contains("not in the whitelist"), "the real server must allow {word}");
    answer
}
