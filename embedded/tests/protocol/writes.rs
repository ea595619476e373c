//! Creates, deletes, changes, multis, and the numbers they leave behind.

use crate::support::{Raw, Reply, open_acl};
use zkrecipes_embedded::wire::{Op, Reader, Writer};
use zkrecipes_embedded::{Fault, Server};

const SEQUENTIAL: i32 = 2;

fn start() -> (Server, Raw) {
    let server = Server::start().unwrap();
    let raw = Raw::connect(&server.connect_string());
    (server, raw)
}

#[test]
fn every_write_takes_a_zxid_failed_ones_too_and_reads_take_none() {
    let (server, mut raw) = start();
    let start = server.zxid();
    assert_eq!(start, 1, "the session itself took one");
    raw.create("/a", 0).unwrap();
    assert_eq!(raw.create("/a", 0), Err(-110));
    assert_eq!(raw.delete("/missing"), -101);
    assert_eq!(raw.call(Op::SET_ACL, |w| _ = w.string("/a").acl(&open_acl()).int(9)).err, -103);
    assert_eq!(server.zxid(), start + 4);
    raw.exists("/a", false).unwrap();
    raw.call(Op::SYNC, |w| _ = w.string("/a"));
    assert_eq!(raw.ping().zxid, start + 4, "replies carry the last transaction");
}

#[test]
fn a_suffix_is_the_number_of_creates_not_the_cversion() {
    let (_server, mut raw) = start();
    raw.create("/p", 0).unwrap();
    for n in 0..3 {
        assert_eq!(raw.create("/p/n-", SEQUENTIAL), Ok(format!("/p/n-000000000{n}")));
    }
    raw.delete("/p/n-0000000001");
    let stat = raw.exists("/p", false).unwrap();
    assert_eq!((stat.cversion, stat.num_children), (4, 2));
    assert_eq!(raw.create("/p/n-", SEQUENTIAL), Ok("/p/n-0000000003".to_owned()));
    assert_eq!(raw.create("/p/", SEQUENTIAL), Ok("/p/0000000004".to_owned()));
}

#[test]
fn at_the_end_of_the_range_the_counter_stops() {
    let (server, mut raw) = start();
    raw.create("/p", 0).unwrap();
    assert!(server.set_next_sequence("/p", i32::MAX));
    assert!(!server.set_next_sequence("/missing", 1));
    let before = raw.exists("/p", false).unwrap();
    assert_eq!(raw.create("/p/a-", SEQUENTIAL), Ok("/p/a-2147483647".to_owned()));
    assert_eq!(raw.create("/p/a-", SEQUENTIAL), Err(-110), "the same suffix again");
    assert_eq!(raw.create("/p/b-", SEQUENTIAL), Ok("/p/b-2147483647".to_owned()));
    assert_eq!(raw.exists("/p", false).unwrap().pzxid, before.pzxid);

    server.set_next_sequence("/p", -3);
    assert_eq!(raw.create("/p/c-", SEQUENTIAL), Ok("/p/c--000000003".to_owned()));
    assert_eq!(raw.create("/p/c-", SEQUENTIAL), Ok("/p/c--000000002".to_owned()));
}

#[test]
fn creates_in_one_flight_run_past_the_end_of_the_range() {
    let (server, mut raw) = start();
    raw.create("/p", 0).unwrap();
    server.set_next_sequence("/p", i32::MAX);
    let mut burst = Vec::new();
    for xid in 100..103 {
        let mut w = Writer::frame();
        w.int(xid).int(Op::CREATE.0);
        Raw::create_body(&mut w, "/p/a-", b"", SEQUENTIAL);
        burst.extend(w.finish());
    }
    std::io::Write::write_all(&mut raw.stream, &burst).unwrap();
    let names: Vec<String> = (0..3).map(|_| raw.receive().unwrap().string().unwrap()).collect();
    assert_eq!(names, ["/p/a-2147483647", "/p/a--2147483648", "/p/a--2147483647"]);
    raw.ping();
    assert_eq!(raw.create("/p/b-", SEQUENTIAL), Ok("/p/b-2147483647".to_owned()), "and it returns");
}

