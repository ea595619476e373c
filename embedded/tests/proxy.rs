//! The proxy, in front of an embedded server that stands for a real one. With `ZKRECIPES_REAL=HOST:PORT`, those tests
//! that can do without looking into the server run in front of that one too.

mod support;

use std::time::{Duration, Instant};
use support::{Raw, word};
use zkrecipes_embedded::wire::Op;
use zkrecipes_embedded::{Fault, Outcome, Proxy, Server};

const MS: Duration = Duration::from_millis(1);
const SOON: Duration = Duration::from_secs(10);

fn start() -> (Server, Proxy, Raw) {
    let server = Server::start().unwrap();
    let proxy = Proxy::start(&server.connect_string()).unwrap();
    let raw = Raw::connect(&proxy.connect_string());
    (server, proxy, raw)
}

/// Servers to stand in front of: an embedded one, and a real one if there is one.
fn upstreams(embedded: &Server) -> Vec<String> {
    [embedded.connect_string()].into_iter().chain(std::env::var("ZKRECIPES_REAL").ok()).collect()
}

#[test]
fn whatever_the_server_is_faults_are_the_same() {
    let embedded = Server::builder().tick(100 * MS).start().unwrap();
    for upstream in upstreams(&embedded) {
        let proxy = Proxy::start(&upstream).unwrap();
        let mut judge = Raw::connect(&upstream);
        let mut raw = Raw::connect(&proxy.connect_string());
        proxy.inject(Fault::drop_before("create").path("/proxy-lost"));
        raw.send(Op::CREATE, |w| Raw::create_body(w, "/proxy-lost", b"", 1));
        assert!(raw.is_closed());
        let mut raw = Raw::attach(&proxy.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
        proxy.inject(Fault::drop_after("create").path("/proxy-kept"));
        raw.send(Op::CREATE, |w| Raw::create_body(w, "/proxy-kept", b"", 1));
        assert!(raw.is_closed());
        assert_eq!(judge.exists("/proxy-lost", false), Err(-101), "{upstream}");
        assert_eq!(judge.exists("/proxy-kept", true).unwrap().ephemeral_owner, raw.session);
        let raw = Raw::attach(&proxy.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
        assert!(proxy.expire(raw.session as u64).unwrap());
        assert_eq!(judge.event().1, "/proxy-kept", "the server itself has ended the session");
        let back = Raw::attach(&proxy.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
        assert_eq!((back.session, back.timeout), (0, 0));
        judge.call(Op::CLOSE, |_| {});
    }
}

#[test]
fn everything_passes_through_and_is_logged() {
    let (_server, proxy, mut raw) = start();
    raw.create("/a", 0).unwrap();
    raw.exists("/b", true).unwrap_err();
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/b", b"", 0));
    assert_eq!(raw.event().1, "/b");
    raw.receive().unwrap();
    assert_eq!(raw.auth("digest", "ann:secret"), 0);
    raw.ping();
    let brief: Vec<_> = proxy.log().iter().map(|e| (e.op, e.path.clone(), e.error, e.outcome)).collect();
    let line = |op, path: &str, error| (op, path.to_owned(), error, Outcome::Answered);
    let expected = [
        line("connect", "", 0),
        line("create", "/a", 0),
        line("exists", "/b", -101),
        line("create", "/b", 0),
        line("auth", "", 0),
        line("ping", "", 0),
    ];
    assert_eq!(brief, expected);
    assert_eq!((proxy.sessions(), proxy.connections()), (vec![raw.session as u64], 1));
    assert_eq!(proxy.count("create", "/*"), 2);
    assert_eq!(word(&proxy.connect_string(), "ruok"), "imok");
}

#[test]
fn big_answers_pass_whole() {
    let (_server, _proxy, mut raw) = start();
    let data = vec![9; 1_000_000];
    raw.create("/big", 0).unwrap();
    raw.set("/big", &data).unwrap();
    for _ in 0..10 {
        raw.send(Op::GET_DATA, |w| _ = w.string("/big").bool(false));
    }
    for _ in 0..10 {
        assert_eq!(
            raw.receive().unwrap().ok(|r| r.buffer().map(|b| b.map(<[u8]>::to_vec))),
            Ok(Some(data.clone()))
        );
    }
}

#[test]
fn requests_and_answers_are_lost_as_asked() {
    let (server, proxy, mut raw) = start();
    let before = proxy.inject(Fault::drop_before("create"));
    let answered = raw.send(Op::EXISTS, |w| _ = w.string("/").bool(false));
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/lost", b"", 0));
    assert_eq!(raw.receive().unwrap().xid, answered, "earlier answers still arrive");
    assert!(raw.is_closed() && proxy.fault_fired(before));
    assert_eq!(server.nodes(), Vec::<String>::new());

    let mut raw = Raw::attach(&proxy.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
    let after = proxy.inject_text("drop_after create path=/kept").unwrap();
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/kept", b"", 0));
    assert!(raw.is_closed() && proxy.fault_fired(after));
    assert_eq!(server.nodes(), ["/kept"]);
    let fates: Vec<Outcome> = proxy.log().iter().filter(|e| e.op == "create").map(|e| e.outcome).collect();
    assert_eq!(fates, [Outcome::Lost, Outcome::Unanswered]);
}

#[test]
fn delays_and_made_up_answers_keep_the_order() {
    let (_server, proxy, mut raw) = start();
    for fault in [Fault::delay_request("sync", 50 * MS), Fault::delay_reply("sync", 50 * MS)] {
        proxy.inject(fault);
        proxy.inject(Fault::answer_expired("exists"));
        let began = Instant::now();
        let xids = [
            raw.send(Op::SYNC, |w| _ = w.string("/")),
            raw.send(Op::EXISTS, |w| _ = w.string("/").bool(true)),
            raw.send(Op::PING, |_| {}),
        ];
        let replies = [0; 3].map(|_| raw.receive().unwrap());
        assert_eq!(replies.each_ref().map(|r| r.xid), xids);
        assert_eq!(replies.each_ref().map(|r| r.err), [0, -112, 0]);
        assert!(began.elapsed() >= 50 * MS);
    }
}

#[test]
fn a_quota_that_is_used_up_keeps_the_write_from_the_server() {
    let (server, proxy, mut raw) = start();
    proxy.inject(Fault::answer_quota_exceeded("create"));
    assert_eq!(raw.create("/a", 0), Err(-125));
    assert_eq!(server.nodes(), Vec::<String>::new());
    raw.create("/a", 0).unwrap();
}

#[test]
fn a_session_is_expired_at_the_server_itself() {
    let (server, proxy, mut raw) = start();
    raw.create("/e", 1).unwrap();
    assert!(proxy.expire(raw.session as u64).unwrap());
    assert!(raw.is_closed());
    assert_eq!((server.nodes().len(), server.sessions().len()), (0, 0));
    let back = Raw::attach(&proxy.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
    assert_eq!((back.session, back.timeout), (0, 0));
    assert!(!proxy.expire(raw.session as u64).unwrap());
    assert!(!proxy.expire(4711).unwrap());
}

#[test]
fn connections_break_pause_and_go_on() {
    let (server, proxy, mut raw) = start();
    proxy.drop_connections();
    assert!(raw.is_closed());
    let mut raw = Raw::attach(&proxy.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
    proxy.pause();
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/a", b"", 0));
    raw.stream.set_read_timeout(Some(50 * MS)).unwrap();
    assert!(raw.receive().is_none());
    assert_eq!(server.nodes(), Vec::<String>::new());
    raw.stream.set_read_timeout(Some(SOON)).unwrap();
    proxy.resume();
    assert_eq!(raw.receive().unwrap().string(), Ok("/a".to_owned()));
}

#[test]
fn events_handshakes_and_black_holes_are_at_hand_too() {
    let (_server, proxy, mut raw) = start();
    proxy.inject(Fault::refuse_connections(1));
    assert!(Raw::attach(&proxy.connect_string(), 0, &[0; 16], 5000, 0).is_none());
    proxy.inject(Fault::stall_connections(50 * MS));
    let began = Instant::now();
    let mut other = Raw::connect(&proxy.connect_string());
    assert!(began.elapsed() >= 50 * MS);
    proxy.inject(Fault::black_hole_requests().session(other.session as u64));
    other.send(Op::PING, |_| {});
    assert!(proxy.wait_for(|e| e.op == "ping" && e.outcome == Outcome::Lost, SOON));
    proxy.clear_faults();
    assert!(other.is_closed());
    let mut other = Raw::connect(&proxy.connect_string());
    proxy.inject(Fault::drop_after_event().path("/a"));
    raw.exists("/a", true).unwrap_err();
    other.create("/a", 0).unwrap();
    assert_eq!(raw.event().1, "/a");
    assert!(raw.is_closed());
}

#[test]
fn a_server_that_is_away_is_felt_through_the_proxy() {
    let (server, proxy, mut raw) = start();
    server.stop();
    assert!(raw.is_closed());
    assert!(Raw::attach(&proxy.connect_string(), 0, &[0; 16], 5000, 0).is_none());
    server.restart().unwrap();
    assert_eq!(
        Raw::attach(&proxy.connect_string(), raw.session, &raw.password, 5000, 0).map(|r| r.session),
        Some(raw.session)
    );
}

#[test]
fn a_handshake_can_be_told_that_it_comes_too_late() {
    let (server, proxy, raw) = start();
    proxy.inject(Fault::answer_expired("connect"));
    let mut back = Raw::attach(&proxy.connect_string(), raw.session, &raw.password, 5000, 0).unwrap();
    assert_eq!((back.session, back.timeout, &back.password[..]), (0, 0, &[0; 16][..]));
    assert!(back.is_closed());
    assert_eq!(server.sessions(), [raw.session as u64], "the session itself lives on");
}

#[test]
fn black_holes_break_what_they_took_from() {
    let breaks = |fault: Fault, lasting: bool| {
        let (_server, proxy, mut raw) = start();
        let mut idle = Raw::connect(&proxy.connect_string());
        let id = proxy.inject(if lasting { fault.lasting(1000 * MS) } else { fault });
        raw.send(Op::SYNC, |w| _ = w.string("/"));
        let deadline = Instant::now() + SOON;
        while !proxy.fault_fired(id) && Instant::now() < deadline {
            std::thread::sleep(MS);
        }
        if !lasting {
            proxy.clear_faults();
        }
        assert!(raw.is_closed());
        idle.ping();
    };
    // Those that end by themselves last long enough for a request to come in time; so all at once.
    std::thread::scope(|scope| {
        for fault in [Fault::black_hole(), Fault::black_hole_requests(), Fault::black_hole_replies()] {
            for lasting in [true, false] {
                let fault = fault.clone();
                scope.spawn(move || breaks(fault, lasting));
            }
        }
    });
}

#[test]
fn a_session_ends_although_its_client_keeps_coming_back() {
    let embedded = Server::builder().tick(100 * MS).start().unwrap();
    for upstream in upstreams(&embedded) {
        let proxy = Proxy::start(&upstream).unwrap();
        for _ in 0..30 {
            let address = proxy.connect_string();
            let raw = Raw::connect(&address);
            let id = raw.session as u64;
            let client = std::thread::spawn(move || {
                let mut raw = Some(raw);
                let (session, password) = raw.as_ref().map(|r| (r.session, r.password.clone())).unwrap();
                loop {
                    match &mut raw {
                        Some(raw) if raw.session == 0 => return,
                        Some(raw) => while raw.frame().is_some() {},
                        None => {}
                    }
                    raw = Raw::attach(&address, session, &password, 5000, 0);
                }
            });
            assert!(proxy.expire(id).unwrap());
            client.join().unwrap();
            assert!(!proxy.expire(id).unwrap(), "it is gone already");
        }
    }
}
