//! Several servers as one ensemble, and what its followers do wrong in the way real ones do.

mod support;

use std::time::Duration;
use support::Raw;
use zkrecipes_embedded::wire::Op;
use zkrecipes_embedded::{Ensemble, Server};

const EPHEMERAL: i32 = 1;
const SEQUENTIAL: i32 = 2;

/// Three members with a clock that stands still, and a client of each.
fn three() -> (Ensemble, [Raw; 3]) {
    let ensemble = Server::builder().tick(Duration::from_secs(1)).start_ensemble(3).unwrap();
    ensemble.server().freeze_clock();
    let clients = [0, 1, 2].map(|m| Raw::with_timeout(&ensemble.member(m).unwrap(), 10_000));
    (ensemble, clients)
}

fn get(raw: &mut Raw, path: &str) -> Result<Vec<u8>, i32> {
    let reply = raw.call(Op::GET_DATA, |w| _ = w.string(path).bool(false));
    reply.ok(|r| r.buffer().map(|b| b.unwrap_or_default().to_vec()))
}

fn sync(raw: &mut Raw) {
    assert_eq!(raw.call(Op::SYNC, |w| _ = w.string("/")).err, 0);
}

#[test]
fn members_agree_on_everything() {
    let (ensemble, [mut a, mut b, mut c]) = three();
    assert_eq!(a.create("/p", 0), Ok("/p".to_owned()));
    assert_eq!(b.create("/p/n-", SEQUENTIAL), Ok("/p/n-0000000000".to_owned()));
    assert_eq!(c.create("/p/n-", EPHEMERAL | SEQUENTIAL), Ok("/p/n-0000000001".to_owned()));
    assert_eq!(b.create("/p", 0), Err(-110));
    let stat = b.set("/p", b"x").unwrap();
    let stats = [&mut a, &mut b, &mut c].map(|raw| raw.exists("/p", false).unwrap());
    assert_eq!(stats, [stat; 3]);
    let zxids = [&mut a, &mut b, &mut c].map(|raw| raw.ping().zxid);
    assert_eq!(zxids, [ensemble.server().zxid(); 3]);
    assert_eq!(a.exists("/p/n-0000000001", false).unwrap().ephemeral_owner, c.session);
    let reply = c.call(Op::MULTI, |w| {
        w.int(Op::DELETE.0).bool(false).int(-1).string("/p/n-0000000000").int(-1);
        w.int(Op::CHECK.0).bool(false).int(-1).string("/p").int(99);
        w.int(-1).bool(true).int(-1);
    });
    assert_eq!(reply.err, 0);
    assert_eq!(a.children("/p", false), b.children("/p", false));
    assert_eq!(b.children("/p", false).unwrap().len(), 2, "a failed multi changes nothing anywhere");
}

#[test]
fn watches_fire_where_they_were_set_before_the_reply() {
    let (_ensemble, [mut a, mut b, mut c]) = three();
    b.exists("/x", true).unwrap_err();
    c.children("/", true).unwrap();
    b.send(Op::CREATE, |w| Raw::create_body(w, "/x", b"", EPHEMERAL));
    assert_eq!(b.event().1, "/x");
    b.receive().unwrap();
    assert_eq!(c.event(), (4, "/".to_owned(), 4));
    a.exists("/x", true).unwrap();
    assert_eq!(b.call(Op::CLOSE, |_| {}).err, 0);
    assert!(b.is_closed());
    assert_eq!(a.event(), (2, "/x".to_owned(), 5));
}

#[test]
fn a_lagging_follower_answers_from_the_past_until_asked_to_sync() {
    let (ensemble, [mut a, mut b, _c]) = three();
    a.create("/x", 0).unwrap();
    ensemble.hold(1);
    a.set("/x", b"new").unwrap();
    assert_eq!((get(&mut a, "/x"), get(&mut b, "/x")), (Ok(b"new".to_vec()), Ok(vec![])));
    assert_eq!((ensemble.behind(1), ensemble.behind(2)), (1, 0));
    ensemble.release(1);
    assert_eq!(get(&mut b, "/x"), Ok(b"new".to_vec()));

    ensemble.lag(1, Duration::from_millis(30));
    a.set("/x", b"newer").unwrap();
    assert_eq!(get(&mut b, "/x"), Ok(b"new".to_vec()));
    // The answer of the leader lags, too.
    ensemble.server().thaw_clock();
    sync(&mut b);
    assert_eq!(get(&mut b, "/x"), Ok(b"newer".to_vec()));
}