#[test]
fn creates_fail_in_the_order_a_real_server_checks() {
    let (_server, mut raw) = start();
    raw.create("/p", 0).unwrap();
    raw.create("/e", 1).unwrap();
    for (path, flags, error) in [
        ("/p", 9, -8),
        ("/p/x", 5, -8),
        ("relative", 0, -8),
        ("/missing/x", 0, -101),
        ("/p", 0, -110),
        ("/e/x", 0, -108),
        ("/p//x", 0, -101),
        ("/p/.", 0, -8),
        ("/p/a\u{1}", 0, -8),
        ("/p/\u{1F600}", 0, -8),
        ("/", 0, -110),
    ] {
        // A time to live is refused before anything else looks at it, unless it was allowed.
        let expected = if flags == 5 { -6 } else { error };
        assert_eq!(raw.create(path, flags), Err(expected), "{path} {flags}");
    }
    let no_acl = raw.call(Op::CREATE, |w| _ = w.string("/missing/x").buffer(None).int(0).int(0));
    assert_eq!(no_acl.err, -114, "the list is looked at before the parent");
    assert_eq!(raw.create("/p/ok", 0), Ok("/p/ok".to_owned()));
}

#[test]
fn null_data_stays_null() {
    let (_server, mut raw) = start();
    raw.call(Op::CREATE, |w| _ = w.string("/n").buffer(None).acl(&open_acl()).int(0));
    let reply = raw.call(Op::GET_DATA, |w| _ = w.string("/n").bool(false));
    assert_eq!(reply.ok(|r| r.buffer().map(|b| b.is_none())), Ok(true));
}

#[test]
fn stats_follow_every_change() {
    let (_server, mut raw) = start();
    raw.create("/a", 0).unwrap();
    let a = raw.exists("/a", false).unwrap();
    assert_eq!(
        (a.mzxid, a.pzxid, a.ctime, a.version, a.cversion, a.aversion),
        (a.czxid, a.czxid, a.mtime, 0, 0, 0)
    );
    raw.create("/a/b", 0).unwrap();
    let with_child = raw.exists("/a", false).unwrap();
    assert_eq!((with_child.pzxid, with_child.cversion, with_child.mzxid), (a.czxid + 1, 1, a.mzxid));
    raw.set("/a/b", b"xyz").unwrap();
    assert_eq!(
        raw.exists("/a", false).unwrap(),
        with_child,
        "changing a child's data leaves the parent alone"
    );
    assert_eq!(
        raw.call(Op::SET_ACL, |w| _ = w.string("/a").acl(&open_acl()).int(0)).stat().unwrap().aversion,
        1
    );
    raw.delete("/a/b");
    let after = raw.exists("/a", false).unwrap();
    assert_eq!((after.pzxid, after.cversion, after.num_children, after.version), (a.czxid + 4, 2, 0, 0));
}

#[test]
fn deleting_checks_the_version_before_the_children() {
    let (_server, mut raw) = start();
    raw.create("/a", 0).unwrap();
    raw.create("/a/b", 0).unwrap();
    assert_eq!(raw.call(Op::DELETE, |w| _ = w.string("/a").int(5)).err, -103);
    assert_eq!(raw.delete("/a"), -111);
    assert_eq!(raw.delete("/zookeeper"), -8);
    assert_eq!(raw.delete("/"), -8);
}

#[test]
fn a_fresh_tree_holds_the_system_nodes() {
    let (server, mut raw) = start();
    assert_eq!(raw.children("/", false).unwrap(), ["zookeeper"]);
    assert_eq!(raw.children("/zookeeper", false).unwrap(), ["config", "quota"]);
    assert_eq!(
        (raw.exists("/", false).unwrap().cversion, raw.exists("/zookeeper", false).unwrap().cversion),
        (-1, -2)
    );
    raw.create("/a", 0).unwrap();
    let all = |raw: &mut Raw, path: &str| {
        raw.call(Op::GET_ALL_CHILDREN_NUMBER, |w| _ = w.string(path)).ok(|r| r.int()).unwrap()
    };
    assert_eq!((all(&mut raw, "/"), all(&mut raw, "/zookeeper"), server.node_count()), (4, 2, 5));
}

