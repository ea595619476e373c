//! A small ZooKeeper client of our own, blocking, with nothing of the client and its recipes in it.
//!
//! Scenarios use it to look at what the product left on the server and to play foreign contenders. It keeps one
//! session (so that its ephemeral nodes stand for the whole scenario) and attaches to it again after a broken
//! connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use zkrecipes_embedded::wire::{
    Acl, Code, CreateArgs, Hello, Malformed, Op, Reader, Reply, ReplyHead, Request, SubWrite, Welcome,
    WriteResult, Writer, frame_length,
};

pub const NO_NODE: i32 = Code::NoNode as i32;
pub const NODE_EXISTS: i32 = Code::NodeExists as i32;
const NOT_EMPTY: i32 = Code::NotEmpty as i32;

pub const PERSISTENT: i32 = 0;
pub const EPHEMERAL: i32 = 1;
pub const EPHEMERAL_SEQUENTIAL: i32 = 3;

const EVERYTHING: i32 = 31;

/// Some of `rwcda`: read, write, create and delete children, administer.
pub fn permissions(letters: &str) -> Option<i32> {
    letters.chars().map(|letter| "rwcda".find(letter).map(|bit| 1 << bit)).sum()
}

/// Long enough for any scenario, so the observer never has to ping.
const SESSION_MS: i32 = 60_000;
const PATIENCE: Duration = Duration::from_secs(20);
/// Answers of servers are shorter.
const LONGEST: usize = 64 << 20;

#[derive(Debug)]
pub enum Failure {
    /// The server's own error code.
    Server(i32),
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Server(NO_NODE) => write!(f, "error NO_NODE"),
            Failure::Server(NODE_EXISTS) => write!(f, "error EXISTS"),
            Failure::Server(code) => write!(f, "error {code}"),
            Failure::Io(error) => write!(f, "error {error}"),
        }
    }
}

pub type Outcome<T> = Result<T, Failure>;

pub struct Node {
    pub data: Vec<u8>,
    pub ephemeral_owner: i64,
    pub czxid: i64,
}

pub struct Observer {
    hosts: Vec<String>,
    wire: Option<TcpStream>,
    session: i64,
    password: Vec<u8>,
    last_zxid: i64,
    xid: i32,
}

impl Observer {
    /// `hosts` without a chroot; connects on first use.
    pub fn new(hosts: &str) -> Observer {
        Observer {
            hosts: hosts.split(',').map(str::to_owned).collect(),
            wire: None,
            session: 0,
            password: vec![0; 16],
            last_zxid: 0,
            xid: 0,
        }
    }

    pub fn session(&self) -> i64 {
        self.session
    }

    pub fn create(&mut self, path: &str, data: &[u8], flags: i32) -> Outcome<String> {
        let (path, data, acl) = (path.into(), Some(data), everyone_may(EVERYTHING));
        let create = CreateArgs { op: Op::CREATE, path, data, acl, flags, ttl: -1 };
        self.request(&Request::Write(SubWrite::Create(create)), |reply| match reply {
            Reply::Path(path) => Some(path.into_owned()),
            _ => None,
        })
    }

