//! The same random operations to two servers: replies, stats, events, their order and all zxids must agree.
//!
//! With `ZKRECIPES_REAL=HOST:PORT` the embedded server is compared with that one, which must be fresh and nobody
//! else's; without it, with a follower of an embedded ensemble, which must not be told apart from a server on its own.
//!
//! | variable | meaning |
//! |---|---|
//! | `ZKRECIPES_REAL` | address of a fresh real server (extended types on, container check off, tick 300 ms) |
//! | `ZKRECIPES_EMULATE` | what the embedded server is to be, default 3.9 |
//! | `ZKRECIPES_OPS` | how many operations, default 5,000 |
//! | `ZKRECIPES_SEED` | replays a run |

mod calls;
mod readings;
#[path = "../support/mod.rs"]
mod support;

use calls::{Call, Random, random_call};
use readings::{Reading, read_all};
use std::time::{Duration, Instant};
use support::Raw;
use zkrecipes_embedded::Server;
use zkrecipes_embedded::wire::{Op, Writer};

const SESSIONS: usize = 3;
/// Short, so that expiry does not take long; each step touches all sessions.
const TIMEOUT: i32 = 3000;

/// One of the two servers, with a client's view of it.
struct Side {
    address: String,
    conns: Vec<Raw>,
    /// What this server's zxids are counted from.
    base: i64,
    /// Session ids in the order of their birth: the same place means the same session.
    births: Vec<i64>,
}

impl Side {
    fn new(address: String) -> Side {
        let mut side = Side { address, conns: Vec::new(), base: 0, births: Vec::new() };
        let mut probe = Raw::with_timeout(&side.address, TIMEOUT);
        side.base = probe.ping().zxid;
        assert_eq!(probe.call(Op::CLOSE, |_| {}).err, 0);
        for at in 0..SESSIONS {
            side.connect(at);
        }
        side
    }

    /// A new session in a place.
    fn connect(&mut self, at: usize) {
        let raw = Raw::with_timeout(&self.address, TIMEOUT);
        self.births.push(raw.session);
        if at < self.conns.len() { self.conns[at] = raw } else { self.conns.push(raw) }
    }

    /// Sends a burst in one write, and reads what comes of it on every connection.
    fn run(&mut self, at: usize, burst: &[Call]) -> Vec<Vec<Reading>> {
        let mut bytes = Vec::new();
        for (n, call) in burst.iter().enumerate() {
            let mut w = Writer::frame();
            w.int(call.xid(n)).int(call.op.0);
            call.encode(&mut w, self.base);
            bytes.extend(w.finish());
        }
        std::io::Write::write_all(&mut self.conns[at].stream, &bytes).expect("the server takes requests");
        let order = (at..SESSIONS).chain(0..at);
        let mut heard: Vec<(usize, Vec<Reading>)> = order
            .map(|i| {
                let asked = if i == at { burst } else { &[] };
                (i, read_all(&mut self.conns[i], asked, self.base, &self.births))
            })
            .collect();
        heard.sort_by_key(|(i, _)| *i);
        heard.into_iter().map(|(_, readings)| readings).collect()
    }

    /// What all connections but one have been told.
    fn others(&mut self, but: usize) -> Vec<Vec<Reading>> {
        let mut heard = Vec::new();
        for (i, raw) in self.conns.iter_mut().enumerate().filter(|(i, _)| *i != but) {
            let mut readings = read_all(raw, &[], self.base, &self.births);
            // A session's nodes go in no particular order.
            readings.sort_unstable();
            heard.push(readings);
            assert!(i < SESSIONS);
        }
        heard
    }

