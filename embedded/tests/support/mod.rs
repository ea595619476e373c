//! A client that speaks raw frames: it sends what it is told and hides nothing it receives.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use zkrecipes_embedded::wire::{
    Acl, Hello, Op, Reader, ReplyHead, Stat, Welcome, Writer, XID_AUTH, XID_PING, XID_SET_WATCHES,
    frame_length,
};

pub struct Raw {
    pub stream: TcpStream,
    pub session: i64,
    pub password: Vec<u8>,
    pub timeout: i32,
    next_xid: i32,
    unnumbered: usize,
}

/// A reply or an event: its header and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub xid: i32,
    pub zxid: i64,
    pub err: i32,
    pub body: Vec<u8>,
}

pub fn open_acl() -> Vec<Acl> {
    vec![Acl { perms: 31, scheme: "world".into(), id: "anyone".into() }]
}

impl Raw {
    pub fn connect(address: &str) -> Raw {
        Raw::attach(address, 0, &[0; 16], 10_000, 0).expect("a new session")
    }

    pub fn with_timeout(address: &str, timeout: i32) -> Raw {
        Raw::attach(address, 0, &[0; 16], timeout, 0).expect("a new session")
    }

    /// A new session of a client that can live with reads alone. None if it is not wanted.
    pub fn connect_read_only(address: &str) -> Option<Raw> {
        Raw::greet(address, 0, &[0; 16], 10_000, 0, true)
    }

    /// None if the server closes without an answer.
    pub fn attach(address: &str, session: i64, password: &[u8], timeout: i32, seen: i64) -> Option<Raw> {
        Raw::greet(address, session, password, timeout, seen, false)
    }

    fn greet(
        address: &str,
        session: i64,
        password: &[u8],
        timeout: i32,
        seen: i64,
        read_only: bool,
    ) -> Option<Raw> {
        let mut stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let hello = Hello { zxid_seen: seen, timeout, session, password, read_only: Some(read_only) };
        stream.write_all(&hello.frame()).ok()?;
        let mut raw =
            Raw { stream, session: 0, password: Vec::new(), timeout: 0, next_xid: 1, unnumbered: 0 };
        let frame = raw.frame()?;
        let welcome = Welcome::read(&frame).ok()?;
        (raw.timeout, raw.session, raw.password) =
            (welcome.timeout, welcome.session, welcome.password.to_vec());
        Some(raw)
    }

