//! What is written is read again as the same, whatever it is; and it is written as ZooKeeper does, byte by byte.

mod support;

use std::collections::BTreeSet;

use support::{Random, cases, ops, reply_frame, request_frame, seed};
use zkrecipes_protocol::{
    Acl, Code, CreateArgs, Event, EventKind, Hello, Op, OpName, Reader, Reply, ReplyHead, Request,
    RequestHead, Stat, SubRead, SubWrite, WORDS, Welcome, Writer, XID_AUTH, XID_EVENT, event_path, frame_at,
    is_word, op_name, parse_request, size,
};

const DEFAULT: u64 = 20_000;

/// What stands behind the length, which is right.
fn content(frame: &[u8]) -> &[u8] {
    let (content, taken) = frame_at(frame, usize::MAX).expect("in bounds").expect("whole");
    assert_eq!(taken, frame.len());
    content
}

/// All names but that of the handshake, which has no head, and of what servers ask themselves only.
fn all_names() -> BTreeSet<OpName> {
    let not_asked = [Op::CONNECT, Op::DELETE_CONTAINER].map(op_name);
    Op::NAMES.iter().copied().filter(|name| !not_asked.contains(name)).collect()
}

#[test]
fn every_request_is_read_again() {
    let (mut random, mut seen) = (Random(seed()), BTreeSet::new());
    for _ in 0..cases(DEFAULT) {
        let (xid, request) = (random.int(), random.request());
        let frame = request_frame(xid, &request);
        let (head, body) = RequestHead::split(content(&frame)).expect("a head");
        assert_eq!(head, RequestHead { xid, op: request.op() });
        assert_eq!(parse_request(head.op, body).as_ref(), Ok(&request));
        seen.insert(op_name(head.op));
    }
    assert_eq!(seen, all_names(), "these are all that there are");
}

fn size_of(write: &SubWrite) -> usize {
    let bytes = |data: Option<&[u8]>| data.map_or(0, <[u8]>::len);
    match write {
        SubWrite::Create(CreateArgs { op, path, data, acl, .. }) => {
            let acl = size::acl(acl.iter().map(|entry| (entry.scheme.len(), entry.id.len())));
            size::create(path.len(), bytes(*data), acl, *op == Op::CREATE_TTL)
        }
        SubWrite::Delete { path, .. } => size::delete(path.len()),
        SubWrite::SetData { path, data, .. } => size::set_data(path.len(), bytes(*data)),
        SubWrite::Check { path, .. } => size::check(path.len()),
    }
}

#[test]
fn a_request_takes_as_much_as_is_foretold() {
    let (mut random, mut compared) = (Random(seed()), 0);
    for _ in 0..cases(DEFAULT) {
        let request = random.request();
        let foretold = match &request {
            Request::Write(write) => size_of(write),
            Request::Multi(writes) => {
                size::empty_multi() + writes.iter().map(|write| size::part(size_of(write))).sum::<usize>()
            }
            Request::MultiRead(reads) => {
                let read = |read: &SubRead| {
                    let (SubRead::GetData { path, .. } | SubRead::GetChildren { path, .. }) = read;
                    size::part(size::read(path.len()))
                };
                size::empty_multi() + reads.iter().map(read).sum::<usize>()
            }
            Request::Exists { path, .. }
            | Request::GetData { path, .. }
            | Request::GetChildren { path, .. }
            | Request::GetChildren2 { path, .. } => size::read(path.len()),
            Request::Sync { path } => size::sync(path.len()),
            _ => continue,
        };
        assert_eq!(content(&request_frame(1, &request)).len(), foretold, "{request:?}");
        compared += 1;
    }
    assert!(compared > cases(DEFAULT) / 4);
}

#[test]
fn every_reply_is_read_again() {
    let mut random = Random(seed());
    let ops = ops();
    assert_eq!(ops.iter().copied().map(op_name).collect::<BTreeSet<_>>(), all_names());
    for nth in 0..cases(DEFAULT) as usize {
        let op = ops[nth % ops.len()];
        let (head, reply) =
            (ReplyHead { xid: random.int(), zxid: random.long(), err: random.int() }, random.reply(op));
        let frame = reply_frame(head.xid, head.zxid, head.err, &reply);
        assert_eq!(ReplyHead::of(&frame), Some(head));
        let mut r = Reader::new(content(&frame));
        assert_eq!(ReplyHead::read(&mut r), Ok(head));
        assert_eq!(Reply::read(op, &mut r).as_ref(), Ok(&reply), "{op:?}");
        assert!(r.is_empty(), "{reply:?} has more than is read");
    }
}

