//! Containers, and nodes with a time to live.

use crate::support::{Raw, open_acl};
use std::time::Duration;
use zkrecipes_embedded::Server;
use zkrecipes_embedded::wire::Op;

const CONTAINER: i32 = 4;
const WITH_TTL: i32 = 5;

fn create_ttl(raw: &mut Raw, path: &str, flags: i32, ttl: i64) -> i32 {
    raw.call(Op::CREATE_TTL, |w| {
        Raw::create_body(w, path, b"", flags);
        w.long(ttl);
    })
    .err
}

fn frozen() -> (Server, Raw) {
    let server = Server::builder().extended_types(true).reap_every(Duration::from_secs(1)).start().unwrap();
    server.freeze_clock();
    let raw = Raw::with_timeout(&server.connect_string(), 60_000);
    (server, raw)
}

#[test]
fn a_container_goes_after_its_last_child_but_not_before_its_first() {
    let (server, mut raw) = frozen();
    for path in ["/used", "/fresh"] {
        let reply = raw.call(Op::CREATE_CONTAINER, |w| Raw::create_body(w, path, b"", CONTAINER));
        assert_eq!(reply.err, 0);
    }
    assert_eq!(raw.exists("/used", false).unwrap().ephemeral_owner, 0);
    raw.create("/used/child", 0).unwrap();
    server.advance_clock(Duration::from_secs(2));
    raw.delete("/used/child");
    raw.exists("/used", true).unwrap();
    let zxid = server.zxid();
    assert_eq!(server.nodes(), ["/fresh", "/used"]);
    server.advance_clock(Duration::from_secs(2));
    assert_eq!(server.nodes(), ["/fresh"]);
    assert_eq!(raw.event(), (2, "/used".to_owned(), zxid + 1));
}

#[test]
fn a_time_to_live_counts_from_the_last_change_and_only_without_children() {
    let (server, mut raw) = frozen();
    assert_eq!(create_ttl(&mut raw, "/t", WITH_TTL, 5000), 0);
    assert_eq!(create_ttl(&mut raw, "/busy", WITH_TTL, 1), 0);
    assert_eq!(raw.exists("/t", false).unwrap().ephemeral_owner, 0);
    raw.create("/busy/child", 0).unwrap();
    server.advance_clock(Duration::from_secs(4));
    raw.set("/t", b"again").unwrap();
    server.advance_clock(Duration::from_secs(4));
    assert_eq!(server.nodes(), ["/busy", "/busy/child", "/t"]);
    server.advance_clock(Duration::from_secs(2));
    assert_eq!(server.nodes(), ["/busy", "/busy/child"]);
    raw.delete("/busy/child");
    server.advance_clock(Duration::from_secs(1));
    assert_eq!(server.nodes(), Vec::<String>::new());
}

#[test]
fn a_time_to_live_must_be_allowed_and_make_sense() {
    let (_server, mut raw) = frozen();
    assert_eq!(create_ttl(&mut raw, "/t", WITH_TTL, 0), -8);
    assert_eq!(create_ttl(&mut raw, "/t", WITH_TTL, 1 << 40), -8);
    assert_eq!(create_ttl(&mut raw, "/t", 0, 5), -8, "no such thing for a plain node");
    assert_eq!(create_ttl(&mut raw, "/t-", 6, (1 << 40) - 1), 0);
    let strict = Server::start().unwrap();
    let mut raw = Raw::connect(&strict.connect_string());
    assert_eq!(create_ttl(&mut raw, "/t", WITH_TTL, 5000), -6);
    assert_eq!(
        raw.call(Op::CREATE, |w| _ = w.string("/c").buffer(None).acl(&open_acl()).int(CONTAINER)).err,
        0
    );
}
