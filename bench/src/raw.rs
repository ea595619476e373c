//! The floor: one blocking socket that speaks ZooKeeper's protocol, with nothing around it. What a recipe has to send cannot
//! cost less than these requests do.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{Read, Write, stdin};
use std::net::TcpStream;

use zkrecipes_protocol::{
    Acl, Code, CreateArgs, Event, EventKind, Hello, Op, Reader, Reply, ReplyHead, Request, SubRead, SubWrite,
    WriteResult, Writer, XID_EVENT, frame_at,
};

use crate::line::{Answer, Order, done, list, now, say};

/// How many items are read in one request.
const AHEAD: usize = 8;
/// What a server answers is shorter.
const LONGEST: usize = 64 << 20;
const DATA: [u8; 100] = [b'x'; 100];

#[derive(Copy, Clone)]
enum Mode {
    Persistent = 0,
    Ephemeral = 1,
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
        "turns" => take_turns(order, &mut socket, connect),
        _ => perform(order, &mut socket),
    };
    socket.close();
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
                let (path, data) = (order.path().into(), Some(&b"bench"[..]));
                socket.call(&Request::Write(SubWrite::SetData { path, data, version: -1 }))?;
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
                socket.send_create(&prefix, &DATA, Mode::PersistentSequential);
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
    let reply = socket.call(&Request::GetChildren { path: order.path().into(), watch: false })?;
    let Reply::Names(names) = read(Op::GET_CHILDREN, &reply)? else { return Err("no list".into()) };
    let mut names: Vec<_> = names.into_iter().map(String::from).collect();
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
        consumer.close();
    }
    Ok(Some(format!("took={took}")))
}

