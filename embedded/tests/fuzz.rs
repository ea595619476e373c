//! Frames that no client sends: nothing panics, nothing hangs, the offender goes and the others stay.

mod support;

use std::io::Write;
use std::time::Duration;
use support::Raw;
use zkrecipes_embedded::machine::{Config, Machine, Now, Output};
use zkrecipes_embedded::wire::{Hello, Op, Writer};
use zkrecipes_embedded::{Fault, Server};

/// splitmix64: small, seeded, and good enough to find trouble.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// `ZKRECIPES_SEED` replays a run.
fn seed() -> u64 {
    let seed = std::env::var("ZKRECIPES_SEED").ok().and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64
    });
    println!("ZKRECIPES_SEED={seed}");
    seed
}

fn opcodes() -> Vec<i32> {
    (-12..30).chain(99..110).chain([i32::MIN, i32::MAX]).collect()
}

/// A body that resembles what the opcode wants, to get past the first checks.
fn plausible(op: i32, random: &mut Random, w: &mut Writer) {
    const PATHS: [&str; 8] = ["/a", "/a/b", "/", "", "a", "/zookeeper", "//", "/\0"];
    let path = PATHS[random.below(PATHS.len())];
    match Op(op) {
        Op::CREATE | Op::CREATE2 | Op::CREATE_CONTAINER => {
            Raw::create_body(w, path, b"x", random.below(9) as i32 - 1)
        }
        Op::CREATE_TTL => {
            Raw::create_body(w, path, b"x", random.below(9) as i32 - 1);
            w.long(random.next() as i64);
        }
        Op::SET_DATA => _ = w.string(path).buffer(None).int(-1),
        Op::SET_ACL => _ = w.string(path).acl(&support::open_acl()).int(-1),
        Op::AUTH => _ = w.int(0).string("digest").buffer(Some(b"u:p")),
        Op::MULTI | Op::MULTI_READ => {
            for _ in 0..random.below(4) {
                let inner = [1, 2, 5, 13, 15, 4, 8, 14][random.below(8)];
                w.int(inner).bool(false).int(-1);
                plausible(inner, random, w);
            }
            w.int(-1).bool(true).int(-1);
        }
        Op::SET_WATCHES | Op::SET_WATCHES2 => {
            w.long(random.next() as i64);
            for _ in 0..5 {
                w.int(1).string(path);
            }
        }
        _ => _ = w.string(path).int(random.below(8) as i32 - 1),
    }
}

/// A request frame, without its length, that has been cut, stretched or scratched.
fn mangled(op: i32, random: &mut Random) -> Vec<u8> {
    let mut w = Writer::request(random.next() as i32, Op(op));
    plausible(op, random, &mut w);
    let mut frame = w.finish().split_off(4);
    match random.below(5) {
        0 => frame.truncate(random.below(frame.len() + 1)),
        1 => frame.extend((0..random.below(40)).map(|n| n as u8)),
        2 | 3 => {
            for _ in 0..1 + random.below(4) {
                let at = random.below(frame.len());
                frame[at] = [0, 0xff, 0x7f, 0x80, random.next() as u8][random.below(5)];
            }
        }
        _ => {}
    }
    frame
}

fn handshake() -> Vec<u8> {
    let hello = Hello { zxid_seen: 0, timeout: 5000, session: 0, password: &[0; 16], read_only: Some(false) };
    hello.frame().split_off(4)
}