#[test]
fn ephemerals_are_listed_by_prefix() {
    let (_server, mut raw) = start();
    for (path, flags) in [("/a", 1), ("/ab", 1), ("/c", 0)] {
        raw.create(path, flags).unwrap();
    }
    let mut list = |prefix: &str| {
        let reply = raw.call(Op::GET_EPHEMERALS, |w| _ = w.string(prefix));
        reply.ok(|r| r.vector(|r| Ok(r.string()?.into_owned()))).unwrap()
    };
    assert_eq!(list("/"), ["/a", "/ab"]);
    assert_eq!(list("/ab"), ["/ab"]);
    assert!(list("/c").is_empty());
}

/// What a multi answers, one line for each operation.
fn results(reply: &Reply) -> Vec<String> {
    let mut r = Reader::new(&reply.body);
    let r = &mut r;
    let mut lines = Vec::new();
    loop {
        let (kind, done, err) = (r.int().unwrap(), r.bool().unwrap(), r.int().unwrap());
        if done {
            assert_eq!((kind, err, r.is_empty()), (-1, -1, true));
            return lines;
        }
        lines.push(match kind {
            -1 => format!("error {} {}", err, r.int().unwrap()),
            1 => format!("create {}", r.string().unwrap()),
            15 => format!("create2 {} v{}", r.string().unwrap(), r.stat().unwrap().version),
            5 => format!("set v{}", r.stat().unwrap().version),
            4 => format!("data {:?} v{}", r.buffer().unwrap(), r.stat().unwrap().version),
            8 => format!("children {:?}", r.vector(|r| Ok(r.string()?.into_owned())).unwrap()),
            other => format!("op {other}"),
        });
    }
}

fn part(w: &mut Writer, op: Op) -> &mut Writer {
    w.int(op.0).bool(false).int(-1)
}

fn create(w: &mut Writer, op: Op, path: &str, flags: i32) {
    Raw::create_body(part(w, op), path, b"", flags);
}

fn end(w: &mut Writer) {
    w.int(-1).bool(true).int(-1);
}

#[test]
fn a_multi_answers_operation_by_operation_under_one_zxid() {
    let (server, mut raw) = start();
    let before = server.zxid();
    let reply = raw.call(Op::MULTI, |w| {
        create(w, Op::CREATE, "/p", 0);
        create(w, Op::CREATE2, "/p/n-", SEQUENTIAL);
        create(w, Op::CREATE2, "/p/n-", SEQUENTIAL);
        part(w, Op::SET_DATA).string("/p").buffer(Some(b"x")).int(0);
        part(w, Op::CHECK).string("/p").int(1);
        part(w, Op::DELETE).string("/p/n-0000000000").int(-1);
        end(w);
    });
    assert_eq!((reply.err, reply.zxid), (0, before + 1));
    let expected =
        ["create /p", "create2 /p/n-0000000000 v0", "create2 /p/n-0000000001 v0", "set v1", "op 13", "op 2"];
    assert_eq!(results(&reply), expected);
    assert_eq!(raw.exists("/p/n-0000000001", false).unwrap().czxid, before + 1);
}

#[test]
fn a_failed_multi_leaves_nothing_behind_but_its_zxid() {
    let (server, mut raw) = start();
    raw.create("/p", 0).unwrap();
    raw.create("/p/n-", SEQUENTIAL).unwrap();
    raw.set("/p", b"old").unwrap();
    let (parent, zxid) = (raw.exists("/p", true).unwrap(), server.zxid());
    let reply = raw.call(Op::MULTI, |w| {
        create(w, Op::CREATE, "/p/n-", SEQUENTIAL);
        part(w, Op::DELETE).string("/p/n-0000000000").int(-1);
        part(w, Op::SET_DATA).string("/p").buffer(Some(b"new")).int(-1);
        part(w, Op::CHECK).string("/p").int(99);
        part(w, Op::DELETE).string("/p").int(-1);
        end(w);
    });
    assert_eq!((reply.err, reply.zxid), (0, zxid + 1));
    assert_eq!(results(&reply), ["error 0 0", "error 0 0", "error 0 0", "error -103 -103", "error -2 -2"]);
    assert_eq!(raw.exists("/p", false).unwrap(), parent);
    assert_eq!(raw.events(), [], "and nobody heard of it");
    assert_eq!(raw.create("/p/n-", SEQUENTIAL), Ok("/p/n-0000000001".to_owned()), "numbers roll back");
    let failed = server.log().into_iter().find(|e| e.op == "multi").unwrap();
    assert_eq!((failed.error, failed.path.as_str(), failed.parts.len()), (-103, "/p/n-", 5));
}

