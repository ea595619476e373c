//! The machine between callers and servers that do whatever the bytes say: who asks is answered once, who watches is told
//! once at most, and nothing panics.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use zkrecipes_protocol::{
    Event as Told, EventKind, Op, Reply, Request, RequestHead, SubWrite, Welcome, Writer, frame_at,
};

use super::digest_md5::{DigestMd5, DigestStep};
use super::{Answering, Letter, Machine, Output, Phase, Wanted, WatchId, WatchSubject};
use crate::hosts::Server;
use crate::options::{Auth, ClientOptions, SaslOptions};
use crate::session::clock::Moment;

const PATHS: [&str; 4] = ["/", "/a", "/a/b", "/a/c"];
const PASSWORD: [u8; 16] = [7; 16];

/// Who asks; one in sixteen has gone away.
struct Asker(u32);

impl Answering for Asker {
    fn is_forsaken(&self) -> bool {
        self.0 % 16 == 15
    }
}

/// What bytes decide, until there are none.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }

    fn path(&mut self) -> &'static str {
        PATHS[usize::from(self.byte()) % PATHS.len()]
    }

    fn kind(&mut self) -> WatchSubject {
        if self.byte().is_multiple_of(2) { WatchSubject::Data } else { WatchSubject::Children }
    }
}

struct Play {
    machine: Machine<Asker, u32>,
    now: Moment,
    next: u32,
    unanswered: BTreeSet<u32>,
    untold: BTreeSet<u32>,
    /// The watches that may still be there.
    watches: Vec<(WatchSubject, &'static str, u32)>,
    /// What the server has read on this connection, and has not answered.
    read: VecDeque<(i32, Op)>,
    zxid: i64,
}

/// Plays what the bytes say.
pub(crate) fn play(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let kind = choices.byte();
    let mut options = ClientOptions { max_in_flight: 1 + u32::from(kind % 8), ..ClientOptions::default() };
    if kind & 8 > 0 {
        options.auth = vec![Auth::new("digest", "a:b")];
    }
    if kind & 16 > 0 {
        options.sasl = Some(SaslOptions::new("a", "b"));
    }
    options.read_only = kind & 32 > 0;
    let now = Moment(1_000_000_000_000);
    let mut play = Play {
        machine: Machine::new(servers(1 + kind / 64), options, Arc::default(), now),
        now,
        next: 0,
        unanswered: BTreeSet::new(),
        untold: BTreeSet::new(),
        watches: Vec::new(),
        read: VecDeque::new(),
        zxid: 0,
    };
    while !choices.0.is_empty() {
        play.step(&mut choices);
        play.hear();
    }
    play.machine.give_up();
    play.hear();
    // Who is gone needs no answer.
    let mut waiting = play.unanswered.into_iter().filter(|number| !Asker(*number).is_forsaken());
    assert_eq!(waiting.next(), None, "somebody is never answered");
    assert!(play.machine.wake_at().is_none());
}

/// What a server asks who proves a password: lines, each a step of the exchange.
pub(crate) fn challenges(bytes: &[u8]) {
    let mut exchange = DigestMd5::new("a", "b", "c".to_owned());
    for line in bytes.split(|byte| *byte == b'\n') {
        if exchange.step(line) == Ok(DigestStep::Done) {
            assert!(!exchange.has_answered(), "the exchange has ended");
        }
    }
}

fn servers(many: u8) -> Vec<Server> {
    (1..=u16::from(many)).map(|port| Server { host: "zk".to_owned(), port }).collect()
}

impl Play {
    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.byte() % 20 {
            0 => self.pass(Duration::from_millis(u64::from(choices.byte()))),
            1 => self.pass(Duration::from_millis(100 * u64::from(choices.byte()))),
            // As whoever drives it does.
            2 => {
                self.now = self.machine.wake_at().map_or(self.now, |at| at.max(self.now));
                self.pass(Duration::ZERO);
            }
            3 if self.machine.dial().is_some() => {
                self.read.clear();
                self.machine.connected(self.now);
            }
            4 => {
                let session = if choices.byte().is_multiple_of(4) { choices.byte().into() } else { 7 };
                let timeout = if choices.byte().is_multiple_of(4) { choices.byte().into() } else { 10_000 };
                let read_only = Some(choices.byte().is_multiple_of(8));
                let welcome = Welcome { timeout, session, password: &PASSWORD, read_only };
                self.receive(&welcome.frame());
            }
            // An answer in order, as it should be or with any body.
            5..=8 => {
                self.read_all();
                let Some((xid, op)) = self.read.pop_front() else { return };
                let err = [0, 0, 0, -101, -110, -118, -112, -4][usize::from(choices.byte() % 8)];
                let bytes = choices.bytes();
                self.answer(xid, op, err, bytes);
            }
            9 => {
                let xid = i32::from(choices.byte()) - 8;
                let bytes = choices.bytes();
                self.answer(xid, Op::GET_DATA, 0, bytes);
            }
            10 | 11 => {
                self.zxid += 1;
                let kind = EventKind::ALL[usize::from(choices.byte() % 4)];
                self.receive(&Told::frame(kind, choices.path(), self.zxid));
            }
            12 => self.receive(choices.bytes()),
            13 => {
                let (path, number) = (choices.path(), self.number());
                let delete = SubWrite::Delete { path: path.into(), version: -1 };
                let link = self.machine.link().generation;
                let letter = match choices.byte() % 4 {
                    0 => Letter::of(&Request::Write(delete)),
                    1 => Letter::of(&Request::Multi(vec![delete])).on(Some(link)),
                    2 => Letter::of(&Request::Sync { path: path.into() }).on(Some(link)),
                    _ => Letter::of(&Request::GetData { path: path.into(), watch: false }),
                };
                self.machine.request(letter, Asker(number), None, self.now);
            }
            14 => {
                let (path, kind, number) = (choices.path(), choices.kind(), self.number());
                let request = match kind {
                    WatchSubject::Data if choices.byte().is_multiple_of(2) => {
                        Request::Exists { path: path.into(), watch: true }
                    }
                    WatchSubject::Data => Request::GetData { path: path.into(), watch: true },
                    WatchSubject::Children => Request::GetChildren { path: path.into(), watch: true },
                };
                self.untold.insert(number);
                self.watches.push((kind, path, number));
                let wanted = Wanted::new(kind, path, WatchId(number.into()), number);
                self.machine.request(Letter::of(&request), Asker(number), Some(wanted), self.now);
            }
            15 if !self.watches.is_empty() => {
                let at = usize::from(choices.byte()) % self.watches.len();
                let (kind, path, number) = self.watches.swap_remove(at);
                self.machine.unwatch(kind, path, WatchId(number.into()), self.now);
            }
            16 => {
                let path = choices.path();
                if self.machine.follow(path, self.now) {
                    let number = self.next;
                    self.next += 1;
                    self.untold.insert(number);
                    self.machine.hear(path, number);
                }
                if choices.byte().is_multiple_of(2) {
                    self.machine.unfollow(path, self.now);
                }
            }
            17 => self.machine.hung_up("the connection broke", self.now),
            18 => self.machine.update_servers(servers(1 + choices.byte() % 4), self.now),
            19 if choices.byte().is_multiple_of(8) => self.machine.close(self.now),
            _ => {}
        }
    }

