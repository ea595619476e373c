//! Handshakes, framing, sessions and their end.

use crate::support::Raw;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;
use zkrecipes_embedded::Server;
use zkrecipes_embedded::machine::{Config, Machine, Now, Output};
use zkrecipes_embedded::wire::{Hello, Op, Reader, Welcome, frame_length};

const EPHEMERAL: i32 = 1;

#[test]
fn the_read_only_byte_is_echoed_only_to_those_who_sent_it() {
    let server = Server::start().unwrap();
    for with in [false, true] {
        let mut stream = TcpStream::connect(server.connect_string()).unwrap();
        let read_only = with.then_some(false);
        let hello = Hello { zxid_seen: 0, timeout: 5000, session: 0, password: &[0; 16], read_only };
        stream.write_all(&hello.frame()).unwrap();
        let mut length = [0; 4];
        std::io::Read::read_exact(&mut stream, &mut length).unwrap();
        assert_eq!(frame_length(length, 1 << 20), Ok(if with { 37 } else { 36 }));
    }
}

#[test]
fn timeouts_are_clamped() {
    let server =
        Server::builder().tick(Duration::from_millis(100)).max_session_timeout(Duration::from_secs(3));
    let server = server.start().unwrap();
    let timeout = |asked| Raw::with_timeout(&server.connect_string(), asked).timeout;
    assert_eq!([1, 1500, 9999, -5].map(timeout), [200, 1500, 3000, 200]);
}

#[test]
fn a_wrong_password_or_an_ended_session_gets_zeros_and_the_door() {
    let server = Server::start().unwrap();
    let address = server.connect_string();
    let mut old = Raw::connect(&address);
    let mut refused = Raw::attach(&address, old.session, &[7; 16], 5000, 0).unwrap();
    assert_eq!((refused.timeout, refused.session, &refused.password[..]), (0, 0, &[0u8; 16][..]));
    assert!(refused.is_closed());
    assert!(old.is_closed(), "the old connection goes before the password is looked at");

    let mut back = Raw::attach(&address, old.session, &old.password, 5000, 0).unwrap();
    assert_eq!(back.session, old.session);
    assert_eq!(back.call(Op::CLOSE, |_| {}).err, 0);
    let mut ended = Raw::attach(&address, old.session, &old.password, 5000, 0).unwrap();
    assert_eq!((ended.timeout, ended.session), (0, 0));
    assert!(ended.is_closed());
}

#[test]
fn re_attaching_takes_the_session_over() {
    let server = Server::start().unwrap();
    let address = server.connect_string();
    let mut first = Raw::connect(&address);
    first.create("/e", EPHEMERAL).unwrap();
    first.exists("/e", true).unwrap();
    let mut second = Raw::attach(&address, first.session, &first.password, 5000, 0).unwrap();
    assert!(first.is_closed());
    assert_eq!(server.watch_count(), 0, "watches belong to the connection");
    assert_eq!(second.exists("/e", false).unwrap().ephemeral_owner, first.session);
    assert_eq!(second.delete("/e"), 0);
    assert_eq!(second.events(), []);
}

#[test]
fn a_client_from_the_future_is_sent_away_without_an_answer() {
    let server = Server::start().unwrap();
    let address = server.connect_string();
    let mut raw = Raw::connect(&address);
    assert!(Raw::attach(&address, 0, &[0; 16], 5000, raw.ping().zxid).is_some());
    assert!(Raw::attach(&address, 0, &[0; 16], 5000, server.zxid() + 1).is_none());
}

#[test]
fn frames_pass_up_to_the_limit_and_close_at_it() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    raw.create("/big", 0).unwrap();
    // header 8, path 4 + 4, length 4, version 4
    let room = 1_048_575 - 24;
    assert_eq!(raw.set("/big", &vec![1; room]).unwrap().data_length, room as i32);
    raw.send(Op::SET_DATA, |w| _ = w.string("/big").buffer(Some(&vec![2; room + 1])).int(-1));
    assert!(raw.is_closed());
    let mut raw = Raw::connect(&server.connect_string());
    assert_eq!(raw.exists("/big", false).unwrap().version, 1);
}

#[test]
fn replies_come_in_order_with_pings_among_them() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    let a = raw.send(Op::CREATE, |w| Raw::create_body(w, "/a", b"", 0));
    raw.send(Op::PING, |_| {});
    let b = raw.send(Op::EXISTS, |w| _ = w.string("/a").bool(false));
    let xids: Vec<i32> = (0..3).map(|_| raw.receive().unwrap().xid).collect();
    assert_eq!(xids, [a, -2, b]);
}

#[test]
fn an_unknown_opcode_is_refused_and_ends_the_connection() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    let reply = raw.call(Op(999), |_| {});
    assert_eq!((reply.err, reply.zxid), (-6, -1));
    assert!(raw.is_closed());
}

