//! What the tests make frames of: everything that there is to say, drawn from a seed.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::borrow::Cow;

use zkrecipes_protocol::{
    Acl, CreateArgs, EventKind, Hello, Op, ReadResult, Reply, Request, Stat, SubRead, SubWrite, Welcome,
    WriteResult, Writer, op_name,
};

/// How many cases a test tries, by the environment; and with which seed it begins.
pub fn cases(default: u64) -> u64 {
    number("ZKRECIPES_CASES").unwrap_or(default)
}

pub fn seed() -> u64 {
    let seed = number("ZKRECIPES_SEED").unwrap_or(1);
    println!("ZKRECIPES_SEED={seed}");
    seed
}

fn number(name: &str) -> Option<u64> {
    let given = std::env::var(name).ok()?;
    Some(given.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// splitmix64: small, seeded, and good enough to find trouble.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    pub fn int(&mut self) -> i32 {
        let near = [0, 1, -1, i32::MAX, i32::MIN];
        if self.flag() { self.one_of(&near) } else { self.next() as i32 }
    }

    pub fn long(&mut self) -> i64 {
        if self.flag() { i64::from(self.int()) } else { self.next() as i64 }
    }

    pub fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Of the basic plane: what lies beyond it comes back in another form.
    pub fn text(&mut self) -> Cow<'static, str> {
        const KNOWN: [&str; 6] = ["/", "/a", "/locks/x-0000000001", "", "/ö/日本", "a"];
        if self.below(4) > 0 {
            return self.one_of(&KNOWN).into();
        }
        let one = |r: &mut Random| char::from_u32(r.below(0x10000) as u32).unwrap_or('\0');
        (0..self.below(20)).map(|_| one(self)).collect::<String>().into()
    }

    pub fn bytes(&mut self) -> &'static [u8] {
        self.one_of(&[&b""[..], b"x", b"a longer piece of data", &[0; 200], &[0xff; 3]])
    }

    pub fn data(&mut self) -> Option<&'static [u8]> {
        self.flag().then(|| self.bytes())
    }

    fn content(&mut self) -> Option<Cow<'static, [u8]>> {
        self.data().map(Cow::Borrowed)
    }

    pub fn many<T>(&mut self, mut one: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| one(self)).collect()
    }

    fn acl(&mut self) -> Vec<Acl> {
        self.many(|r| Acl { perms: r.int(), scheme: r.text().into_owned(), id: r.text().into_owned() })
    }

    fn stat(&mut self) -> Stat {
        Stat {
            czxid: self.long(),
            mzxid: self.long(),
            ctime: self.long(),
            mtime: self.long(),
            version: self.int(),
            cversion: self.int(),
            aversion: self.int(),
            ephemeral_owner: self.long(),
            data_length: self.int(),
            num_children: self.int(),
            pzxid: self.long(),
        }
    }

    fn write(&mut self) -> SubWrite<'static> {
        let (path, version) = (self.text(), self.int());
        match self.below(7) {
            0 => SubWrite::Delete { path, version },
            1 => SubWrite::SetData { path, data: self.data(), version },
            2 => SubWrite::Check { path, version },
            nth => {
                let op = [Op::CREATE, Op::CREATE2, Op::CREATE_CONTAINER, Op::CREATE_TTL][nth - 3];
                let ttl = if op == Op::CREATE_TTL { self.long() } else { -1 };
                let (data, acl, flags) = (self.data(), self.acl(), self.int());
                SubWrite::Create(CreateArgs { op, path, data, acl, flags, ttl })
            }
        }
    }

    fn read(&mut self) -> SubRead<'static> {
        let (path, watch) = (self.text(), self.flag());
        if self.flag() { SubRead::GetData { path, watch } } else { SubRead::GetChildren { path, watch } }
    }

    pub fn request(&mut self) -> Request<'static> {
        let (path, watch, kind) = (self.text(), self.flag(), self.int());
        match self.below(28) {
            0 => Request::SetAcl { path, acl: self.acl(), version: kind },
            1 => Request::Multi(self.many(Random::write)),
            2 => Request::MultiRead(self.many(Random::read)),
            3 => Request::Exists { path, watch },
            4 => Request::GetData { path, watch },
            5 => Request::GetAcl { path },
            6 => Request::GetChildren { path, watch },
            7 => Request::GetChildren2 { path, watch },
            8 => Request::Sync { path },
            9 => Request::Ping,
            10 => {
                let mut part = || self.flag().then_some(Cow::Borrowed("server.1=a:1:2"));
                let (joining, leaving, all) = (part(), part(), part());
                Request::Reconfig { joining, leaving, all, from: self.long() }
            }
            11 => Request::CheckWatches { path, kind },
            12 => Request::RemoveWatches { path, kind },
            13 => Request::Auth { scheme: path, auth: self.bytes() },
            14 => Request::Sasl { token: self.bytes() },
            15 => {
                let lists = std::array::from_fn(|_| self.many(Random::text));
                Request::SetWatches { seen: self.long(), lists }
            }
            16 => {
                let mut lists = std::array::from_fn(|_| self.many(Random::text));
                (lists[3], lists[4]) = (Vec::new(), Vec::new());
                Request::SetWatches { seen: self.long(), lists }
            }
            17 => Request::GetEphemerals { prefix: path },
            18 => Request::GetAllChildrenNumber { path },
            19 => Request::AddWatch { path, mode: kind },
            20 => Request::WhoAmI,
            21 => Request::Close,
            _ => Request::Write(self.write()),
        }
    }

    fn read_result(&mut self) -> ReadResult<'static> {
        match self.below(3) {
            0 => ReadResult::Data { data: self.content(), stat: self.stat() },
            1 => ReadResult::Names(self.many(Random::text)),
            _ => ReadResult::Failed(self.int()),
        }
    }

    fn write_result(&mut self) -> WriteResult<'static> {
        match self.below(6) {
            0 => WriteResult::Created { path: self.text() },
            1 => WriteResult::CreatedStat { path: self.text(), stat: self.stat() },
            2 => WriteResult::Deleted,
            3 => WriteResult::Set(self.stat()),
            4 => WriteResult::Checked,
            _ => WriteResult::Failed(self.int()),
        }
    }

    /// What a server answers to such a request.
    pub fn reply(&mut self, op: Op) -> Reply<'static> {
        match op {
            Op::CREATE | Op::SYNC => Reply::Path(self.text()),
            Op::CREATE2 | Op::CREATE_CONTAINER | Op::CREATE_TTL => {
                Reply::Created { path: self.text(), stat: self.stat() }
            }
            Op::EXISTS | Op::SET_DATA | Op::SET_ACL => Reply::Stat(self.stat()),
            Op::GET_DATA | Op::RECONFIG => Reply::Data { data: self.content(), stat: self.stat() },
            Op::GET_ACL => Reply::Acl { acl: self.acl(), stat: self.stat() },
            Op::GET_CHILDREN | Op::GET_EPHEMERALS => Reply::Names(self.many(Random::text)),
            Op::GET_CHILDREN2 => Reply::NamesAndStat { names: self.many(Random::text), stat: self.stat() },
            Op::GET_ALL_CHILDREN_NUMBER | Op::ADD_WATCH => Reply::Count(self.int()),
            Op::WHO_AM_I => Reply::Identities(self.many(|r| (r.text(), r.text()))),
            Op::SASL => Reply::Token(self.content()),
            Op::MULTI => Reply::Writes(self.many(Random::write_result)),
            Op::MULTI_READ => Reply::Reads(self.many(Random::read_result)),
            _ => Reply::Nothing,
        }
    }

    pub fn hello(&mut self) -> Hello<'static> {
        Hello {
            zxid_seen: self.long(),
            timeout: self.int(),
            session: self.long(),
            password: self.bytes(),
            read_only: self.one_of(&[None, Some(false), Some(true)]),
        }
    }

    pub fn welcome(&mut self) -> Welcome<'static> {
        Welcome {
            timeout: self.int(),
            session: self.long(),
            password: self.bytes(),
            read_only: self.one_of(&[None, Some(false), Some(true)]),
        }
    }

    pub fn event(&mut self) -> (EventKind, Cow<'static, str>, i64) {
        (self.one_of(&EventKind::ALL), self.text(), self.long())
    }
}

/// Every opcode of what clients ask behind a head.
pub fn ops() -> Vec<Op> {
    let is_asked = |op: &Op| op_name(*op) != "unknown" && ![Op::CONNECT, Op::DELETE_CONTAINER].contains(op);
    (-20..200).map(Op).filter(is_asked).collect()
}

pub fn request_frame(xid: i32, request: &Request) -> Vec<u8> {
    let mut w = Writer::request(xid, request.op());
    request.write(&mut w);
    w.finish()
}

pub fn reply_frame(xid: i32, zxid: i64, err: i32, reply: &Reply) -> Vec<u8> {
    let mut w = Writer::reply(xid, zxid, err);
    reply.write(&mut w);
    w.finish()
}
