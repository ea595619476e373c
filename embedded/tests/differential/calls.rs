//! Random operations, the same for both servers.

use crate::support::{Raw, open_acl};
use std::fmt;
use zkrecipes_embedded::wire::{Acl, Op, Writer};

/// splitmix64, and what the servers to compare can bear.
pub struct Random {
    pub state: u64,
    /// Before 3.9, a server keeps one mode for each path and connection, the last one set: the others are lost. The
    /// embedded server does not copy that, so modes are kept apart, each to its own part of the tree.
    pub one_mode_a_path: bool,
}

impl Random {
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

type Encode = Box<dyn Fn(&mut Writer, i64)>;

/// One request, and how to write it down for a server whose zxids start at some base.
pub struct Call {
    pub op: Op,
    what: String,
    encode: Encode,
}

impl Call {
    fn new(op: Op, what: String, encode: impl Fn(&mut Writer, i64) + 'static) -> Call {
        Call { op, what, encode: Box::new(encode) }
    }

    pub fn encode(&self, w: &mut Writer, base: i64) {
        (self.encode)(w, base);
    }

    pub fn xid(&self, n: usize) -> i32 {
        match self.op {
            Op::AUTH => -4,
            Op::SET_WATCHES | Op::SET_WATCHES2 => -8,
            _ => n as i32 + 1,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", zkrecipes_embedded::wire::op_name(self.op), self.what)
    }
}

/// Several calls in one flight. Auth goes alone, since its answer may overtake; and so does setACL, since a real
/// server checks what follows in the same flight now by the old list, now by the new one.
pub fn burst(length: usize, mut next: impl FnMut() -> Call) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    while calls.len() < length {
        let call = next();
        if matches!(call.op, Op::AUTH | Op::SET_ACL) {
            return if calls.is_empty() { vec![call] } else { calls };
        }
        calls.push(call);
    }
    calls
}

fn path(random: &mut Random) -> String {
    const NAMES: [&str; 4] = ["a", "b", "c", "n-"];
    match random.below(60) {
        0 => random.pick(&["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"]).to_owned(),
        1 => random.pick(&["/x//y", "/a/", "a", "/a/./b", "/a/..", "/\u{7f}", "/ä", "/..."]).to_owned(),
        _ => {
            let depth = 1 + random.below(3);
            (0..depth).map(|_| format!("/{}", random.pick(&NAMES))).collect()
        }
    }
}

/// Which watches a path may carry where they must not mix: one-time, persistent or recursive ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Once,
    Persistent,
    Recursive,
}

impl Random {
    fn may_carry(&self, path: &str, mode: Mode) -> bool {
        let only = match path.get(..2) {
            Some("/b") => Mode::Persistent,
            Some("/c") => Mode::Recursive,
            _ => Mode::Once,
        };
        !self.one_mode_a_path || mode == only
    }

    fn path_for(&mut self, mode: Mode) -> String {
        loop {
            let path = path(self);
            if self.may_carry(&path, mode) {
                return path;
            }
        }
    }
}

fn version(random: &mut Random) -> i32 {
    random.pick(&[-1, -1, -1, 0, 1, 2])
}

fn acl(random: &mut Random) -> Vec<Acl> {
    let entry = |perms, scheme: &str, id: &str| Acl { perms, scheme: scheme.into(), id: id.into() };
    match random.below(40) {
        0 => vec![],
        1 => vec![entry(31, "auth", "")],
        2 => vec![entry(31, "ip", "127.0.0.1"), entry(1, "world", "anyone")],
        3 => vec![entry(31, "ip", "10.1.2.3/8")],
        4 => vec![entry(1 << random.below(5), "world", "anyone")],
        5 => vec![
            entry(31, "digest", "ann:hash"),
            entry(31, "world", "anyone"),
            entry(31, "digest", "ann:hash"),
        ],
        6 => vec![entry(31, "digest", random.pick(&["x", "a:b:c", "a:", ":b"]))],
        7 => vec![entry(31, random.pick(&["none", "world", "ip"]), "nobody")],
        8 => vec![entry(29, "auth", "ignored"), entry(3, "world", "anyone")],
        _ => open_acl(),
    }
}

fn data(random: &mut Random) -> Option<Vec<u8>> {
    match random.below(10) {
        0 => None,
        1 => Some(Vec::new()),
        _ => Some(random.next().to_be_bytes()[..1 + random.below(8)].to_vec()),
    }
}

fn create(random: &mut Random, in_multi: bool) -> Call {
    let (path, data, acl) = (path(random), data(random), acl(random));
    let op = random.pick(&[
        Op::CREATE,
        Op::CREATE,
        Op::CREATE2,
        Op::CREATE2,
        Op::CREATE_CONTAINER,
        Op::CREATE_TTL,
    ]);
    let flags = match op {
        Op::CREATE_CONTAINER => 4,
        Op::CREATE_TTL => random.pick(&[5, 6, 5, 6, 0]),
        // Before 3.8.2, a multi that stumbles over a time to live leaves traces of what it had prepared.
        _ if in_multi && random.one_mode_a_path => random.pick(&[0, 0, 1, 2, 3, 4, 7]),
        _ => random.pick(&[0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 7, -1]),
    };
    // A plain node by way of createTTL, without a time to live, brings a real server down: leave that out.
    let ttl = random.pick(&[1i64 << 36, 1 << 39, 0, 1 << 40]);
    Call::new(op, format!("{path} {data:?} {acl:?} flags {flags} ttl {ttl}"), move |w, _| {
        w.string(&path).buffer(data.as_deref()).acl(&acl).int(flags);
        if op == Op::CREATE_TTL {
            w.long(ttl);
        }
    })
}