    /// Creates whatever is missing of a persistent path.
    pub fn ensure(&mut self, path: &str) -> Outcome<()> {
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            match self.create(&path[..end], b"", PERSISTENT) {
                Ok(_) | Err(Failure::Server(NODE_EXISTS)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub fn delete(&mut self, path: &str) -> Outcome<()> {
        self.request(&Request::Write(SubWrite::Delete { path: path.into(), version: -1 }), done)
    }

    /// Deletes a node and everything below it, whatever is added meanwhile.
    pub fn delete_all(&mut self, path: &str) -> Outcome<()> {
        loop {
            for child in self.children(path)? {
                match self.delete_all(&format!("{path}/{child}")) {
                    Ok(()) | Err(Failure::Server(NO_NODE)) => {}
                    Err(error) => return Err(error),
                }
            }
            match self.delete(path) {
                Err(Failure::Server(NOT_EMPTY)) => {}
                Ok(()) | Err(Failure::Server(NO_NODE)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes a node and its children in one transaction: nobody sees a part of it.
    pub fn delete_at_once(&mut self, path: &str) -> Outcome<()> {
        let children = self.children(path)?.into_iter().map(|child| format!("{path}/{child}"));
        let paths = children.chain([path.to_owned()]);
        let deletes = paths.map(|path| SubWrite::Delete { path: path.into(), version: -1 }).collect();
        let refused = self.request(&Request::Multi(deletes), |reply| match reply {
            Reply::Writes(results) => Some(results.iter().find_map(|result| match result {
                // 0 is for those before the one that failed.
                WriteResult::Failed(code) if *code != 0 => Some(*code),
                _ => None,
            })),
            _ => None,
        })?;
        refused.map_or(Ok(()), |code| Err(Failure::Server(code)))
    }

    pub fn set(&mut self, path: &str, data: &[u8]) -> Outcome<()> {
        let write = SubWrite::SetData { path: path.into(), data: Some(data), version: -1 };
        self.request(&Request::Write(write), done)
    }

    /// What everybody may do with a node and its children from now on; only its administrators can change that again.
    pub fn allow(&mut self, path: &str, permissions: i32) -> Outcome<()> {
        let (path, acl) = (path.into(), everyone_may(permissions));
        self.request(&Request::SetAcl { path, acl, version: -1 }, done)
    }

    pub fn exists(&mut self, path: &str) -> Outcome<bool> {
        self.sync(path)?;
        match self.request(&Request::Exists { path: path.into(), watch: false }, done) {
            Ok(()) => Ok(true),
            Err(Failure::Server(NO_NODE)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub fn node(&mut self, path: &str) -> Outcome<Node> {
        self.sync(path)?;
        self.request(&Request::GetData { path: path.into(), watch: false }, |reply| match reply {
            Reply::Data { data, stat } => {
                let data = data.unwrap_or_default().into_owned();
                Some(Node { data, ephemeral_owner: stat.ephemeral_owner, czxid: stat.czxid })
            }
            _ => None,
        })
    }

    pub fn children(&mut self, path: &str) -> Outcome<Vec<String>> {
        self.sync(path)?;
        self.request(&Request::GetChildren { path: path.into(), watch: false }, |reply| match reply {
            Reply::Names(names) => Some(names.into_iter().map(String::from).collect()),
            _ => None,
        })
    }

    /// Every node below a path, parents first.
    pub fn walk(&mut self, path: &str) -> Outcome<Vec<(String, i64)>> {
        let mut found = Vec::new();
        let mut pending = vec![path.to_owned()];
        while let Some(parent) = pending.pop() {
            let children = match self.children(&parent) {
                Err(Failure::Server(NO_NODE)) => continue,
                other => other?,
            };
            for child in children {
                let child = format!("{parent}/{child}");
                match self.node(&child) {
                    Ok(node) => found.push((child.clone(), node.ephemeral_owner)),
                    Err(Failure::Server(NO_NODE)) => continue,
                    Err(error) => return Err(error),
                }
                pending.push(child);
            }
        }
        Ok(found)
    }

    /// Ends the session: the observer's ephemeral nodes go. The next request opens a new one.
    pub fn end_session(&mut self) {
        for _ in 0..3 {
            // A broken connection leaves the session alive, so it is attached to once more in order to end it.
            if self.session == 0 || self.attempt(&Request::Close).is_ok() {
                break;
            }
            self.wire = None;
        }
        (self.wire, self.session, self.password) = (None, 0, vec![0; 16]);
    }

    /// In an ensemble the node we are connected to may lag behind what a driver was already told.
    fn sync(&mut self, path: &str) -> Outcome<()> {
        self.request(&Request::Sync { path: path.into() }, done)
    }

    fn request<T>(&mut self, request: &Request, read: impl Fn(Reply) -> Option<T>) -> Outcome<T> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.attempt(request) {
                Err(Failure::Io(error)) => {
                    self.wire = None;
                    if Instant::now() > end {
                        return Err(error.into());
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(refused) => return Err(refused),
                Ok(body) => {
                    let reply = Reply::read(request.op(), &mut Reader::new(&body)).map_err(unreadable)?;
                    return read(reply).ok_or_else(|| unreadable(Malformed).into());
                }
            }
        }
    }

    /// The body of the answer.
    fn attempt(&mut self, request: &Request) -> Outcome<Vec<u8>> {
        if self.wire.is_none() {
            self.connect()?;
        }
        let wire = self.wire.as_mut().expect("connected above");
        self.xid += 1;
        let mut frame = Writer::request(self.xid, request.op());
        request.write(&mut frame);
        wire.write_all(&frame.finish())?;
        let frame = receive(wire)?;
        let mut r = Reader::new(&frame);
        let head = ReplyHead::read(&mut r).map_err(unreadable)?;
        self.last_zxid = self.last_zxid.max(head.zxid);
        match head.err {
            0 => Ok(r.rest().to_vec()),
            code => Err(Failure::Server(code)),
        }
    }

    fn connect(&mut self) -> Outcome<()> {
        self.hosts.rotate_left(1);
        let mut wire = TcpStream::connect(&self.hosts[0])?;
        wire.set_nodelay(true)?;
        wire.set_read_timeout(Some(Duration::from_secs(5)))?;
        let hello = Hello {
            zxid_seen: self.last_zxid,
            timeout: SESSION_MS,
            session: self.session,
            password: &self.password,
            read_only: Some(false),
        };
        wire.write_all(&hello.frame())?;
        let frame = receive(&mut wire)?;
        let welcome = Welcome::read(&frame).map_err(unreadable)?;
        if welcome.timeout <= 0 {
            (self.session, self.password) = (0, vec![0; 16]);
            return Err(io::Error::other("the observer's session has expired").into());
        }
        (self.session, self.password) = (welcome.session, welcome.password.to_vec());
        self.wire = Some(wire);
        Ok(())
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.end_session();
    }
}

/// An answer of which nothing is of interest but that it is one.
fn done(_: Reply) -> Option<()> {
    Some(())
}

/// An ACL of one entry.
fn everyone_may(perms: i32) -> Vec<Acl> {
    vec![Acl { perms, scheme: "world".into(), id: "anyone".into() }]
}

fn unreadable(_: Malformed) -> io::Error {
    io::Error::other("the answer cannot be read")
}

fn receive(wire: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut prefix = [0; 4];
    wire.read_exact(&mut prefix)?;
    let length = frame_length(prefix, LONGEST).map_err(|_| unreadable(Malformed))?;
    let mut frame = vec![0; length];
    wire.read_exact(&mut frame)?;
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sees_what_it_made_and_survives_a_broken_connection() {
        let server = zkrecipes_embedded::Server::start().expect("a free port");
        let mut observer = Observer::new(&server.connect_string());
        observer.ensure("/a/b").expect("ensure");
        let made = observer.create("/a/b/x-", b"data", EPHEMERAL_SEQUENTIAL).expect("create");
        assert_eq!(made, "/a/b/x-0000000000");
        server.drop_connections();
        let node = observer.node(&made).expect("still there");
        assert_eq!((node.data, node.ephemeral_owner), (b"data".to_vec(), observer.session()));
        let names = |found: Vec<(String, i64)>| found.into_iter().map(|(path, _)| path).collect::<Vec<_>>();
        assert_eq!(names(observer.walk("/a").expect("walk")), ["/a/b", "/a/b/x-0000000000"]);
        observer.end_session();
        assert_eq!(names(observer.walk("/a").expect("walk")), ["/a/b"]);
        observer.create("/a/b/c", b"", PERSISTENT).expect("create");
        observer.delete_at_once("/a/b").expect("a transaction");
        observer.delete_all("/a").expect("delete");
        assert!(!observer.exists("/a").expect("exists"));
        assert!(matches!(observer.children("/a"), Err(Failure::Server(NO_NODE))));
    }
}