#[test]
fn the_machine_survives_a_million_mangled_requests() {
    let rounds = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    let mut random = Random(seed());
    let ops = opcodes();
    let mut machine = Machine::new(Config { extended_types: true, ..Config::default() });
    let peer = "127.0.0.1:1".parse().unwrap();
    let mut closed = 0;
    for conn in 0..rounds {
        let now = Now { mono: Duration::from_millis(conn), wall: conn as i64 };
        machine.open(conn, peer);
        machine.frame(conn, &handshake(), now);
        for _ in 0..1 + random.below(3) {
            machine.frame(conn, &mangled(ops[random.below(ops.len())], &mut random), now);
        }
        machine.settle();
        machine.tick(now);
        closed += machine.take_output().iter().filter(|o| matches!(o, Output::Close { .. })).count();
        machine.closed(conn);
    }
    assert!(closed > rounds as usize / 10, "{closed} offenders were sent away");
    assert!(machine.node_count() < 200_000 && machine.watch_count() == 0);
}

#[test]
fn mangled_handshakes_are_refused_or_answered_but_never_hang() {
    let mut random = Random(seed());
    let server = Server::start().unwrap();
    for _ in 0..500 {
        let mut frame = handshake();
        match random.below(3) {
            0 => frame.truncate(random.below(frame.len())),
            1 => frame[random.below(45)] = random.next() as u8,
            _ => frame[28..32].copy_from_slice(&(random.next() as i32).to_be_bytes()),
        }
        let mut raw = Raw::connect(&server.connect_string());
        let mut stream = std::net::TcpStream::connect(server.connect_string()).unwrap();
        let mut bytes = (frame.len() as i32).to_be_bytes().to_vec();
        bytes.extend(frame);
        stream.write_all(&bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut answer = Vec::new();
        // Reset or end: both are an end.
        if let Err(e) = std::io::Read::read_to_end(&mut stream, &mut answer) {
            assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset);
        }
        raw.ping();
    }
}

#[test]
fn lengths_out_of_range_close_the_connection_and_no_other() {
    let server = Server::start().unwrap();
    let mut other = Raw::connect(&server.connect_string());
    for length in [-1, i32::MIN, i32::MAX, 1 << 20, 0, 7] {
        for greeted in [false, true] {
            let mut raw = Raw::connect(&server.connect_string());
            let mut plain = std::net::TcpStream::connect(server.connect_string()).unwrap();
            plain.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let stream = if greeted { &mut raw.stream } else { &mut plain };
            stream.write_all(&i32::to_be_bytes(length)).unwrap();
            stream.write_all(&[0; 7][..usize::try_from(length).unwrap_or(0).min(7)]).ok();
            let mut rest = Vec::new();
            std::io::Read::read_to_end(stream, &mut rest).ok();
            assert_eq!(rest, [], "length {length}");
            other.ping();
        }
    }
}

#[test]
fn the_socket_and_the_faults_survive_noise_on_every_opcode() {
    let mut random = Random(seed());
    let server = Server::builder().log_limit(1000).start().unwrap();
    server.inject(Fault::delay_reply("*", Duration::ZERO).path("/never/**").forever());
    let mut other = Raw::connect(&server.connect_string());
    for op in opcodes() {
        for _ in 0..10 {
            let mut raw = Raw::connect(&server.connect_string());
            let mut bytes = Vec::new();
            for _ in 0..3 {
                let frame = mangled(op, &mut random);
                bytes.extend((frame.len() as i32).to_be_bytes());
                bytes.extend(frame);
            }
            // It may have been sent away in the middle of it.
            let _ = raw.stream.write_all(&bytes);
            let _ = raw.stream.shutdown(std::net::Shutdown::Write);
            while raw.frame().is_some() {}
        }
        other.ping();
    }
    assert!(server.connections() <= 2);
}

#[test]
fn a_frame_that_never_ends_holds_no_more_than_was_sent() {
    let server = Server::start().unwrap();
    let mut idle: Vec<Raw> = (0..50).map(|_| Raw::connect(&server.connect_string())).collect();
    for raw in &mut idle {
        raw.stream.write_all(&1_000_000i32.to_be_bytes()).unwrap();
        raw.stream.write_all(&[1; 100]).unwrap();
    }
    let mut other = Raw::connect(&server.connect_string());
    other.ping();
    assert_eq!(server.connections(), 51);
}
