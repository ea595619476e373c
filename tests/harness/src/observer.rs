//! A small ZooKeeper client of our own, blocking, with nothing of the product in it.
//!
//! Scenarios use it to look at what the product left on the server and to play foreign contenders. It keeps one
//! session (so that its ephemeral nodes stand for the whole scenario) and attaches to it again after a broken
//! connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const CREATE: i32 = 1;
const DELETE: i32 = 2;
const EXISTS: i32 = 3;
const GET_DATA: i32 = 4;
const SET_DATA: i32 = 5;
const SET_ACL: i32 = 7;
const SYNC: i32 = 9;
const GET_CHILDREN2: i32 = 12;
const MULTI: i32 = 14;
const CLOSE_SESSION: i32 = -11;

pub const NO_NODE: i32 = -101;
pub const NODE_EXISTS: i32 = -110;
const NOT_EMPTY: i32 = -111;

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
        let mut body = text(path);
        body.extend(buffer(data));
        body.extend(everyone_may(EVERYTHING));
        body.extend(flags.to_be_bytes());
        let mut reply = self.request(CREATE, &body)?;
        Ok(String::from_utf8_lossy(&reply.bytes()?).into_owned())
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
        let mut body = text(path);
        body.extend((-1_i32).to_be_bytes());
        self.request(DELETE, &body).map(drop)
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
        let mut body = Vec::new();
        let children = self.children(path)?.into_iter().map(|child| format!("{path}/{child}"));
        for path in children.chain([path.to_owned()]) {
            body.extend(multi_header(DELETE, false));
            body.extend(text(&path));
            body.extend((-1_i32).to_be_bytes());
        }
        body.extend(multi_header(-1, true));
        let mut reply = self.request(MULTI, &body)?;
        let (kind, _done, error) = (reply.int()?, reply.skip(1)?, reply.int()?);
        if kind == -1 { Err(Failure::Server(error)) } else { Ok(()) }
    }

    pub fn set(&mut self, path: &str, data: &[u8]) -> Outcome<()> {
        let mut body = text(path);
        body.extend(buffer(data));
        body.extend((-1_i32).to_be_bytes());
        self.request(SET_DATA, &body).map(drop)
    }

    /// What everybody may do with a node and its children from now on; only its administrators can change that again.
    pub fn allow(&mut self, path: &str, permissions: i32) -> Outcome<()> {
        let mut body = text(path);
        body.extend(everyone_may(permissions));
        body.extend((-1_i32).to_be_bytes());
        self.request(SET_ACL, &body).map(drop)
    }

    pub fn exists(&mut self, path: &str) -> Outcome<bool> {
        self.sync(path)?;
        match self.request(EXISTS, &unwatched(path)) {
            Ok(_) => Ok(true),
            Err(Failure::Server(NO_NODE)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub fn node(&mut self, path: &str) -> Outcome<Node> {
        self.sync(path)?;
        let mut reply = self.request(GET_DATA, &unwatched(path))?;
        let data = reply.bytes()?;
        let czxid = reply.long()?;
        reply.skip(8 * 3 + 4 * 3)?; // mzxid ctime mtime, version cversion aversion
        let ephemeral_owner = reply.long()?;
        Ok(Node { data, ephemeral_owner, czxid })
    }

    pub fn children(&mut self, path: &str) -> Outcome<Vec<String>> {
        self.sync(path)?;
        let mut reply = self.request(GET_CHILDREN2, &unwatched(path))?;
        let count = reply.int()?;
        (0..count).map(|_| Ok(String::from_utf8_lossy(&reply.bytes()?).into_owned())).collect()
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
            if self.session == 0 || self.attempt(CLOSE_SESSION, &[]).is_ok() {
                break;
            }
            self.wire = None;
        }
        (self.wire, self.session, self.password) = (None, 0, vec![0; 16]);
    }

    /// In an ensemble the node we are connected to may lag behind what a driver was already told.
    fn sync(&mut self, path: &str) -> Outcome<()> {
        self.request(SYNC, &text(path)).map(drop)
    }

    fn request(&mut self, op: i32, body: &[u8]) -> Outcome<Reply> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.attempt(op, body) {
                Err(Failure::Io(error)) => {
                    self.wire = None;
                    if Instant::now() > end {
                        return Err(error.into());
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                answered => return answered,
            }
        }
    }

    fn attempt(&mut self, op: i32, body: &[u8]) -> Outcome<Reply> {
        if self.wire.is_none() {
            self.connect()?;
        }
        let wire = self.wire.as_mut().expect("connected above");
        self.xid += 1;
        let mut frame = self.xid.to_be_bytes().to_vec();
        frame.extend(op.to_be_bytes());
        frame.extend(body);
        send(wire, &frame)?;
        let mut reply = receive(wire)?;
        let _xid = reply.int()?;
        self.last_zxid = self.last_zxid.max(reply.long()?);
        match reply.int()? {
            0 => Ok(reply),
            code => Err(Failure::Server(code)),
        }
    }

    fn connect(&mut self) -> Outcome<()> {
        self.hosts.rotate_left(1);
        let mut wire = TcpStream::connect(&self.hosts[0])?;
        wire.set_nodelay(true)?;
        wire.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut hello = 0_i32.to_be_bytes().to_vec();
        hello.extend(self.last_zxid.to_be_bytes());
        hello.extend(SESSION_MS.to_be_bytes());
        hello.extend(self.session.to_be_bytes());
        hello.extend(buffer(&self.password));
        hello.push(0);
        send(&mut wire, &hello)?;
        let mut welcome = receive(&mut wire)?;
        welcome.skip(4)?;
        if welcome.int()? <= 0 {
            (self.session, self.password) = (0, vec![0; 16]);
            return Err(io::Error::other("the observer's session has expired").into());
        }
        self.session = welcome.long()?;
        self.password = welcome.bytes()?;
        self.wire = Some(wire);
        Ok(())
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.end_session();
    }
}

fn text(text: &str) -> Vec<u8> {
    buffer(text.as_bytes())
}

fn buffer(bytes: &[u8]) -> Vec<u8> {
    let mut framed = (bytes.len() as i32).to_be_bytes().to_vec();
    framed.extend(bytes);
    framed
}

/// An ACL of one entry.
fn everyone_may(permissions: i32) -> Vec<u8> {
    let mut acl = 1_i32.to_be_bytes().to_vec();
    acl.extend(permissions.to_be_bytes());
    acl.extend(text("world"));
    acl.extend(text("anyone"));
    acl
}

fn multi_header(op: i32, last: bool) -> Vec<u8> {
    let mut header = op.to_be_bytes().to_vec();
    header.push(last.into());
    header.extend((-1_i32).to_be_bytes());
    header
}

fn unwatched(path: &str) -> Vec<u8> {
    let mut body = text(path);
    body.push(0);
    body
}

fn send(wire: &mut TcpStream, frame: &[u8]) -> io::Result<()> {
    wire.write_all(&buffer(frame))
}

fn receive(wire: &mut TcpStream) -> io::Result<Reply> {
    let mut length = [0; 4];
    wire.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    wire.read_exact(&mut bytes)?;
    Ok(Reply { bytes, at: 0 })
}

struct Reply {
    bytes: Vec<u8>,
    at: usize,
}

impl Reply {
    fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        let from = self.at;
        self.at += count;
        self.bytes.get(from..from + count).ok_or_else(|| io::Error::other("the reply is too short"))
    }

    fn skip(&mut self, count: usize) -> io::Result<()> {
        self.take(count).map(drop)
    }

    fn int(&mut self) -> io::Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn long(&mut self) -> io::Result<i64> {
        Ok(i64::from_be_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }

    /// A byte buffer; a null one reads as empty.
    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let length = self.int()?.max(0) as usize;
        self.take(length).map(<[u8]>::to_vec)
    }
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