#[test]
fn closing_tells_its_own_events_then_answers_then_goes_silent() {
    let server = Server::start().unwrap();
    let address = server.connect_string();
    let (mut raw, mut other) = (Raw::connect(&address), Raw::connect(&address));
    for path in ["/a", "/b"] {
        raw.create(path, EPHEMERAL).unwrap();
    }
    raw.exists("/a", true).unwrap();
    other.exists("/a", true).unwrap();
    other.exists("/b", true).unwrap();
    let before = server.zxid();
    let xid = raw.send(Op::CLOSE, |_| {});
    raw.send(Op::EXISTS, |w| _ = w.string("/").bool(false));
    assert_eq!(raw.event().1, "/a");
    let reply = raw.receive().unwrap();
    assert_eq!((reply.xid, reply.err, reply.zxid), (xid, 0, before + 1));
    assert!(raw.is_closed());
    let events = other.events();
    assert_eq!(events, [(2, "/a".to_owned(), before + 1), (2, "/b".to_owned(), before + 1)]);
}

#[test]
fn sessions_expire_with_the_clock_between_timeout_and_one_tick_later() {
    let server = Server::builder().tick(Duration::from_secs(1)).start().unwrap();
    server.freeze_clock();
    let address = server.connect_string();
    let mut raw = Raw::with_timeout(&address, 4000);
    raw.create("/e", EPHEMERAL).unwrap();
    raw.exists("/e", true).unwrap();
    server.advance_clock(Duration::from_millis(3999));
    assert_eq!(server.sessions().len(), 1);
    raw.ping();
    server.advance_clock(Duration::from_millis(3999));
    assert_eq!(server.sessions().len(), 1, "a ping is a sign of life");
    let zxid = server.zxid();
    server.advance_clock(Duration::from_millis(1001));
    assert_eq!(server.sessions(), []);
    assert_eq!(server.zxid(), zxid + 1);
    assert!(server.nodes().is_empty());
    assert!(raw.is_closed(), "expiry sends nothing");
}

#[test]
fn a_restart_gives_sessions_their_whole_timeout_again() {
    let server = Server::builder().tick(Duration::from_secs(1)).start().unwrap();
    server.freeze_clock();
    let raw = Raw::with_timeout(&server.connect_string(), 4000);
    let zxid = server.zxid();
    server.advance_clock(Duration::from_millis(3900));
    server.stop();
    assert!(TcpStream::connect(server.connect_string()).is_err());
    server.advance_clock(Duration::from_secs(3600));
    server.restart().unwrap();
    server.advance_clock(Duration::from_millis(3900));
    assert_eq!((server.sessions(), server.zxid()), (vec![raw.session as u64], zxid));
    server.advance_clock(Duration::from_millis(1100));
    assert_eq!(server.sessions(), []);
}

#[test]
fn session_ids_keep_clear_of_the_reserved_high_byte() {
    let server = Server::start().unwrap();
    let ids: Vec<i64> = (0..3).map(|_| Raw::connect(&server.connect_string()).session).collect();
    assert!(ids.iter().all(|id| (id >> 56) & 0xff == 1), "{ids:x?}");
    assert!(ids.windows(2).all(|w| w[0] < w[1]));
}

#[test]
fn passwords_differ_between_sessions() {
    let server = Server::start().unwrap();
    let (a, b) = (Raw::connect(&server.connect_string()), Raw::connect(&server.connect_string()));
    assert_eq!(a.password.len(), 16);
    assert_ne!(a.password, b.password);
}

/// Both begin with the same number, so that nothing else makes them differ.
#[test]
fn passwords_differ_between_servers() {
    let first = || {
        let server = Server::builder().emulate("raftkeeper").start().unwrap();
        let raw = Raw::connect(&server.connect_string());
        (raw.session, raw.password)
    };
    let (a, b) = (first(), first());
    assert_eq!(a.0, b.0);
    assert_ne!(a.1, b.1);
}

#[test]
fn sync_echoes_its_path_and_ids_are_listed_ip_first() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    assert_eq!(raw.call(Op::SYNC, |w| _ = w.string("/nowhere")).string(), Ok("/nowhere".to_owned()));
    assert_eq!(raw.auth("digest", "ann:secret"), 0);
    let reply = raw.call(Op::WHO_AM_I, |_| {});
    let pair = |r: &mut Reader| Ok((r.string()?.into_owned(), r.string()?.into_owned()));
    let ids = reply.ok(|r| r.vector(pair)).unwrap();
    let expected = [("ip", "127.0.0.1"), ("digest", "ann")];
    assert_eq!(ids, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn sasl_is_refused() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    assert_eq!(raw.call(Op::SASL, |w| _ = w.buffer(Some(b""))).err, -115);
    assert!(raw.is_closed());
}

#[test]
fn nobody_can_work_out_the_password_of_a_session() {
    let server = Server::start().unwrap();
    let raw = Raw::connect(&server.connect_string());
    // Whoever knows the number of a session has a server of their own give it out.
    let config = Config { first_session_id: raw.session, ..Config::default() };
    let mut own = Machine::new(config);
    own.open(1, "127.0.0.1:50000".parse().unwrap());
    let hello = Hello { zxid_seen: 0, timeout: 10_000, session: 0, password: &[0; 16], read_only: None };
    own.frame(1, &hello.frame()[4..], Now::default());
    let answered = own.take_output().into_iter().find_map(|output| match output {
        Output::Send { frame, .. } => Some(frame),
        _ => None,
    });
    let frame = answered.unwrap();
    let welcome = Welcome::read(&frame[4..]).unwrap();
    assert_eq!(welcome.session, raw.session);
    assert_ne!(welcome.password, raw.password);
}