    fn number(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        self.unanswered.insert(number);
        number
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.machine.tick(self.now);
    }

    fn receive(&mut self, bytes: &[u8]) {
        // Nobody reads for a connection that is not there.
        if matches!(self.machine.phase, Phase::Greeting | Phase::Proving | Phase::Up) {
            self.machine.received(bytes, self.now);
        }
    }

    /// What the client has sent.
    fn read_all(&mut self) {
        let sent = std::mem::take(self.machine.outgoing());
        let mut rest = &sent[..];
        while let Ok(Some((frame, taken))) = frame_at(rest, usize::MAX) {
            rest = &rest[taken..];
            // A hello has no head, and is answered by a welcome.
            self.read.extend(RequestHead::split(frame).ok().map(|(head, _)| (head.xid, head.op)));
        }
        assert!(rest.is_empty(), "it sends whole frames");
    }

    fn answer(&mut self, xid: i32, op: Op, err: i32, body: &[u8]) {
        self.zxid += 1;
        let mut frame = Writer::reply(xid, self.zxid, err);
        if err == 0 {
            match op {
                Op::GET_DATA => Reply::Data { data: Some(body.into()), stat: Default::default() },
                Op::EXISTS => Reply::Stat(Default::default()),
                Op::GET_CHILDREN => Reply::Names(vec!["b".into()]),
                Op::SYNC => Reply::Path("/".into()),
                Op::MULTI => Reply::Writes(Vec::new()),
                Op::ADD_WATCH => Reply::Count(0),
                Op::SASL => Reply::Token(Some(body.into())),
                _ => Reply::Nothing,
            }
            .write(&mut frame);
        }
        self.receive(&frame.finish());
    }

    fn hear(&mut self) {
        let under_way = self.machine.in_flight.iter().chain(&self.machine.queued);
        let watching = under_way.filter(|asked| asked.watch.is_some()).count();
        assert_eq!(
            self.machine.asked_watches.len(),
            watching,
            "of each request that sets a watch it is known"
        );
        for output in self.machine.outputs() {
            match output {
                Output::Answered(Asker(number), _) => {
                    assert!(self.unanswered.remove(&number), "{number} is answered again");
                }
                Output::Told(number, _) => assert!(self.untold.remove(&number), "{number} is told again"),
                Output::Failed(..) => {}
            }
        }
    }
}
