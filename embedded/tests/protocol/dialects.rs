//! Servers that speak the protocol and are not ZooKeeper.

use crate::support::{Raw, word};
use zkrecipes_embedded::wire::{Code, Op};
use zkrecipes_embedded::{Dialect, Server};

fn server(name: &str) -> (Server, String) {
    let server = Server::builder().emulate(name).start().unwrap();
    let address = server.connect_string();
    (server, address)
}

#[test]
fn each_has_a_name_and_says_what_it_is() {
    for name in Dialect::NAMES {
        let (_server, address) = server(name);
        let product =
            if name == "raftkeeper" { "RaftKeeper version: " } else { "ClickHouse Keeper version: v2" };
        let srvr = word(&address, "srvr");
        assert!(srvr.starts_with(product) && srvr.contains("Mode: standalone"), "{srvr}");
        assert!(!word(&address, "conf").contains("tickTime"));
        assert_eq!(
            (Raw::connect(&address).session, Raw::connect(&address).session),
            (1, 2),
            "it counts them"
        );
    }
    assert!(Dialect::named("zookeeper").is_none());
}

#[test]
fn clickhouse_keeper_opens_another_session_for_who_comes_back() {
    let (server, address) = server("clickhouse-keeper");
    let mut raw = Raw::connect(&address);
    raw.create("/e", 1).unwrap();
    let (session, password) = (raw.session, raw.password.clone());
    drop(raw);
    let mut again = Raw::attach(&address, session, &password, 10_000, i64::MAX).expect("a session");
    assert_ne!(again.session, session);
    assert_eq!(server.sessions().len(), 2, "the old one is there until its timeout");
    assert_eq!(again.exists("/e", false).unwrap().ephemeral_owner, session);
}

#[test]
fn clickhouse_keeper_counts_the_data_of_children_and_not_that_they_go() {
    let (_server, address) = server("clickhouse-keeper");
    let mut raw = Raw::connect(&address);
    raw.create("/p", 0).unwrap();
    raw.create("/p/a", 0).unwrap();
    let before = raw.exists("/p", false).unwrap();
    raw.set("/p/a", b"x").unwrap();
    let then = raw.exists("/p", false).unwrap();
    assert_eq!((then.cversion, then.pzxid), (before.cversion + 1, before.pzxid));
    assert_eq!(raw.delete("/p/a"), 0);
    let after = raw.exists("/p", false).unwrap();
    assert_eq!((after.cversion, after.pzxid, after.num_children), (then.cversion + 1, before.pzxid, 0));
    // Its numbers go by the creates alone.
    assert_eq!(raw.create("/p/", 2).unwrap(), "/p/0000000001");
}

#[test]
fn clickhouse_keeper_tells_of_a_node_below_by_the_path_that_is_watched() {
    let (_server, address) = server("clickhouse-keeper");
    let (mut raw, mut other) = (Raw::connect(&address), Raw::connect(&address));
    other.create("/p", 0).unwrap();
    assert_eq!(raw.call(Op::ADD_WATCH, |w| _ = w.string("/p").int(1)).err, 0);
    raw.exists("/p/a", true).unwrap_err();
    other.create("/p/a", 0).unwrap();
    assert_eq!(
        raw.events(),
        [(1, "/p".to_owned(), -1), (1, "/p/a".to_owned(), -1)],
        "also who watches once is told"
    );
    other.set("/p", b"x").unwrap();
    assert_eq!(raw.events(), [(3, "/p".to_owned(), -1)]);
}

#[test]
fn what_they_do_not_know_has_clickhouse_keeper_hang_up_and_raftkeeper_say_so() {
    let (_server, address) = server("clickhouse-keeper-25.8");
    for op in [Op::CREATE2, Op::CREATE_CONTAINER] {
        let mut raw = Raw::connect(&address);
        raw.send(op, |w| Raw::create_body(w, "/a", b"", if op == Op::CREATE2 { 0 } else { 4 }));
        assert!(raw.is_closed(), "without a word");
    }
    let (_server, address) = server("raftkeeper");
    let mut raw = Raw::connect(&address);
    for op in [Op::CREATE2, Op::CREATE_CONTAINER] {
        let answer = raw.call(op, |w| Raw::create_body(w, "/a", b"", if op == Op::CREATE2 { 0 } else { 4 }));
        assert_eq!(answer.err, Code::Unimplemented as i32);
    }
    let several = raw.call(Op::MULTI, |w| {
        w.part(Op::CREATE2, false, -1);
        Raw::create_body(w, "/a", b"", 0);
        w.end_of_parts();
    });
    assert_eq!(several.err, Code::Unimplemented as i32, "nor within a multi");
    assert_eq!(raw.create("/a", 0).unwrap(), "/a", "the connection is as good as before");
}