#[test]
fn every_handshake_and_event_is_read_again() {
    let mut random = Random(seed());
    for _ in 0..cases(DEFAULT) {
        let hello = random.hello();
        assert_eq!(Hello::read(content(&hello.frame())), Ok(hello));
        let welcome = random.welcome();
        assert_eq!(Welcome::read(content(&welcome.frame())), Ok(welcome));

        let (kind, path, zxid) = random.event();
        let frame = Event::frame(kind, &path, zxid);
        assert_eq!(event_path(&frame), path);
        let mut r = Reader::new(content(&frame));
        assert_eq!(ReplyHead::read(&mut r), Ok(ReplyHead { xid: XID_EVENT, zxid, err: 0 }));
        assert_eq!(Event::read(&mut r), Ok(Event { kind: Some(kind), path }));
        assert!(r.is_empty());
    }
}

#[test]
fn every_code_is_itself_and_there_are_no_others() {
    let known: Vec<Code> = (-200..=0).filter_map(Code::of).collect();
    assert_eq!(known.len(), 20);
    assert!(known.iter().all(|code| Code::of(*code as i32) == Some(*code)));
    assert!([1, i32::MAX, i32::MIN].into_iter().all(|err| Code::of(err).is_none()));
}

#[test]
fn a_word_is_no_length_and_a_length_is_no_word() {
    assert!(WORDS.iter().all(|word| is_word(**word) && frame_at(&word[..], 1 << 20).is_err()));
    let mut random = Random(seed());
    for _ in 0..cases(DEFAULT) {
        let prefix = (random.next() as u32).to_be_bytes();
        assert_eq!(is_word(prefix), WORDS.contains(&&prefix));
    }
}

/// As Java does: each half of a surrogate pair on its own, and what is no UTF-8 is read as U+FFFD.
#[test]
fn what_lies_beyond_the_basic_plane_takes_six_bytes() {
    let mut w = Writer::frame();
    w.string("a😀");
    let frame = w.finish();
    assert_eq!(content(&frame), b"\0\0\0\x07a\xed\xa0\xbd\xed\xb8\x80");
    let read = Reader::new(content(&frame)).string().expect("a text");
    assert!(read.starts_with('a') && read[1..].chars().all(|c| c == '\u{fffd}'), "{read}");
}

/// Bytes as ZooKeeper's own client and server write them, by the fields of `zookeeper.jute`: a field that changed places
/// with another one would be read again as the same.
#[test]
fn the_bytes_are_those_of_zookeeper() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();

    let acl = vec![Acl { perms: 31, scheme: "world".into(), id: "anyone".into() }];
    let (path, data) = ("/a".into(), Some(&b"xy"[..]));
    let create =
        Request::Write(SubWrite::Create(CreateArgs { op: Op::CREATE2, path, data, acl, flags: 3, ttl: -1 }));
    let head = "00000033 00000007 0000000f";
    let body =
        "00000002 2f61 00000002 7879 00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65 00000003";
    assert_eq!(hex(&request_frame(7, &create)), format!("{head}{body}").replace(' ', ""));

    let auth = Request::Auth { scheme: "digest".into(), auth: b"u:p" };
    let frame = "0000001d fffffffc 00000064 00000000 00000006 646967657374 00000003 753a70";
    assert_eq!(hex(&request_frame(XID_AUTH, &auth)), frame.replace(' ', ""));

    let check = Request::Multi(vec![SubWrite::Check { path: "/a".into(), version: 2 }]);
    let parts = "0000000d 00 ffffffff 00000002 2f61 00000002 ffffffff 01 ffffffff";
    assert_eq!(
        hex(&request_frame(1, &check)),
        format!("00000024 00000001 0000000e {parts}").replace(' ', "")
    );

    let stat = Stat {
        czxid: 1,
        mzxid: 2,
        ctime: 3,
        mtime: 4,
        version: 5,
        cversion: 6,
        aversion: 7,
        ephemeral_owner: 8,
        data_length: 9,
        num_children: 10,
        pzxid: 11,
    };
    let long = |number: u64| format!("{number:016x}");
    let int = |number: u32| format!("{number:08x}");
    let longs = [1, 2, 3, 4].map(long).concat();
    let fields = [longs, [5, 6, 7].map(int).concat(), long(8), [9, 10].map(int).concat(), long(11)].concat();
    let reply = Reply::Data { data: Some(b"z"[..].into()), stat };
    let head = ["00000059", "00000007", &long(12), "00000000", "00000001", "7a"].concat();
    assert_eq!(hex(&reply_frame(7, 12, 0, &reply)), head + &fields);

    let event = Event::frame(EventKind::Deleted, "/a", -1);
    let frame = "0000001e ffffffff ffffffffffffffff 00000000 00000002 00000003 00000002 2f61";
    assert_eq!(hex(&event), frame.replace(' ', ""));

    let hello = Hello { zxid_seen: 1, timeout: 2, session: 3, password: b"p", read_only: Some(true) };
    let frame = "0000001e 00000000 0000000000000001 00000002 0000000000000003 00000001 70 01";
    assert_eq!(hex(&hello.frame()), frame.replace(' ', ""));
    let welcome = Welcome { timeout: 2, session: 3, password: b"p", read_only: Some(false) };
    let frame = "00000016 00000000 00000002 0000000000000003 00000001 70 00";
    assert_eq!(hex(&welcome.frame()), frame.replace(' ', ""));
}
