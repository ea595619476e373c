//! The floor: one blocking socket that speaks ZooKeeper's protocol by hand, with nothing around it. What a recipe has to send
//! cannot cost less than these requests do.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{self, Read, Write, stdin};
use std::net::TcpStream;

use crate::line::{Answer, Order, done, list, now, say};

/// How many items are read in one request.
const AHEAD: usize = 8;

const CREATE: i32 = 1;
const GET_DATA: i32 = 4;
const DELETE: i32 = 2;
const SET: i32 = 5;
const GET_CHILDREN: i32 = 8;
const MULTI: i32 = 14;
const MULTI_READ: i32 = 22;
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
    let connect = || Socket::connect(hosts.split(',').next().unwrap_or(hosts), milliseconds);
    let mut socket = connect()?;
    let answer = match order.verb.as_str() {
        "get" => consume(order, &mut socket, connect),
        _ => perform(order, &mut socket),
    };
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
        "background" => background(order, socket),
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

/// What our consumers of a queue send, each in a thread and a session of its own: the data of some items in one request, ahead,
/// and for each item a transaction that says so in a mark and deletes it. Nobody takes an item that another one wants.
fn consume(order: &Order, socket: &mut Socket, connect: impl Fn() -> Outcome<Socket>) -> Answer {
    let (items, clients) = (order.number("ops"), order.number("clients"));
    let reply = socket.call(GET_CHILDREN, |body| {
        text(body, order.path().as_bytes());
        body.push(0);
    })?;
    let mut names = texts(&reply)?;
    names.sort_unstable();
    names.truncate(items);
    let mut consumers = Vec::new();
    for nth in 0..clients {
        let mut consumer = connect()?;
        let mark =
            consumer.create(&format!("{}-mark-", order.path()), b"1 60000", Mode::PersistentSequential)?;
        let own = names.iter().skip(nth).step_by(clients).map(|name| format!("{}/{name}", order.path()));
        consumers.push((consumer, mark, own.collect::<Vec<_>>()));
    }
    let begun = now();
    std::thread::scope(|scope| {
        let taking: Vec<_> = consumers
            .iter_mut()
            .map(|(consumer, mark, own)| {
                scope.spawn(|| consumer.take(mark, own).map_err(|error| error.to_string()))
            })
            .collect();
        taking.into_iter().try_for_each(|taking| taking.join().expect("a consumer does not panic"))
    })?;
    let took = now() - begun;
    for (mut consumer, mark, _) in consumers {
        consumer.delete(&mark)?;
        consumer.call(CLOSE, |_| ())?;
    }
    Ok(Some(format!("took={took}")))
}

/// Nobody waits for a deletion: it leaves, and the next create behind it. So its answer comes before that of the create.
fn background(order: &Order, socket: &mut Socket) -> Answer {
    socket.ensure(order.path())?;
    let prefix = format!("{}/n-", order.path());
    let mut times = Vec::new();
    for number in 0..order.number("ops") {
        let begun = now();
        socket.send_create(&prefix, b"bench", Mode::EphemeralSequential)?;
        if number > 0 {
            socket.answer()?;
        }
        let node = created(&socket.answer()?)?;
        socket.send_delete(&node)?;
        times.push(now() - begun);
    }
    socket.answer()?;
    Ok(Some(list("both", &times)))
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

    /// Takes these items, one after the other.
    fn take(&mut self, mark: &str, items: &[String]) -> Outcome<()> {
        let mut parts = items.chunks(AHEAD);
        let mut is_read = false;
        if let Some(first) = parts.next() {
            self.send_reads(first)?;
            is_read = true;
        }
        for (made, item) in items.iter().enumerate() {
            if made % AHEAD == 0 && std::mem::take(&mut is_read) {
                self.answer()?;
            }
            // Asked for together with a transaction, and there before it is needed.
            if made % AHEAD == AHEAD / 2
                && let Some(next) = parts.next()
            {
                self.send_reads(next)?;
                is_read = true;
            }
            self.send(MULTI, |body| {
                part(body, SET);
                text(body, mark.as_bytes());
                text(body, b"1 60000");
                int(body, made as i32);
                part(body, DELETE);
                text(body, item.as_bytes());
                int(body, 0);
                end(body);
            })?;
            if made % AHEAD == AHEAD / 2 && std::mem::take(&mut is_read) {
                self.answer()?;
            }
            let reply = self.answer()?;
            if int_at(&reply, 0)? == -1 {
                return Err("a transaction was refused".into());
            }
        }
        Ok(())
    }

    fn send_reads(&mut self, items: &[String]) -> io::Result<()> {
        self.send(MULTI_READ, |body| {
            for item in items {
                part(body, GET_DATA);
                text(body, item.as_bytes());
                body.push(0);
            }
            end(body);
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

/// The head of a part of a transaction, and its end.
fn part(to: &mut Vec<u8>, op: i32) {
    int(to, op);
    to.push(0);
    int(to, -1);
}

fn end(to: &mut Vec<u8>) {
    int(to, -1);
    to.push(1);
    int(to, -1);
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

/// A vector of texts.
fn texts(reply: &[u8]) -> Outcome<Vec<String>> {
    let (mut all, mut at) = (Vec::new(), 4);
    for _ in 0..int_at(reply, 0)? {
        let length = int_at(reply, at)? as usize;
        let text = reply.get(at + 4..at + 4 + length).ok_or("the answer is too short")?;
        all.push(String::from_utf8(text.to_vec())?);
        at += 4 + length;
    }
    Ok(all)
}

/// The path that a create answers.
fn created(reply: &[u8]) -> Outcome<String> {
    let length = int_at(reply, 0)? as usize;
    Ok(String::from_utf8(reply.get(4..4 + length).ok_or("the answer is too short")?.to_vec())?)
}