    /// Ends a session: by closing it, or by silence until it expires.
    fn end(&mut self, at: usize, politely: bool) -> Vec<Vec<Reading>> {
        if politely {
            self.conns[at].send(Op::CLOSE, |_| {});
            let mut own = Vec::new();
            while let Some(reply) = self.conns[at].receive() {
                own.push(Reading::event_or_reply(&reply, self.base));
            }
            own.sort_unstable();
            let mut heard = self.others(at);
            heard.push(own);
            return heard;
        }
        let before: Vec<i64> =
            (0..SESSIONS).filter(|i| *i != at).map(|i| self.conns[i].ping().zxid).collect();
        self.conns[at].stream.shutdown(std::net::Shutdown::Both).expect("a connection to break");
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            // Only looks: events stay in their sockets until they are compared.
            let zxid = Raw::probe(&self.address);
            if zxid > before[0] {
                assert_eq!(zxid, before[0] + 1, "expiry takes one zxid");
                return self.others(at);
            }
            assert!(Instant::now() < deadline, "the session never expired");
            self.keep_alive(at);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Touches the other sessions; nothing can have happened yet that they would be told.
    fn keep_alive(&mut self, but: usize) {
        for i in (0..SESSIONS).filter(|i| *i != but) {
            self.conns[i].send_unnumbered(Op::PING);
        }
    }
}

fn env<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn the_same_operations_have_the_same_outcome() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed: u64 = env("ZKRECIPES_SEED", now.as_nanos() as u64);
    let ops: usize = env("ZKRECIPES_OPS", 5_000);
    let emulate: String = env("ZKRECIPES_EMULATE", "3.9".to_owned());
    let builder = || {
        let builder = Server::builder().tick(Duration::from_millis(300)).emulate(&emulate);
        builder.extended_types(true).reap_every(Duration::from_secs(86_400))
    };
    let (ours, twin) = (builder().start().unwrap(), builder().start_ensemble(3).unwrap());
    let real: String = env("ZKRECIPES_REAL", twin.member(1).expect("a follower"));
    println!("ZKRECIPES_SEED={seed} ZKRECIPES_OPS={ops} against {real}");
    let mut sides = [Side::new(ours.connect_string()), Side::new(real)];
    let mut random = Random { state: seed, one_mode_a_path: emulate.starts_with("3.8") };
    let (mut done, mut bursts, mut ends) = (0, 0, 0);
    while done < ops {
        let at = random.below(SESSIONS);
        bursts += 1;
        if random.below(400) == 0 {
            let politely = random.below(4) != 0;
            // Both at once: waiting for one would let the other's sessions expire.
            let [a, b] = std::thread::scope(|scope| {
                let ending = sides.each_mut().map(|side| scope.spawn(move || side.end(at, politely)));
                ending.map(|thread| thread.join().expect("a session to end"))
            });
            assert_eq!(a, b, "after {done} operations a session ended, politely: {politely}; seed {seed}");
            sides.iter_mut().for_each(|side| side.connect(at));
            (done, ends) = (done + 1, ends + 1);
            continue;
        }
        let length = if random.below(3) == 0 { 1 + random.below(30) } else { 1 };
        let burst = calls::burst(length, || random_call(&mut random));
        let [a, b] = sides.each_mut().map(|side| side.run(at, &burst));
        if std::env::var_os("TRACE").is_some() {
            for (n, c) in burst.iter().enumerate() {
                eprintln!("T{done} s{at} {} {c}", c.xid(n));
            }
            for (i, r) in b.iter().enumerate() {
                for r in r {
                    eprintln!("T{done}   ->{i} {r:?}");
                }
            }
        }
        if a != b {
            for (i, (a, b)) in a.iter().zip(&b).enumerate() {
                let first = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
                println!("session {i}: ours {:#?}\nreal {:#?}", a.get(first), b.get(first));
            }
            let asked: Vec<String> =
                burst.iter().enumerate().map(|(n, c)| format!("{} {c}", c.xid(n))).collect();
            panic!("after {done} operations, session {at} asked {asked:#?}; seed {seed}");
        }
        done += burst.len();
    }
    println!("{done} operations in {bursts} bursts, {ends} sessions ended, 0 differences");
}