#[test]
fn what_is_asked_behind_a_write_waits_for_it() {
    let (ensemble, [_a, mut b, _c]) = three();
    ensemble.hold(1);
    let xids = [
        b.send(Op::CREATE, |w| Raw::create_body(w, "/x", b"", 0)),
        b.send(Op::EXISTS, |w| _ = w.string("/x").bool(false)),
        b.send(Op::PING, |_| {}),
    ];
    b.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(b.receive().is_none());
    b.stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    ensemble.release(1);
    let replies = [0; 3].map(|_| b.receive().unwrap());
    assert_eq!(replies.each_ref().map(|r| (r.xid, r.err)), xids.map(|xid| (xid, 0)));
}

#[test]
fn an_isolated_follower_answers_pings_while_its_sessions_expire() {
    let (ensemble, [mut a, mut b, _c]) = three();
    let server = ensemble.server();
    let mut short = Raw::with_timeout(&ensemble.member(1).unwrap(), 2000);
    short.create("/held", EPHEMERAL).unwrap();
    assert!(ensemble.isolate(1));
    for _ in 0..3 {
        server.advance_clock(Duration::from_secs(1));
        short.ping();
        b.ping();
        a.ping();
    }
    assert_eq!(a.exists("/held", false), Err(-101), "the leader has ended the session");
    assert!(short.exists("/held", false).is_ok(), "and its client has no idea");
    assert!(ensemble.heal(1));
    assert!(short.is_closed());
    assert_eq!(b.exists("/held", false), Err(-101));
}

#[test]
fn signs_of_life_are_relayed() {
    let (ensemble, [mut a, mut b, mut c]) = three();
    for _ in 0..30 {
        ensemble.server().advance_clock(Duration::from_secs(1));
        [&mut a, &mut b, &mut c].into_iter().for_each(|raw| _ = raw.ping());
    }
    assert_eq!(ensemble.server().sessions().len(), 3);
}

#[test]
fn after_five_ticks_alone_a_follower_serves_nobody_until_it_is_back() {
    let (ensemble, [mut a, mut b, _c]) = three();
    ensemble.isolate(2);
    ensemble.isolate(1);
    ensemble.server().advance_clock(Duration::from_secs(5));
    let address = ensemble.member(2).unwrap();
    assert!(Raw::attach(&address, 0, &[0; 16], 5000, 0).is_none());
    b.ping();
    a.create("/missed", 0).unwrap();
    assert!(ensemble.heal(2));
    let mut back = Raw::connect(&address);
    assert!(back.exists("/missed", false).is_ok());
    assert!(!ensemble.isolate(0) && !ensemble.isolate(3) && !ensemble.heal(2));
}

#[test]
fn a_session_moves_and_its_old_connection_can_write_no_more() {
    let (ensemble, [_a, mut b, _c]) = three();
    let seen = b.ping().zxid;
    let other = ensemble.member(2).unwrap();
    let mut moved = Raw::attach(&other, b.session, &b.password, 10_000, seen).unwrap();
    assert_eq!(moved.session, b.session);
    assert!(b.exists("/", false).is_ok(), "it still reads");
    b.send(Op::CREATE, |w| Raw::create_body(w, "/x", b"", 0));
    assert!(b.is_closed(), "no answer, not even an error");
    assert_eq!(moved.create("/x", 0), Ok("/x".to_owned()));
    let refused = Raw::attach(&ensemble.member(1).unwrap(), b.session, &[1; 16], 10_000, 0).unwrap();
    assert_eq!((refused.session, refused.timeout), (0, 0));
}

#[test]
fn a_follower_that_is_behind_turns_away_clients_who_know_more() {
    let (ensemble, [mut a, _b, _c]) = three();
    ensemble.hold(1);
    a.create("/x", 0).unwrap();
    let seen = a.ping().zxid;
    assert!(Raw::attach(&ensemble.member(1).unwrap(), a.session, &a.password, 5000, seen).is_none());
    ensemble.release(1);
    assert!(Raw::attach(&ensemble.member(1).unwrap(), a.session, &a.password, 5000, seen).is_some());
}

#[test]
fn all_members_stop_and_start_together() {
    let (ensemble, [mut a, b, _c]) = three();
    a.create("/x", 0).unwrap();
    ensemble.server().restart().unwrap();
    let mut back = Raw::attach(&ensemble.member(1).unwrap(), b.session, &b.password, 10_000, 4).unwrap();
    assert!(back.exists("/x", false).is_ok());
    ensemble.server().lose_state();
    assert!(back.is_closed());
    let mut fresh = Raw::connect(&ensemble.member(2).unwrap());
    assert_eq!((fresh.exists("/x", false), fresh.ping().zxid), (Err(-101), 1));
}

