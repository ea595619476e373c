//! The machine without sockets and without a clock: hours pass at once, and one seed is one history.

mod support;

use std::time::Duration;
use support::Raw;
use zkrecipes_embedded::machine::{Cluster, Config, ConnId, Kind, Machine, Now, Output};
use zkrecipes_embedded::wire::{Hello, Op, ReplyHead, Writer};

fn at(ms: u64) -> Now {
    Now { mono: Duration::from_millis(ms), wall: 1_700_000_000_000 + ms as i64 }
}

fn frame(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::frame();
    write(&mut w);
    w.finish().split_off(4)
}

fn hello(timeout: i32) -> Vec<u8> {
    let hello = Hello { zxid_seen: 0, timeout, session: 0, password: &[0; 16], read_only: None };
    hello.frame().split_off(4)
}

fn create(xid: i32, path: &str, flags: i32) -> Vec<u8> {
    frame(|w| {
        w.int(xid).int(Op::CREATE.0);
        Raw::create_body(w, path, b"", flags);
    })
}

fn exists(xid: i32, path: &str, watch: bool) -> Vec<u8> {
    frame(|w| _ = w.int(xid).int(Op::EXISTS.0).string(path).bool(watch))
}

/// xids and errors of what a connection was sent.
fn sent(out: &[Output], to: ConnId) -> Vec<(i32, i32)> {
    let of = |o: &Output| match o {
        Output::Send { conn, kind: Kind::Reply | Kind::Event, frame } if *conn == to => ReplyHead::of(frame),
        _ => None,
    };
    out.iter().filter_map(of).map(|head| (head.xid, head.err)).collect()
}

#[test]
fn a_session_expires_when_the_caller_says_so_and_not_before() {
    let mut machine = Machine::new(Config::default());
    for conn in [1, 2] {
        machine.open(conn, "127.0.0.1:1".parse().unwrap());
    }
    machine.frame(1, &hello(10_000), at(0));
    machine.frame(2, &hello(60_000), at(0));
    machine.frame(1, &create(1, "/e", 1), at(0));
    machine.frame(2, &exists(1, "/e", true), at(0));
    machine.take_output();
    let deadline = machine.next_deadline().unwrap();
    assert!((10_000..=10_500).contains(&deadline.as_millis()), "{deadline:?}");
    machine.tick(Now { mono: deadline - Duration::from_millis(1), wall: 0 });
    assert_eq!(machine.take_output(), []);
    machine.tick(Now { mono: deadline, wall: 0 });
    let out = machine.take_output();
    assert!(out.contains(&Output::Close { conn: 1 }));
    assert_eq!((sent(&out, 1), sent(&out, 2)), (vec![], vec![(-1, 0)]));
    assert_eq!((machine.sessions().len(), machine.paths().len()), (1, 0));
}

#[test]
fn an_ensemble_lags_by_the_callers_clock() {
    let mut cluster = Cluster::new(Machine::new(Config::default()), 3);
    let mut out = Vec::new();
    for conn in [0, 1] {
        assert!(cluster.open(conn, "127.0.0.1:1".parse().unwrap(), conn as usize));
        cluster.frame(conn, &hello(60_000), at(0));
    }
    cluster.drain_output_into(&mut out, at(0));
    cluster.set_lag(1, Duration::from_secs(3), at(0));
    out.clear();
    cluster.frame(0, &create(1, "/x", 0), at(1000));
    cluster.frame(1, &exists(1, "/x", false), at(1000));
    cluster.drain_output_into(&mut out, at(1000));
    assert_eq!((sent(&out, 0), sent(&out, 1)), (vec![(1, 0)], vec![(1, -101)]));
    assert_eq!(cluster.next_deadline().map(|t| t.as_millis() <= 4000), Some(true));
    cluster.tick(at(4000));
    out.clear();
    cluster.frame(1, &exists(2, "/x", false), at(4000));
    cluster.drain_output_into(&mut out, at(4000));
    assert_eq!(sent(&out, 1), [(2, 0)]);
}

#[test]
fn the_same_inputs_always_give_the_same_outputs() {
    let history = |seed: u64| {
        let mut machine = Machine::new(Config::default());
        let (mut state, mut out) = (seed, Vec::new());
        for conn in 0..10 {
            machine.open(conn, "127.0.0.1:1".parse().unwrap());
            machine.frame(conn, &hello(5000), at(0));
        }
        for step in 0..5000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (conn, path) = ((state >> 33) % 10, format!("/n{}", (state >> 40) % 7));
            let now = at(step * 3);
            match (state >> 50) % 3 {
                0 => machine.frame(conn, &create(step as i32, &path, 1), now),
                1 => machine.frame(conn, &exists(step as i32, &path, true), now),
                _ => {
                    let delete =
                        |w: &mut Writer| _ = w.int(step as i32).int(Op::DELETE.0).string(&path).int(-1);
                    machine.frame(conn, &frame(delete), now);
                }
            }
            machine.tick(now);
            machine.drain_output_into(&mut out);
        }
        (out, machine.save())
    };
    assert!(history(1) == history(1));
    assert!(history(1) != history(2));
}
