//! Who may do what.

use crate::support::{Raw, open_acl};
use zkrecipes_embedded::wire::{Acl, Op, Reader};
use zkrecipes_embedded::{Server, digest};

fn acl(perms: i32, scheme: &str, id: &str) -> Acl {
    Acl { perms, scheme: scheme.into(), id: id.into() }
}

fn create_with(raw: &mut Raw, path: &str, list: &[Acl]) -> i32 {
    raw.call(Op::CREATE, |w| _ = w.string(path).buffer(Some(b"")).acl(list).int(0)).err
}

fn get_acl(raw: &mut Raw, path: &str) -> Result<Vec<Acl>, i32> {
    raw.call(Op::GET_ACL, |w| _ = w.string(path)).ok(|r| {
        let list = r.vector(Reader::acl)?;
        r.stat()?;
        Ok(list)
    })
}

#[test]
fn lists_are_checked_before_they_are_taken() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    for bad in [
        vec![],
        vec![acl(31, "world", "somebody")],
        vec![acl(31, "unheard-of", "x")],
        vec![acl(31, "digest", "no-colon")],
        vec![acl(31, "ip", "1.2.3")],
        vec![acl(31, "ip", "1.2.3.4/33")],
        vec![acl(31, "auth", "")],
    ] {
        assert_eq!(create_with(&mut raw, "/a", &bad), -114, "{bad:?}");
    }
    assert_eq!(create_with(&mut raw, "/a", &[acl(31, "ip", "127.0.0.0/8"), acl(31, "ip", "127.0.0.0/8")]), 0);
    assert_eq!(get_acl(&mut raw, "/a").unwrap().len(), 1, "duplicates are dropped");
}

#[test]
fn auth_means_whoever_asks() {
    let server = Server::start().unwrap();
    let mut ann = Raw::connect(&server.connect_string());
    assert_eq!(ann.auth("digest", "ann:secret"), 0);
    assert_eq!(create_with(&mut ann, "/a", &[acl(31, "auth", "")]), 0);
    assert_eq!(get_acl(&mut ann, "/a").unwrap(), [acl(31, "digest", &digest("ann:secret"))]);
    let mut bob = Raw::connect(&server.connect_string());
    assert_eq!(bob.set("/a", b"x").unwrap_err(), -102);
    assert_eq!(bob.exists("/a", false).unwrap_err(), -102);
    assert_eq!(bob.children("/a", false).unwrap_err(), -102);
    assert_eq!(get_acl(&mut bob, "/a"), Err(-102));
    assert_eq!(create_with(&mut bob, "/a/b", &open_acl()), -102);
    assert_eq!(bob.delete("/a"), 0, "deleting is the parent's to allow");
}

#[test]
fn hashes_are_hidden_from_those_who_may_not_administer() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    let list = [acl(1, "world", "anyone"), acl(31, "digest", &digest("ann:secret"))];
    create_with(&mut raw, "/a", &list);
    assert_eq!(get_acl(&mut raw, "/a").unwrap(), [list[0].clone(), acl(31, "digest", "ann:x")]);
    raw.auth("digest", "ann:secret");
    assert_eq!(get_acl(&mut raw, "/a").unwrap(), list);
}

#[test]
fn exists_asks_for_no_permission_on_older_servers() {
    for (version, expected) in [("3.8.3", true), ("3.8.4", false), ("3.9.1", true), ("3.9.2", false)] {
        let server = Server::builder().emulate(version).start().unwrap();
        let mut raw = Raw::connect(&server.connect_string());
        create_with(&mut raw, "/a", &[acl(4, "world", "anyone")]);
        assert_eq!(raw.exists("/a", false).is_ok(), expected, "{version}");
    }
}

#[test]
fn an_address_can_be_let_in() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    create_with(&mut raw, "/mine", &[acl(31, "ip", "127.0.0.1")]);
    create_with(&mut raw, "/theirs", &[acl(31, "ip", "10.0.0.0/8")]);
    assert_eq!(raw.set("/mine", b"").map(|s| s.version), Ok(1));
    assert_eq!(raw.set("/theirs", b""), Err(-102));
}

#[test]
fn an_unknown_scheme_ends_the_connection() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    let reply = raw.call(Op::AUTH, |w| _ = w.int(0).string("unheard-of").buffer(Some(b"")));
    assert_eq!((reply.err, reply.zxid), (-115, 0));
    assert!(raw.is_closed());
}

#[test]
fn the_super_user_may_do_everything() {
    let server = Server::builder().super_digest(&digest("super:test")).start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    create_with(&mut raw, "/locked", &[acl(1, "digest", "nobody:x")]);
    assert_eq!(raw.set("/locked", b""), Err(-102));
    assert_eq!(raw.auth("digest", "super:wrong"), 0);
    assert_eq!(raw.set("/locked", b""), Err(-102));
    assert_eq!(raw.auth("digest", "super:test"), 0);
    assert_eq!(raw.set("/locked", b"").map(|s| s.version), Ok(1));
}

#[test]
fn a_read_only_server_refuses_writes_and_clients_that_cannot_bear_it() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    raw.create("/a", 0).unwrap();
    server.set_read_only(true);
    assert_eq!(raw.create("/b", 0), Err(-119));
    assert_eq!(raw.delete("/a"), -119);
    assert!(raw.exists("/a", false).is_ok());
    assert!(Raw::attach(&server.connect_string(), 0, &[0; 16], 5000, 0).is_none());
    server.set_read_only(false);
    assert_eq!(raw.delete("/a"), 0);
}

#[test]
fn a_server_can_insist_on_knowing_who_asks() {
    let server = Server::builder().require_auth("digest").start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    assert_eq!(raw.call(Op::EXISTS, |w| _ = w.string("/").bool(false)).err, -124);
    assert!(raw.is_closed());
    let mut raw = Raw::connect(&server.connect_string());
    assert_eq!(raw.auth("digest", "ann:secret"), 0);
    assert!(raw.exists("/", false).is_ok());
}