#[test]
fn members_stop_one_by_one_and_reads_are_left() {
    let builder = Server::builder().tick(Duration::from_secs(1)).read_only_without_quorum(true);
    let ensemble = builder.start_ensemble(3).unwrap();
    ensemble.server().freeze_clock();
    let [leader, first, second] = [0, 1, 2].map(|m| ensemble.member(m).unwrap());
    let mut raw = Raw::connect(&leader);
    raw.create("/a", EPHEMERAL).unwrap();
    let mut client = Raw::connect(&first);
    assert!(!ensemble.stop_member(0) && !ensemble.stop_member(3), "the leader stays");
    assert!(ensemble.stop_member(1) && !ensemble.stop_member(1));
    assert!(client.is_closed() && std::net::TcpStream::connect(&first).is_err());
    raw.create("/b", 0).unwrap();
    assert!(ensemble.has_quorum());
    assert!(ensemble.stop_member(2) && !ensemble.has_quorum());
    assert!(raw.is_closed());
    assert!(Raw::attach(&leader, raw.session, &raw.password, 5000, 0).is_none(), "nobody knows if it lives");
    ensemble.server().advance_clock(Duration::from_secs(100));

    let mut reader = Raw::connect_read_only(&leader).unwrap();
    assert_eq!(reader.create("/c", 0), Err(-119));
    assert!(reader.exists("/a", false).is_ok());
    let zxid = ensemble.server().zxid();
    assert!(ensemble.start_member(1).unwrap() && !ensemble.start_member(1).unwrap());
    assert!(ensemble.has_quorum() && reader.is_closed());
    assert_eq!(ensemble.server().zxid(), zxid, "sessions of its own leave nothing behind");

    let mut raw = Raw::attach(&first, raw.session, &raw.password, 5000, zxid).unwrap();
    assert_ne!(raw.session, 0);
    assert_eq!(raw.exists("/a", false).unwrap().ephemeral_owner, raw.session);
    raw.create("/c", 0).unwrap();
    assert!(ensemble.start_member(2).unwrap());
    let mut late = Raw::connect(&second);
    assert_eq!(late.exists("/c", false), raw.exists("/c", false));
    assert_ne!(late.session, reader.session, "ids do not come back");
}

#[test]
fn without_a_majority_nobody_is_served_unless_asked_for() {
    let ensemble = Ensemble::start(3).unwrap();
    assert!(ensemble.stop_member(1) && ensemble.stop_member(2));
    assert!(Raw::connect_read_only(&ensemble.member(0).unwrap()).is_none());
    ensemble.server().lose_state();
    ensemble.server().restart().unwrap();
    assert!(std::net::TcpStream::connect(ensemble.member(1).unwrap()).is_err(), "it has stopped by itself");
    assert!(ensemble.start_member(1).unwrap());
    Raw::connect(&ensemble.member(1).unwrap()).create("/a", 0).unwrap();
}

#[test]
fn the_list_of_servers_changes_for_those_who_may() {
    let super_digest = zkrecipes_embedded::digest("super:test");
    let builder = Server::builder().super_digest(&super_digest);
    let ensemble = builder.reconfig("server.1=a:1:2:participant;3").start_ensemble(3).unwrap();
    let mut raw = Raw::connect(&ensemble.member(1).unwrap());
    let mut watcher = Raw::connect(&ensemble.member(2).unwrap());
    assert_eq!(get(&mut raw, "/zookeeper/config").unwrap(), b"server.1=a:1:2:participant;3\nversion=0");
    watcher.exists("/zookeeper/config", true).unwrap();
    let reconfig = |raw: &mut Raw, joining: &str, leaving: &str, all: &str, from: i64| {
        raw.call(Op::RECONFIG, |w| _ = w.string(joining).string(leaving).string(all).long(from))
    };
    assert_eq!(reconfig(&mut raw, "server.2=b:1:2", "", "", -1).err, -102);
    assert_eq!(raw.auth("digest", "super:test"), 0);
    assert_eq!(reconfig(&mut raw, "server.2=b:1:2", "", "", 7).err, -103);
    for (joining, leaving, all) in [("server.2", "", ""), ("", "x", ""), ("", "1", ""), ("", "", "b:1")] {
        assert_eq!(reconfig(&mut raw, joining, leaving, all, -1).err, -8, "{joining} {leaving} {all}");
    }
    let reply = reconfig(&mut raw, "server.2=b:1:2:observer;3,server.3=c:1:2:participant;3", "1", "", 0);
    let list = format!("server.2=b:1:2:observer;3\nserver.3=c:1:2:participant;3\nversion={:x}", reply.zxid);
    assert_eq!(reply.ok(|r| Ok(r.buffer()?.unwrap().to_vec())), Ok(list.into_bytes()));
    assert_eq!(watcher.event().1, "/zookeeper/config");
    let reply = reconfig(&mut raw, "", "", "server.9=d:1:2:participant;3", reply.zxid);
    assert_eq!(reply.err, 0);
    sync(&mut watcher);
    let list = format!("server.9=d:1:2:participant;3\nversion={:x}", reply.zxid);
    assert_eq!(get(&mut watcher, "/zookeeper/config"), Ok(list.into_bytes()));
}