fn change(random: &mut Random) -> Call {
    let (path, version) = (path(random), version(random));
    match random.below(8) {
        0..3 => {
            Call::new(Op::DELETE, format!("{path} v{version}"), move |w, _| _ = w.string(&path).int(version))
        }
        3..7 => {
            let data = data(random);
            Call::new(Op::SET_DATA, format!("{path} {data:?} v{version}"), move |w, _| {
                w.string(&path).buffer(data.as_deref()).int(version);
            })
        }
        _ => {
            let acl = acl(random);
            Call::new(Op::SET_ACL, format!("{path} {acl:?} v{version}"), move |w, _| {
                w.string(&path).acl(&acl).int(version);
            })
        }
    }
}

fn check(random: &mut Random) -> Call {
    let (path, version) = (path(random), version(random));
    Call::new(Op::CHECK, format!("{path} v{version}"), move |w, _| _ = w.string(&path).int(version))
}

fn read(random: &mut Random) -> Call {
    let path = path(random);
    let watch = random.below(3) == 0 && random.may_carry(&path, Mode::Once);
    let op = random.pick(&[
        Op::EXISTS,
        Op::EXISTS,
        Op::GET_DATA,
        Op::GET_DATA,
        Op::GET_CHILDREN,
        Op::GET_CHILDREN2,
    ]);
    Call::new(op, format!("{path} watch {watch}"), move |w, _| _ = w.string(&path).bool(watch))
}

fn of_path(random: &mut Random) -> Call {
    let op =
        random.pick(&[Op::GET_ACL, Op::GET_ACL, Op::SYNC, Op::GET_EPHEMERALS, Op::GET_ALL_CHILDREN_NUMBER]);
    let path = path(random);
    Call::new(op, path.clone(), move |w, _| _ = w.string(&path))
}

fn watch(random: &mut Random) -> Call {
    let (op, path, number) = match random.below(6) {
        0 | 1 => (Op::ADD_WATCH, random.path_for(Mode::Persistent), 0),
        2 => (Op::ADD_WATCH, random.path_for(Mode::Recursive), 1),
        3 => (Op::ADD_WATCH, path(random), 2),
        // Older servers look for any watch of anybody's, and take away more than they were asked to.
        _ if random.one_mode_a_path => (Op::REMOVE_WATCHES, path(random), 3 + random.below(3) as i32),
        4 => (Op::REMOVE_WATCHES, path(random), 1 + random.below(5) as i32),
        _ => (Op::CHECK_WATCHES, path(random), 1 + random.below(5) as i32),
    };
    Call::new(op, format!("{path} {number}"), move |w, _| _ = w.string(&path).int(number))
}

fn set_watches(random: &mut Random) -> Call {
    let op = random.pick(&[Op::SET_WATCHES, Op::SET_WATCHES2]);
    let modes = [Mode::Once, Mode::Once, Mode::Once, Mode::Persistent, Mode::Recursive];
    let sent = if op == Op::SET_WATCHES { 3 } else { 5 };
    let lists: Vec<Vec<String>> = modes[..sent]
        .iter()
        .map(|mode| (0..random.below(3)).map(|_| random.path_for(*mode)).collect())
        .collect();
    let seen = random.below(20_000) as i64;
    Call::new(op, format!("seen base+{seen} {lists:?}"), move |w, base| {
        w.long(base + seen);
        for list in &lists {
            w.int(list.len() as i32);
            list.iter().for_each(|path| _ = w.string(path));
        }
    })
}

fn multi(random: &mut Random) -> Call {
    let reads = random.below(5) == 0;
    let parts: Vec<Call> = (0..random.below(6))
        .map(|_| match (reads, random.below(8)) {
            (true, _) => loop {
                let call = read(random);
                if matches!(call.op, Op::GET_DATA | Op::GET_CHILDREN) {
                    break call;
                }
            },
            (false, 0..4) => create(random, true),
            (false, 4) => check(random),
            (false, _) => loop {
                let call = change(random);
                if call.op != Op::SET_ACL {
                    break call;
                }
            },
        })
        .collect();
    let what = parts.iter().map(|p| format!("[{p}]")).collect();
    Call::new(if reads { Op::MULTI_READ } else { Op::MULTI }, what, move |w, base| {
        for part in &parts {
            w.int(part.op.0).bool(false).int(-1);
            part.encode(w, base);
        }
        w.int(-1).bool(true).int(-1);
    })
}

/// Any request but those that end the connection.
pub fn random_call(random: &mut Random) -> Call {
    match random.below(100) {
        0..28 => create(random, false),
        28..50 => change(random),
        50..70 => read(random),
        70..80 => multi(random),
        80..88 => watch(random),
        88..94 => of_path(random),
        94 | 95 => set_watches(random),
        96 => Call::new(Op::WHO_AM_I, String::new(), |_, _| {}),
        97 => {
            let who = random.pick(&["ann:secret", "bob:secret", "odd", ""]);
            Call::new(Op::AUTH, who.to_owned(), move |w, _| {
                w.int(0).string("digest").buffer(Some(who.as_bytes()));
            })
        }
        98 => Call::new(Op::RECONFIG, String::new(), |w, _| _ = w.string("").string("").string("").long(-1)),
        _ => {
            // Makes room, so that the tree does not only grow: the three top nodes and what is below come and go.
            let path = format!("/{}", random.pick(&["a", "b", "c"]));
            Call::new(Op::CREATE, path.clone(), move |w, _| Raw::create_body(w, &path, b"", 0))
        }
    }
}
