//! The floor: one blocking socket that speaks ZooKeeper's protocol by hand, with nothing around it. What a recipe has to send
//! cannot cost less than these requests do.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{self, Read, Write, stdin};
use std::net::TcpStream;

use crate::line::{Answer, Order, done, list, now, say};

const CREATE: i32 = 1;
const DELETE: i32 = 2;
const SET: i32 = 5;
const CLOSE: i32 = -11;
const NODE_EXISTS: i32 = -110;
const DATA: [u8; 100] = [b'x'; 100];

#[derive(Copy, Clone)]
enum Mode {
    Persistent = 0,
    PersistentSequential = 2,
    EphemeralSequential = 3,
}

pub fn serve(hosts: &str, milliseconds: u64) {
    println!("ready");
    for line in stdin().lines().map_while(Result::ok) {
        say(obey(&Order::read(&line), hosts, milliseconds));
    }
}

/// Each order has a session of its own, so that nobody has to keep one alive in between.
fn obey(order: &Order, hosts: &str, milliseconds: u64) -> Answer {
    let mut socket = Socket::connect(hosts.split(',').next().unwrap_or(hosts), milliseconds)?;
    let answer = perform(order, &mut socket);
    socket.call(CLOSE, |_| ())?;
    answer
}

fn perform(order: &Order, socket: &mut Socket) -> Answer {
    match order.verb.as_str() {
        "lock" => {
            socket.ensure(order.path())?;
            let prefix = format!("{}/n-", order.path());
            let (mut acquire, mut both) = (Vec::new(), Vec::new());
            for _ in 0..order.number("ops") {
                let begun = now();
                let node = socket.create(&prefix, b"bench", Mode::EphemeralSequential)?;
                acquire.push(now() - begun);
                socket.delete(&node)?;
                both.push(now() - begun);
            }
            Ok(Some(format!("{} {}", list("acquire", &acquire), list("both", &both))))
        }
        "write" => {
            socket.ensure(order.path())?;
            let mut times = Vec::new();
            for _ in 0..order.number("ops") {
                let begun = now();
                socket.call(SET, |body| {
                    text(body, order.path().as_bytes());
                    text(body, b"bench");
                    int(body, -1);
                })?;
                times.push(now() - begun);
            }
            Ok(Some(list("both", &times)))
        }
        "disjoint" => disjoint(order, socket),
        "put" => {
            socket.ensure(order.path())?;
            let prefix = format!("{}/{}", order.path(), order.text_or("prefix", "qn-"));
            let begun = now();
            let mut flights = 0;
            for _ in 0..order.number("ops") {
                if flights == order.number("calls") {
                    socket.answer()?;
                    flights -= 1;
                }
                socket.send_create(&prefix, &DATA, Mode::PersistentSequential)?;
                flights += 1;
            }
            for _ in 0..flights {
                socket.answer()?;
            }
            Ok(Some(format!("took={}", now() - begun)))
        }
        "quit" => done(),
        _ => Ok(None),
    }
}

/// Pairs of create and delete, as many at a time as there are paths.
fn disjoint(order: &Order, socket: &mut Socket) -> Answer {
    let (paths, pairs) = (order.number("paths"), order.number("ops"));
    let mut prefixes = Vec::new();
    for path in 0..paths {
        let parent = format!("{}/{path}", order.path());
        socket.ensure(&parent)?;
        prefixes.push(format!("{parent}/n-"));
    }
    let begun = now();
    // Which path each request in flight belongs to, and whether it is a create.
    let mut flights = VecDeque::new();
    let (mut begun_pairs, mut ended) = (0, 0);
    while begun_pairs < paths.min(pairs) {
        socket.send_create(&prefixes[begun_pairs % paths], b"bench", Mode::EphemeralSequential)?;
        flights.push_back((begun_pairs % paths, true));
        begun_pairs += 1;
    }
    while ended < pairs {
        let reply = socket.answer()?;
        let (path, made) = flights.pop_front().expect("as many as there are answers");
        if made {
            socket.send_delete(&created(&reply)?)?;
            flights.push_back((path, false));
        } else {
            ended += 1;
            if begun_pairs < pairs {
                socket.send_create(&prefixes[path], b"bench", Mode::EphemeralSequential)?;
                flights.push_back((path, true));
                begun_pairs += 1;
            }
        }
    }
    Ok(Some(format!("took={}", now() - begun)))
}

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Socket {
    stream: TcpStream,
    out: Vec<u8>,
    /// What was read and not yet looked at.
    read: Vec<u8>,
    at: usize,
    xid: i32,
}

