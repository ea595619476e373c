//! Faults, the request log, and the switches of a server.

mod support;

use std::time::{Duration, Instant};
use support::Raw;
use zkrecipes_embedded::wire::{Op, Writer};
use zkrecipes_embedded::{Fault, Outcome, Server};

const MS: Duration = Duration::from_millis(1);
const SOON: Duration = Duration::from_secs(10);

fn start() -> (Server, Raw) {
    let server = Server::start().unwrap();
    let raw = Raw::connect(&server.connect_string());
    (server, raw)
}

#[test]
fn a_lost_request_leaves_nothing_and_a_lost_answer_leaves_the_node() {
    let (server, mut raw) = start();
    let before = server.inject(Fault::drop_before("create"));
    let answered = raw.send(Op::EXISTS, |w| _ = w.string("/").bool(false));
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/a", b"", 0));
    assert_eq!(raw.receive().unwrap().xid, answered, "earlier answers still arrive");
    assert!(raw.is_closed() && server.fault_fired(before));
    assert_eq!(server.nodes(), Vec::<String>::new());

    let mut raw = Raw::attach(&server.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
    let after = server.inject(Fault::drop_after("create"));
    assert!(!server.fault_fired(after));
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/a", b"", 0));
    assert!(raw.is_closed() && server.fault_fired(after));
    assert_eq!(server.nodes(), ["/a"]);

    let log = server.log();
    let fates: Vec<Outcome> = log.iter().filter(|e| e.op == "create").map(|e| e.outcome).collect();
    assert_eq!(fates, [Outcome::Lost, Outcome::Unanswered]);
    assert_eq!(server.count("create", "**"), 1, "what was lost never reached the server");
}

#[test]
fn requests_behind_a_dropped_one_are_not_handled() {
    let (server, mut raw) = start();
    server.inject(Fault::drop_after("create").path("/a"));
    let mut burst = Vec::new();
    for path in ["/a", "/b"] {
        let mut w = Writer::request(1, Op::CREATE);
        Raw::create_body(&mut w, path, b"", 0);
        burst.extend(w.finish());
    }
    std::io::Write::write_all(&mut raw.stream, &burst).unwrap();
    assert!(raw.is_closed());
    assert_eq!(server.nodes(), ["/a"]);
}

#[test]
fn delays_keep_the_order() {
    let (server, mut raw) = start();
    raw.create("/a", 0).unwrap();
    for fault in [Fault::delay_request("exists", 50 * MS), Fault::delay_reply("exists", 50 * MS)] {
        let id = server.inject(fault);
        let began = Instant::now();
        let xids = [
            raw.send(Op::EXISTS, |w| _ = w.string("/a").bool(true)),
            raw.send(Op::SYNC, |w| _ = w.string("/a")),
            raw.send(Op::PING, |_| {}),
        ];
        assert_eq!([0; 3].map(|_| raw.receive().unwrap().xid), xids);
        assert!(began.elapsed() >= 50 * MS && server.fault_fired(id));
    }
}

#[test]
fn the_connection_breaks_after_an_event() {
    let (server, mut raw) = start();
    let mut other = Raw::connect(&server.connect_string());
    raw.exists("/x", true).unwrap_err();
    raw.exists("/a", true).unwrap_err();
    let id = server.inject(Fault::drop_after_event().path("/a"));
    other.create("/x", 0).unwrap();
    other.create("/a", 0).unwrap();
    assert_eq!((raw.event().1, raw.event().1), ("/x".to_owned(), "/a".to_owned()));
    assert!(raw.is_closed() && server.fault_fired(id));
    other.ping();
}

#[test]
fn a_request_can_be_told_its_session_expired() {
    let (server, mut raw) = start();
    server.inject(Fault::answer_expired("create").session(raw.session as u64));
    assert_eq!(raw.create("/a", 0), Err(-112));
    assert_eq!((server.nodes().len(), server.sessions().len()), (0, 1));
    assert_eq!(raw.create("/a", 0), Ok("/a".to_owned()));
}

#[test]
fn connections_are_refused_then_accepted() {
    let server = Server::start().unwrap();
    server.inject(Fault::refuse_connections(2));
    let outcomes = [0; 3].map(|_| Raw::attach(&server.connect_string(), 0, &[0; 16], 5000, 0).is_some());
    assert_eq!(outcomes, [false, false, true]);
}

#[test]
fn handshakes_stall_and_pings_vanish() {
    let (server, mut raw) = start();
    server.inject(Fault::stall_connections(60 * MS));
    let began = Instant::now();
    Raw::connect(&server.connect_string());
    assert!(began.elapsed() >= 60 * MS);
    server.inject(Fault::swallow_pings(Duration::from_secs(60)));
    raw.send(Op::PING, |_| {});
    let xid = raw.send(Op::SYNC, |w| _ = w.string("/"));
    assert_eq!(raw.receive().unwrap().xid, xid, "the ping's answer never comes");
    server.clear_faults();
    raw.ping();
}

#[test]
fn black_holes_swallow_one_way_or_both() {
    let (server, mut raw) = start();
    let mut other = Raw::connect(&server.connect_string());
    server.inject(Fault::black_hole_requests().session(raw.session as u64));
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/lost", b"", 0));
    assert!(server.wait_for(|e| e.path == "/lost" && e.outcome == Outcome::Lost, SOON));
    server.clear_faults();
    assert!(raw.is_closed(), "it cannot go on in the middle");
    other.ping();
    let mut raw = Raw::attach(&server.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
    server.inject(Fault::black_hole_replies().session(raw.session as u64));
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/kept", b"", 0));
    assert!(server.wait_for(|e| e.path == "/kept", SOON));
    server.clear_faults();
    assert!(raw.is_closed());
    other.ping();
    assert_eq!(server.nodes(), ["/kept"]);
}

#[test]
fn a_black_hole_that_ends_by_itself_breaks_what_it_took_from() {
    // Each lasts long enough for a request to come in time; so all at once.
    std::thread::scope(|scope| {
        for fault in [Fault::black_hole(), Fault::black_hole_requests(), Fault::black_hole_replies()] {
            scope.spawn(move || {
                let (server, mut raw) = start();
                let mut idle = Raw::connect(&server.connect_string());
                server.inject(fault.lasting(1000 * MS));
                raw.send(Op::SYNC, |w| _ = w.string("/"));
                assert!(raw.is_closed());
                assert_eq!(server.connections(), 1);
                idle.ping();
                Raw::attach(&server.connect_string(), raw.session, &raw.password, 5000, 0).unwrap().ping();
            });
        }
    });
}

#[test]
fn a_handshake_can_be_told_that_it_comes_too_late() {
    let (server, raw) = start();
    server.inject(Fault::answer_expired("connect"));
    let mut back = Raw::attach(&server.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
    assert_eq!((back.session, back.timeout, &back.password[..]), (0, 0, &[0; 16][..]));
    assert!(back.is_closed());
    assert_eq!(server.sessions(), [raw.session as u64], "the session itself lives on");
    let back = Raw::attach(&server.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
    assert_eq!(back.session, raw.session);
}

#[test]
fn nobody_takes_the_port_of_a_stopped_server() {
    let server = Server::start().unwrap();
    let address = server.connect_string();
    for _ in 0..20 {
        let mut raw = Raw::connect(&address);
        server.stop();
        assert!(raw.is_closed());
        assert!(std::net::TcpStream::connect(&address).is_err());
        assert!(std::net::TcpListener::bind(&address).is_err(), "the port is kept");
        assert!(Server::builder().port(server.port()).start().is_err());
        server.restart().unwrap();
    }
    Raw::connect(&address).ping();
}

#[test]
fn the_kth_request_is_hit_whatever_it_is() {
    for k in 1..=3 {
        let (server, mut raw) = start();
        server.inject(Fault::drop_before("*").request_number(k));
        let mut answered = 0;
        raw.ping();
        for _ in 0..3 {
            raw.send(Op::SYNC, |w| _ = w.string("/"));
            match raw.receive() {
                Some(_) => answered += 1,
                None => break,
            }
        }
        assert_eq!(answered, k - 1);
    }
}

#[test]
fn a_paused_server_keeps_connections_and_answers_later() {
    let (server, mut raw) = start();
    server.pause();
    raw.send(Op::SYNC, |w| _ = w.string("/"));
    let mut late = Vec::new();
    std::thread::scope(|scope| {
        let newcomer = scope.spawn(|| Raw::connect(&server.connect_string()));
        raw.stream.set_read_timeout(Some(50 * MS)).unwrap();
        assert!(raw.receive().is_none(), "nothing comes");
        raw.stream.set_read_timeout(Some(SOON)).unwrap();
        server.resume();
        late.push(newcomer.join().unwrap());
    });
    assert_eq!(raw.receive().unwrap().err, 0);
    assert_eq!(server.sessions().len(), 2);
}

#[test]
fn sessions_whose_time_came_during_a_pause_expire_first() {
    let server = Server::builder().tick(50 * MS).start().unwrap();
    server.freeze_clock();
    let mut raw = Raw::with_timeout(&server.connect_string(), 500);
    server.pause();
    server.advance_clock(Duration::from_secs(1));
    assert_eq!(server.sessions().len(), 1, "a paused server does nothing");
    raw.send(Op::PING, |_| {});
    server.resume();
    assert!(raw.is_closed());
    assert_eq!(server.sessions(), []);
}

#[test]
fn a_thawed_clock_goes_on_from_where_it_stood() {
    let server = Server::builder().tick(10 * MS).min_session_timeout(20 * MS).start().unwrap();
    server.freeze_clock();
    let _raw = Raw::with_timeout(&server.connect_string(), 30);
    std::thread::sleep(60 * MS);
    assert_eq!(server.sessions().len(), 1);
    server.thaw_clock();
    let deadline = Instant::now() + SOON;
    while !server.sessions().is_empty() {
        assert!(Instant::now() < deadline, "the session never expired");
        std::thread::sleep(MS);
    }
}

#[test]
fn the_log_tells_who_asked_what_and_what_came_of_it() {
    let (server, mut raw) = start();
    raw.create("/a", 0).unwrap();
    raw.create("/a", 0).unwrap_err();
    raw.ping();
    let log = server.log();
    let brief: Vec<_> = log.iter().map(|e| (e.op, e.path.as_str(), e.error)).collect();
    assert_eq!(brief, [("connect", "", 0), ("create", "/a", 0), ("create", "/a", -110), ("ping", "", 0)]);
    assert!(log.iter().all(|e| e.session_id == raw.session as u64 && e.connection == log[0].connection));
    assert_eq!((log[1].zxid, log[2].zxid, log[1].xid, log[3].xid), (2, 3, 1, -2));
    assert_eq!((log[1].bytes_in, log[1].bytes_out), (53, 26));
    assert_eq!(
        (server.count("*", "**"), server.count("create", "/*"), server.count("delete|create", "/b")),
        (2, 2, 0)
    );
    server.clear_log();
    assert_eq!(server.log(), []);
}

#[test]
fn waiting_for_a_request_ends_when_it_comes_or_in_time() {
    let (server, mut raw) = start();
    assert!(!server.wait_for(|e| e.op == "delete", MS));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.wait_for(|e| e.op == "delete" && e.path == "/a", SOON));
        raw.delete("/a");
        assert!(waiting.join().unwrap());
    });
    assert!(server.wait_for(|e| e.op == "delete", Duration::ZERO), "what came before counts");
}

#[test]
fn losing_state_strands_clients_that_saw_more() {
    let (server, mut raw) = start();
    raw.create("/a", 0).unwrap();
    let seen = raw.ping().zxid;
    server.lose_state();
    assert!(raw.is_closed());
    assert!(Raw::attach(&server.connect_string(), raw.session, &raw.password, 5000, seen).is_none());
    assert_eq!((server.nodes().len(), server.sessions().len()), (0, 0));
    let fresh = Raw::connect(&server.connect_string());
    assert!(fresh.session > raw.session, "ids of the past do not come back");
}

#[test]
fn dropping_the_last_handle_stops_the_server() {
    let (server, mut raw) = start();
    let (address, clone) = (server.connect_string(), server.clone());
    drop(server);
    raw.ping();
    drop(clone);
    assert!(raw.is_closed());
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn after_shutdown_everything_is_refused_politely() {
    let (server, _raw) = start();
    server.shutdown();
    server.shutdown();
    server.stop();
    assert!(server.restart().is_err());
    assert!(!server.wait_for(|_| false, SOON));
    server.drop_connections();
    assert_eq!(server.connections(), 0);
}

#[test]
fn what_happens_is_told_in_readable_lines() {
    let (tx, rx) = std::sync::mpsc::channel();
    let server = Server::builder().tell(move |line| _ = tx.send(line.to_owned())).start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    raw.call(Op::CLOSE, |_| {});
    assert!(raw.is_closed());
    let mut lines: Vec<String> = rx.try_iter().collect();
    while lines.len() < 4 {
        lines.push(rx.recv_timeout(SOON).unwrap());
    }
    let id = format!("session 0x{:x}", raw.session);
    assert!(lines[0].starts_with("connection 64 from 127.0.0.1:"), "{lines:?}");
    assert_eq!(lines[1], format!("{id} opened on connection 64, timeout 10000 ms"));
    assert_eq!(lines[2..], [format!("{id} closed by its client"), "connection 64 closed".to_owned()]);
}
