//! Watches and the events they bring.

use crate::support::{Raw, open_acl};
use zkrecipes_embedded::Server;
use zkrecipes_embedded::wire::{Acl, Op, Writer};

const CREATED: i32 = 1;
const DELETED: i32 = 2;
const CHANGED: i32 = 3;
const CHILDREN: i32 = 4;

fn pair() -> (Server, Raw, Raw) {
    let server = Server::start().unwrap();
    let address = server.connect_string();
    (server, Raw::connect(&address), Raw::connect(&address))
}

fn get(raw: &mut Raw, path: &str) -> i32 {
    raw.call(Op::GET_DATA, |w| _ = w.string(path).bool(true)).err
}

fn add(raw: &mut Raw, path: &str, mode: i32) {
    assert_eq!(raw.call(Op::ADD_WATCH, |w| _ = w.string(path).int(mode)).ok(|r| r.int()), Ok(0));
}

/// Events without their zxids.
fn heard(raw: &mut Raw) -> Vec<(i32, String)> {
    raw.events().into_iter().map(|(kind, path, _)| (kind, path)).collect()
}

fn told(events: &[(i32, &str)]) -> Vec<(i32, String)> {
    events.iter().map(|(kind, path)| (*kind, (*path).to_owned())).collect()
}

#[test]
fn only_exists_watches_for_a_node_to_come() {
    let (server, mut raw, mut other) = pair();
    assert_eq!((get(&mut raw, "/a"), raw.children("/a", true), server.watch_count()), (-101, Err(-101), 0));
    assert_eq!((raw.exists("/a", true), server.watch_count()), (Err(-101), 1));
    other.create("/a", 0).unwrap();
    assert_eq!(raw.event(), (CREATED, "/a".to_owned(), server.zxid()));
    other.set("/a", b"x").unwrap();
    assert_eq!(heard(&mut raw), [], "once only");
}

#[test]
fn the_event_of_ones_own_write_precedes_its_reply() {
    let (_server, mut raw, _) = pair();
    raw.exists("/a", true).unwrap_err();
    raw.children("/", true).unwrap();
    let xid = raw.send(Op::CREATE, |w| Raw::create_body(w, "/a", b"", 0));
    let kinds: Vec<i32> = (0..2).map(|_| raw.event().0).collect();
    assert_eq!(kinds, [CREATED, CHILDREN], "the node's, then its parent's");
    assert_eq!(raw.receive().unwrap().xid, xid);
}

#[test]
fn one_deletion_is_told_once() {
    let (_server, mut raw, mut other) = pair();
    raw.create("/a", 0).unwrap();
    get(&mut raw, "/a");
    raw.exists("/a", true).unwrap();
    raw.children("/a", true).unwrap();
    raw.children("/", true).unwrap();
    other.delete("/a");
    assert_eq!(heard(&mut raw), told(&[(DELETED, "/a"), (CHILDREN, "/")]));
}

#[test]
fn setting_an_acl_is_no_event() {
    let (_server, mut raw, mut other) = pair();
    raw.create("/a", 0).unwrap();
    get(&mut raw, "/a");
    other.call(Op::SET_ACL, |w| _ = w.string("/a").acl(&open_acl()).int(-1));
    assert_eq!(heard(&mut raw), []);
}

#[test]
fn persistent_watches_stay_and_recursive_ones_look_below() {
    let (_server, mut raw, mut other) = pair();
    raw.create("/a", 0).unwrap();
    add(&mut raw, "/a", 0);
    let mut deep = Raw::connect(&raw.stream.peer_addr().unwrap().to_string());
    add(&mut deep, "/a", 1);
    other.set("/a", b"x").unwrap();
    other.create("/a/b", 0).unwrap();
    other.create("/a/b/c", 0).unwrap();
    other.delete("/a/b/c");
    other.set("/a", b"y").unwrap();
    other.create("/ab", 0).unwrap();
    assert_eq!(heard(&mut raw), told(&[(CHANGED, "/a"), (CHILDREN, "/a"), (CHANGED, "/a")]));
    let expected = told(&[
        (CHANGED, "/a"),
        (CREATED, "/a/b"),
        (CREATED, "/a/b/c"),
        (DELETED, "/a/b/c"),
        (CHANGED, "/a"),
    ]);
    assert_eq!(heard(&mut deep), expected);
}