/// What contenders send that queue again, each in a thread and a session of its own: who hears that the node of the one
/// before has gone deletes its own and makes it again. The names are known, so that nobody has to list.
fn take_turns(order: &Order, socket: &mut Socket, connect: impl Fn() -> Outcome<Socket>) -> Answer {
    let (count, times) = (order.number("sockets"), order.number("times"));
    socket.ensure(order.path())?;
    let name = |nth: usize| format!("{}/{}", order.path(), nth % count);
    let mut contenders = Vec::new();
    for nth in 0..count {
        let mut contender = connect()?;
        contender.create(&name(nth), b"bench", Mode::Ephemeral)?;
        contenders.push((contender, name(nth), name(nth + count - 1)));
    }
    // Who begins hears of nobody the first time; its predecessor is there until everybody had a turn.
    for (contender, _, before) in contenders.iter_mut().skip(1) {
        contender.watch(before)?;
    }
    let begun = now();
    std::thread::scope(|scope| {
        let turns: Vec<_> = contenders
            .iter_mut()
            .enumerate()
            .map(|(nth, (contender, own, before))| {
                scope.spawn(move || {
                    contender.turns(own, before, times, nth == 0).map_err(|error| error.to_string())
                })
            })
            .collect();
        turns.into_iter().try_for_each(|turns| turns.join().expect("a contender does not panic"))
    })?;
    let took = now() - begun;
    for (mut contender, ..) in contenders {
        contender.close();
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
        socket.send_create(&prefix, b"bench", Mode::EphemeralSequential);
        if number > 0 {
            socket.answer()?;
        }
        let node = created(&socket.answer()?)?;
        socket.send_delete(&node);
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
        socket.send_create(&prefixes[begun_pairs % paths], b"bench", Mode::EphemeralSequential);
        flights.push_back((begun_pairs % paths, true));
        begun_pairs += 1;
    }
    while ended < pairs {
        let reply = socket.answer()?;
        let (path, made) = flights.pop_front().expect("as many as there are answers");
        if made {
            socket.send_delete(&created(&reply)?);
            flights.push_back((path, false));
        } else {
            ended += 1;
            if begun_pairs < pairs {
                socket.send_create(&prefixes[path], b"bench", Mode::EphemeralSequential);
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
    /// What watches have told.
    events: Vec<EventKind>,
}

impl Socket {
    fn connect(host: &str, milliseconds: u64) -> Outcome<Socket> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        let mut socket =
            Socket { stream, out: Vec::new(), read: Vec::new(), at: 0, xid: 0, events: Vec::new() };
        let timeout = milliseconds as i32;
        let hello = Hello { zxid_seen: 0, timeout, session: 0, password: &[0; 16], read_only: Some(false) };
        socket.out.extend(hello.frame());
        socket.frame()?;
        Ok(socket)
    }

    fn send(&mut self, request: &Request) {
        self.xid += 1;
        let mut frame = Writer::request(self.xid, request.op());
        request.write(&mut frame);
        self.out.extend(frame.finish());
    }

    /// The next answer: what comes behind its head. Whatever was sent before leaves first, in one write.
    fn answer(&mut self) -> Outcome<Vec<u8>> {
        let mut frame = self.frame()?;
        while self.note_event(&frame)? {
            frame = self.frame()?;
        }
        let mut r = Reader::new(&frame);
        match ReplyHead::read(&mut r).map_err(|_| UNREADABLE)?.err {
            0 => Ok(r.rest().to_vec()),
            code => Err(Refusal(code).into()),
        }
    }

    fn frame(&mut self) -> Outcome<Vec<u8>> {
        // While answers are here already, requests gather.
        loop {
            let whole = frame_at(&self.read[self.at..], LONGEST).map_err(|_| UNREADABLE)?;
            if let Some((frame, taken)) = whole {
                let frame = frame.to_vec();
                self.at += taken;
                return Ok(frame);
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

    /// A server may hang up before it has answered that.
    fn close(&mut self) {
        let _ = self.call(&Request::Close);
    }

    fn call(&mut self, request: &Request) -> Outcome<Vec<u8>> {
        self.send(request);
        self.answer()
    }

    fn send_create(&mut self, path: &str, data: &[u8], mode: Mode) {
        // Everybody may do everything.
        let acl = vec![Acl { perms: 31, scheme: "world".into(), id: "anyone".into() }];
        let (path, data, flags) = (path.into(), Some(data), mode as i32);
        self.send(&Request::Write(SubWrite::Create(CreateArgs {
            op: Op::CREATE,
            path,
            data,
            acl,
            flags,
            ttl: -1,
        })));
    }

    fn send_delete(&mut self, path: &str) {
        self.send(&Request::Write(SubWrite::Delete { path: path.into(), version: -1 }));
    }

    /// So many turns, each when the one before has let go.
    fn turns(&mut self, own: &str, before: &str, times: usize, is_first: bool) -> Outcome<()> {
        for turn in 0..times {
            if turn > 0 || !is_first {
                self.event(EventKind::Deleted)?;
            }
            // Asked for ahead of the deletion: afterwards it may have gone and come again.
            self.send(&Request::Exists { path: before.into(), watch: true });
            self.send_delete(own);
            self.send_create(own, b"bench", Mode::Ephemeral);
            let is_there = self.is_there()?;
            self.answer()?;
            self.answer()?;
            if !is_there {
                self.event(EventKind::Created)?;
                self.watch(before)?;
            }
        }
        Ok(())
    }

    fn watch(&mut self, path: &str) -> Outcome<()> {
        self.send(&Request::Exists { path: path.into(), watch: true });
        self.is_there().map(drop)
    }

    fn is_there(&mut self) -> Outcome<bool> {
        match self.answer() {
            Ok(_) => Ok(true),
            Err(error) if error.downcast_ref() == Some(&Refusal(Code::NoNode as i32)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The next event, if none has come with an answer.
    fn event(&mut self, kind: EventKind) -> Outcome<()> {
        while !self.events.contains(&kind) {
            let frame = self.frame()?;
            self.note_event(&frame)?;
        }
        self.events.retain(|event| *event != kind);
        Ok(())
    }

    /// Whether it is an event: what is no answer.
    fn note_event(&mut self, frame: &[u8]) -> Outcome<bool> {
        let mut r = Reader::new(frame);
        if ReplyHead::read(&mut r).map_err(|_| UNREADABLE)?.xid != XID_EVENT {
            return Ok(false);
        }
        self.events.extend(Event::read(&mut r).map_err(|_| UNREADABLE)?.kind);
        Ok(true)
    }

    /// Takes these items, one after the other.
    fn take(&mut self, mark: &str, items: &[String]) -> Outcome<()> {
        let mut parts = items.chunks(AHEAD);
        let mut is_read = false;
        if let Some(first) = parts.next() {
            self.send_reads(first);
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
                self.send_reads(next);
                is_read = true;
            }
            self.send(&Request::Multi(vec![
                SubWrite::SetData { path: mark.into(), data: Some(b"1 60000"), version: made as i32 },
                SubWrite::Delete { path: item.into(), version: 0 },
            ]));
            if made % AHEAD == AHEAD / 2 && std::mem::take(&mut is_read) {
                self.answer()?;
            }
            let reply = self.answer()?;
            match read(Op::MULTI, &reply)? {
                Reply::Writes(results) if !matches!(results[..], [WriteResult::Failed(_), ..]) => {}
                _ => return Err("a transaction was refused".into()),
            }
        }
        Ok(())
    }

    fn send_reads(&mut self, items: &[String]) {
        let reads = items.iter().map(|item| SubRead::GetData { path: item.into(), watch: false });
        self.send(&Request::MultiRead(reads.collect()));
    }

    fn create(&mut self, path: &str, data: &[u8], mode: Mode) -> Outcome<String> {
        self.send_create(path, data, mode);
        created(&self.answer()?)
    }

    fn delete(&mut self, path: &str) -> Outcome<()> {
        self.send_delete(path);
        self.answer().map(drop)
    }

    fn ensure(&mut self, path: &str) -> Outcome<()> {
        for (at, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            match self.create(&path[..at], b"", Mode::Persistent) {
                Err(error) if error.downcast_ref() != Some(&Refusal(Code::NodeExists as i32)) => {
                    return Err(error);
                }
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

const UNREADABLE: &str = "the answer cannot be read";

fn read(op: Op, reply: &[u8]) -> Outcome<Reply<'_>> {
    Reply::read(op, &mut Reader::new(reply)).map_err(|_| UNREADABLE.into())
}

/// The path that a create answers.
fn created(reply: &[u8]) -> Outcome<String> {
    match read(Op::CREATE, reply)? {
        Reply::Path(path) => Ok(path.into_owned()),
        _ => Err(UNREADABLE.into()),
    }
}