    /// The next frame, or None if the server closed.
    pub fn frame(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).ok()?;
        let mut frame = vec![0; frame_length(length, 64 << 20).ok()?];
        self.stream.read_exact(&mut frame).ok()?;
        Some(frame)
    }

    pub fn receive(&mut self) -> Option<Reply> {
        let frame = self.frame()?;
        let mut r = Reader::new(&frame);
        let ReplyHead { xid, zxid, err } = ReplyHead::read(&mut r).ok()?;
        Some(Reply { xid, zxid, err, body: r.rest().to_vec() })
    }

    pub fn send(&mut self, op: Op, body: impl FnOnce(&mut Writer)) -> i32 {
        let xid = match op {
            Op::PING => XID_PING,
            Op::AUTH => XID_AUTH,
            Op::SET_WATCHES | Op::SET_WATCHES2 => XID_SET_WATCHES,
            _ => {
                self.next_xid += 1;
                self.next_xid - 1
            }
        };
        let mut w = Writer::request(xid, op);
        body(&mut w);
        // The server may have closed on us; reading will tell.
        let _ = self.stream.write_all(&w.finish());
        xid
    }

    /// Sends a ping whose answer somebody reads later, after asking with [`Raw::take_unnumbered`] how many there are.
    pub fn send_unnumbered(&mut self, op: Op) {
        self.send(op, |_| {});
        self.unnumbered += 1;
    }

    pub fn take_unnumbered(&mut self) -> usize {
        std::mem::take(&mut self.unnumbered)
    }

    /// The server's last transaction, asked by a four letter word: no session, no zxid.
    pub fn probe(address: &str) -> i64 {
        let answer = word(address, "srvr");
        let hex = answer.lines().find_map(|l| l.strip_prefix("Zxid: 0x")).expect("a zxid");
        i64::from_str_radix(hex.trim(), 16).expect("a hexadecimal zxid")
    }

    /// Sends, and returns the next reply; panics on an event in between.
    pub fn call(&mut self, op: Op, body: impl FnOnce(&mut Writer)) -> Reply {
        let xid = self.send(op, body);
        let reply = self.receive().expect("a reply");
        assert_eq!(reply.xid, xid, "expected a reply, got {reply:?}");
        reply
    }

    pub fn create_body(w: &mut Writer, path: &str, data: &[u8], flags: i32) {
        w.string(path).buffer(Some(data)).acl(&open_acl()).int(flags);
    }

    pub fn create(&mut self, path: &str, flags: i32) -> Result<String, i32> {
        let reply = self.call(Op::CREATE, |w| Raw::create_body(w, path, b"", flags));
        reply.string()
    }

    pub fn delete(&mut self, path: &str) -> i32 {
        self.call(Op::DELETE, |w| _ = w.string(path).int(-1)).err
    }

    pub fn set(&mut self, path: &str, data: &[u8]) -> Result<Stat, i32> {
        self.call(Op::SET_DATA, |w| _ = w.string(path).buffer(Some(data)).int(-1)).stat()
    }

    pub fn exists(&mut self, path: &str, watch: bool) -> Result<Stat, i32> {
        self.call(Op::EXISTS, |w| _ = w.string(path).bool(watch)).stat()
    }

    pub fn children(&mut self, path: &str, watch: bool) -> Result<Vec<String>, i32> {
        let reply = self.call(Op::GET_CHILDREN, |w| _ = w.string(path).bool(watch));
        reply.ok(|r| r.vector(|r| r.string()).map(|v| v.into_iter().map(|s| s.into_owned()).collect()))
    }

    pub fn ping(&mut self) -> Reply {
        self.call(Op::PING, |_| {})
    }

    pub fn auth(&mut self, scheme: &str, auth: &str) -> i32 {
        self.call(Op::AUTH, |w| _ = w.int(0).string(scheme).buffer(Some(auth.as_bytes()))).err
    }

    /// The next frame as an event: (type, path, header zxid).
    pub fn event(&mut self) -> (i32, String, i64) {
        let reply = self.receive().expect("an event");
        reply.as_event().unwrap_or_else(|| panic!("expected an event, got {reply:?}"))
    }

    /// Everything that is still to come up to the reply of a ping.
    pub fn events(&mut self) -> Vec<(i32, String, i64)> {
        self.send(Op::PING, |_| {});
        let mut events = Vec::new();
        loop {
            let reply = self.receive().expect("a ping's reply");
            match reply.as_event() {
                Some(event) => events.push(event),
                None => return events,
            }
        }
    }

    /// Whether the server has closed, with nothing more to read.
    pub fn is_closed(&mut self) -> bool {
        self.receive().is_none()
    }
}

impl Reply {
    pub fn ok<T>(
        &self,
        read: impl FnOnce(&mut Reader) -> Result<T, zkrecipes_embedded::wire::Malformed>,
    ) -> Result<T, i32> {
        if self.err != 0 {
            Err(self.err)
        } else {
            Ok(read(&mut Reader::new(&self.body)).expect("a readable body"))
        }
    }

    pub fn string(&self) -> Result<String, i32> {
        self.ok(|r| r.string().map(|s| s.into_owned()))
    }

    pub fn stat(&self) -> Result<Stat, i32> {
        self.ok(|r| r.stat())
    }

    pub fn as_event(&self) -> Option<(i32, String, i64)> {
        let mut r = Reader::new(&self.body);
        (self.xid == -1)
            .then(|| (r.int().unwrap(), (r.int().unwrap(), r.string().unwrap()).1.into_owned(), self.zxid))
    }
}

/// Sends a four letter word and returns the answer.
pub fn word(address: &str, word: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(word.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