#[test]
fn modes_mix_on_one_path_without_losing_events() {
    let (server, mut raw, mut other) = pair();
    raw.create("/a", 0).unwrap();
    add(&mut raw, "/a", 0);
    add(&mut raw, "/a", 1);
    get(&mut raw, "/a");
    other.set("/a", b"1").unwrap();
    other.set("/a", b"2").unwrap();
    assert_eq!(heard(&mut raw), told(&[(CHANGED, "/a"), (CHANGED, "/a")]));
    let remove = |raw: &mut Raw, kind| raw.call(Op::REMOVE_WATCHES, |w| _ = w.string("/a").int(kind)).err;
    assert_eq!(remove(&mut raw, 2), -121, "the one-time watch is used up");
    assert_eq!(remove(&mut raw, 4), 0);
    other.set("/a", b"3").unwrap();
    assert_eq!(heard(&mut raw), told(&[(CHANGED, "/a")]), "the recursive one is still there");
    assert_eq!((remove(&mut raw, 3), remove(&mut raw, 3), server.watch_count()), (0, -121, 0));
}

#[test]
fn watches_can_be_asked_after() {
    let (_server, mut raw, _) = pair();
    raw.exists("/a", true).unwrap_err();
    let check = |raw: &mut Raw, kind| raw.call(Op::CHECK_WATCHES, |w| _ = w.string("/a").int(kind)).err;
    assert_eq!([1, 2, 3, 4].map(|kind| check(&mut raw, kind)), [-121, 0, 0, -121]);
}

#[test]
fn a_connection_takes_its_watches_with_it() {
    let (server, mut raw, _) = pair();
    raw.exists("/a", true).unwrap_err();
    raw.children("/", true).unwrap();
    assert_eq!(server.watch_count(), 2);
    server.drop_connections();
    assert_eq!(server.watch_count(), 0);
}

#[test]
fn events_go_only_to_those_who_may_read_the_node() {
    let (_server, mut raw, mut other) = pair();
    other.auth("digest", "ann:secret");
    let private = [Acl { perms: 31, scheme: "auth".into(), id: String::new() }];
    raw.exists("/secret", true).unwrap_err();
    other.exists("/secret", true).unwrap_err();
    other.send(Op::CREATE, |w| _ = w.string("/secret").buffer(None).acl(&private).int(0));
    assert_eq!(other.event().0, CREATED);
    other.receive().unwrap();
    assert_eq!(heard(&mut raw), []);
}

fn set_watches(w: &mut Writer, seen: i64, lists: &[&[&str]]) {
    w.long(seen);
    for list in lists {
        w.int(list.len() as i32);
        for path in *list {
            w.string(path);
        }
    }
}

#[test]
fn a_client_that_is_back_hears_what_it_missed_before_the_reply() {
    let (server, mut raw, mut other) = pair();
    for path in ["/same", "/changed", "/gone", "/parent", "/quiet"] {
        other.create(path, 0).unwrap();
    }
    let seen = server.zxid();
    other.set("/changed", b"x").unwrap();
    other.delete("/gone");
    other.create("/born", 0).unwrap();
    other.create("/parent/child", 0).unwrap();
    raw.send(Op::SET_WATCHES, |w| {
        let data = ["/same", "/changed", "/gone"];
        set_watches(w, seen, &[&data, &["/born", "/unborn"], &["/parent", "/quiet", "/gone"]]);
    });
    let mut replayed = Vec::new();
    let reply = loop {
        let reply = raw.receive().unwrap();
        match reply.as_event() {
            Some((kind, path, zxid)) => replayed.push((kind, path, zxid)),
            None => break reply,
        }
    };
    assert_eq!((reply.xid, reply.err), (-8, 0));
    let expected = [
        (CHANGED, "/changed"),
        (DELETED, "/gone"),
        (CREATED, "/born"),
        (CHILDREN, "/parent"),
        (DELETED, "/gone"),
    ];
    assert_eq!(replayed, expected.map(|(kind, path)| (kind, path.to_owned(), -1)));
    assert_eq!(server.watch_count(), 3, "and goes on watching the rest");
    other.create("/unborn", 0).unwrap();
    other.set("/same", b"y").unwrap();
    assert_eq!(heard(&mut raw), told(&[(CREATED, "/unborn"), (CHANGED, "/same")]));
}

#[test]
fn persistent_watches_are_set_again_without_replay() {
    let (server, mut raw, mut other) = pair();
    other.create("/a", 0).unwrap();
    raw.send(Op::SET_WATCHES2, |w| set_watches(w, 0, &[&[], &[], &[], &["/a"], &["/"]]));
    assert_eq!(raw.receive().unwrap().xid, -8);
    assert_eq!(server.watch_count(), 3);
    other.create("/a/b", 0).unwrap();
    assert_eq!(heard(&mut raw), told(&[(CREATED, "/a/b"), (CHILDREN, "/a")]));
}

#[test]
fn events_of_older_servers_carry_no_zxid() {
    let server = Server::builder().emulate("3.8").start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    raw.exists("/a", true).unwrap_err();
    raw.send(Op::CREATE, |w| Raw::create_body(w, "/a", b"", 0));
    assert_eq!(raw.event(), (CREATED, "/a".to_owned(), -1));
}