#[test]
fn a_quota_that_is_used_up_refuses_the_part_that_it_is_about() {
    let (server, mut raw) = start();
    raw.create("/p", 0).unwrap();
    server.inject(Fault::answer_quota_exceeded("*").path("/p/**").times(2));
    raw.exists("/p/a", false).unwrap_err();
    assert_eq!(raw.create("/p/a", 0), Err(-125));
    let reply = raw.call(Op::MULTI, |w| {
        part(w, Op::CHECK).string("/p").int(0);
        create(w, Op::CREATE, "/q", 0);
        create(w, Op::CREATE2, "/p/b", 0);
        part(w, Op::DELETE).string("/p").int(-1);
        end(w);
    });
    assert_eq!(reply.err, 0);
    assert_eq!(results(&reply), ["error 0 0", "error 0 0", "error -125 -125", "error -2 -2"]);
    assert_eq!(server.nodes(), ["/p"]);
    let refused = server.log().into_iter().find(|e| e.op == "multi").unwrap();
    assert_eq!(refused.error, -125);
    raw.create("/p/a", 0).unwrap();
}

#[test]
fn an_empty_multi_is_fine_and_reads_fail_one_by_one() {
    let (server, mut raw) = start();
    let zxid = server.zxid();
    assert!(results(&raw.call(Op::MULTI, end)).is_empty());
    assert_eq!(server.zxid(), zxid + 1);
    raw.create("/a", 0).unwrap();
    let reply = raw.call(Op::MULTI_READ, |w| {
        part(w, Op::GET_DATA).string("/a").bool(false);
        part(w, Op::GET_DATA).string("/missing").bool(false);
        part(w, Op::GET_CHILDREN).string("/").bool(false);
        end(w);
    });
    assert_eq!(results(&reply), ["data Some([]) v0", "error -101 -101", "children [\"a\", \"zookeeper\"]"]);
}

#[test]
fn inside_a_multi_flags_decide_what_a_create_makes() {
    let (server, mut raw) = start();
    let mut create_as = |op, flags, ttl: Option<i64>| {
        raw.call(Op::MULTI, |w| {
            create(w, op, "/a", flags);
            ttl.into_iter().for_each(|ttl| _ = w.long(ttl));
            part(w, Op::DELETE).string("/a").int(-1);
            end(w);
        })
    };
    assert_eq!(
        results(&create_as(Op::CREATE, 4, None)),
        ["create2 /a v0", "op 2"],
        "a container answers with a stat"
    );
    let zxid = server.zxid();
    for (op, flags) in [(Op::CREATE, 9), (Op::CREATE2, 5), (Op::CREATE_CONTAINER, -1)] {
        assert_eq!(create_as(op, flags, None).err, -5, "the whole multi makes no sense");
    }
    assert_eq!(server.zxid(), zxid + 3);
    assert_eq!(results(&create_as(Op::CREATE_TTL, 0, Some(7))), ["create /a", "op 2"]);
    assert_eq!(results(&create_as(Op::CREATE_TTL, 9, Some(7))), ["error -8 -8", "error -2 -2"]);
}

#[test]
fn a_multi_read_sets_no_watches() {
    let (server, mut raw) = start();
    raw.call(Op::MULTI_READ, |w| {
        part(w, Op::GET_DATA).string("/").bool(true);
        part(w, Op::GET_CHILDREN).string("/").bool(true);
        end(w);
    });
    assert_eq!(server.watch_count(), 0);
}

#[test]
fn older_servers_answer_create2_in_a_multi_without_a_stat() {
    let server = Server::builder().emulate("3.8.0").start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    let reply = raw.call(Op::MULTI, |w| {
        create(w, Op::CREATE2, "/a", 0);
        end(w);
    });
    assert_eq!(results(&reply), ["create /a"]);
    assert!(Server::builder().emulate("4.0").start().is_err());
}