impl Socket {
    fn connect(host: &str, milliseconds: u64) -> Outcome<Socket> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        let mut socket = Socket { stream, out: Vec::new(), read: Vec::new(), at: 0, xid: 0 };
        let mut hello = vec![0; 4];
        int(&mut hello, 0);
        hello.extend(0i64.to_be_bytes());
        int(&mut hello, milliseconds as i32);
        hello.extend(0i64.to_be_bytes());
        text(&mut hello, &[0; 16]);
        hello.push(0);
        socket.out.extend(sized(hello));
        socket.frame()?;
        Ok(socket)
    }

    fn send(&mut self, op: i32, body: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.xid += 1;
        let mut frame = vec![0; 4];
        int(&mut frame, self.xid);
        int(&mut frame, op);
        body(&mut frame);
        self.out.extend(sized(frame));
        Ok(())
    }

    /// The next answer: what comes behind its head. Whatever was sent before leaves first, in one write.
    fn answer(&mut self) -> Outcome<Vec<u8>> {
        let frame = self.frame()?;
        match int_at(&frame, 12)? {
            0 => Ok(frame[16..].to_vec()),
            code => Err(Refusal(code).into()),
        }
    }

    fn frame(&mut self) -> Outcome<Vec<u8>> {
        // While answers are here already, requests gather.
        loop {
            let rest = &self.read[self.at..];
            if let Some(length) = rest.first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                if rest.len() >= 4 + length {
                    let frame = rest[4..4 + length].to_vec();
                    self.at += 4 + length;
                    return Ok(frame);
                }
            }
            self.read.drain(..self.at);
            self.at = 0;
            if !self.out.is_empty() {
                self.stream.write_all(&self.out)?;
                self.out.clear();
            }
            let mut buffer = [0; 64 * 1024];
            match self.stream.read(&mut buffer)? {
                0 => return Err("the server hung up".into()),
                length => self.read.extend(&buffer[..length]),
            }
        }
    }

    fn call(&mut self, op: i32, body: impl FnOnce(&mut Vec<u8>)) -> Outcome<Vec<u8>> {
        self.send(op, body)?;
        self.answer()
    }

    fn send_create(&mut self, path: &str, data: &[u8], mode: Mode) -> io::Result<()> {
        self.send(CREATE, |body| {
            text(body, path.as_bytes());
            text(body, data);
            // One entry of the ACL: everybody may do everything.
            int(body, 1);
            int(body, 31);
            text(body, b"world");
            text(body, b"anyone");
            int(body, mode as i32);
        })
    }

    fn send_delete(&mut self, path: &str) -> io::Result<()> {
        self.send(DELETE, |body| {
            text(body, path.as_bytes());
            int(body, -1);
        })
    }

    fn create(&mut self, path: &str, data: &[u8], mode: Mode) -> Outcome<String> {
        self.send_create(path, data, mode)?;
        created(&self.answer()?)
    }

    fn delete(&mut self, path: &str) -> Outcome<()> {
        self.send_delete(path)?;
        self.answer().map(drop)
    }

    fn ensure(&mut self, path: &str) -> Outcome<()> {
        for (at, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            match self.create(&path[..at], b"", Mode::Persistent) {
                Err(error) if error.downcast_ref() != Some(&Refusal(NODE_EXISTS)) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
struct Refusal(i32);

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the server refused with {}", self.0)
    }
}

impl Error for Refusal {}

fn int(to: &mut Vec<u8>, value: i32) {
    to.extend(value.to_be_bytes());
}

fn text(to: &mut Vec<u8>, bytes: &[u8]) {
    int(to, bytes.len() as i32);
    to.extend(bytes);
}

/// With its length in its first four bytes.
fn sized(mut frame: Vec<u8>) -> Vec<u8> {
    let length = frame.len() as u32 - 4;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

fn int_at(frame: &[u8], at: usize) -> Outcome<i32> {
    let bytes = frame.get(at..).and_then(|rest| rest.first_chunk()).ok_or("the answer is too short")?;
    Ok(i32::from_be_bytes(*bytes))
}

/// The path that a create answers.
fn created(reply: &[u8]) -> Outcome<String> {
    let length = int_at(reply, 0)? as usize;
    Ok(String::from_utf8(reply.get(4..4 + length).ok_or("the answer is too short")?.to_vec())?)
}
