//! What is written is read again as the same, and whatever bytes come, reading them ends well.

use std::borrow::Cow;

use zkrecipes_protocol::{
    Acl, CreateArgs, Event, Hello, Op, ReadResult, Reader, Reply, ReplyHead, Request, Stat, SubRead,
    SubWrite, Welcome, WriteResult, Writer, frame_at, parse_request,
};

/// splitmix64: small, seeded, and good enough to find trouble.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn int(&mut self) -> i32 {
        let near = [0, 1, -1, i32::MAX, i32::MIN];
        if self.below(2) == 0 { near[self.below(5) as usize] } else { self.next() as i32 }
    }

    fn long(&mut self) -> i64 {
        self.next() as i64
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    fn text(&mut self) -> Cow<'static, str> {
        let texts = ["/", "/a", "/locks/x-0000000001", "", "/ö/日本", "a"];
        texts[self.below(6) as usize].into()
    }

    fn bytes(&mut self) -> &'static [u8] {
        [&b""[..], b"x", b"a longer piece of data", &[0; 200]][self.below(4) as usize]
    }

    fn data(&mut self) -> Option<&'static [u8]> {
        self.flag().then(|| self.bytes())
    }

    fn many<T>(&mut self, mut one: impl FnMut(&mut Random) -> T) -> Vec<T> {
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
        let creates = [Op::CREATE, Op::CREATE2, Op::CREATE_CONTAINER, Op::CREATE_TTL];
        let (path, version) = (self.text(), self.int());
        match self.below(4) {
            0 => {
                let op = creates[self.below(4) as usize];
                let ttl = if op == Op::CREATE_TTL { self.long() } else { -1 };
                let (data, acl, flags) = (self.data(), self.acl(), self.int());
                SubWrite::Create(CreateArgs { op, path, data, acl, flags, ttl })
            }
            1 => SubWrite::Delete { path, version },
            2 => SubWrite::SetData { path, data: self.data(), version },
            _ => SubWrite::Check { path, version },
        }
    }

    fn read(&mut self) -> SubRead<'static> {
        let (path, watch) = (self.text(), self.flag());
        if self.flag() { SubRead::GetData { path, watch } } else { SubRead::GetChildren { path, watch } }
    }

    fn request(&mut self) -> Request<'static> {
        let (path, watch, kind) = (self.text(), self.flag(), self.int());
        match self.below(21) {
            0 => Request::Write(self.write()),
            1 => Request::SetAcl { path, acl: self.acl(), version: kind },
            2 => Request::Multi(self.many(Random::write)),
            3 => Request::MultiRead(self.many(Random::read)),
            4 => Request::Exists { path, watch },
            5 => Request::GetData { path, watch },
            6 => Request::GetAcl { path },
            7 => Request::GetChildren { path, watch },
            8 => Request::GetChildren2 { path, watch },
            9 => Request::Sync { path },
            10 => Request::Ping,
            11 => {
                let mut part = || self.flag().then_some(Cow::Borrowed("server.1=a:1:2"));
                let (joining, leaving, all) = (part(), part(), part());
                Request::Reconfig { joining, leaving, all, from: self.long() }
            }
            12 => Request::CheckWatches { path, kind },
            13 => Request::RemoveWatches { path, kind },
            14 => Request::Auth { scheme: path, auth: self.bytes() },
            15 => Request::Sasl { token: self.bytes() },
            16 => {
                let lists = std::array::from_fn(|_| self.many(Random::text));
                Request::SetWatches { seen: self.long(), lists }
            }
            17 => Request::GetEphemerals { prefix: path },
            18 => Request::GetAllChildrenNumber { path },
            19 => Request::AddWatch { path, mode: kind },
            _ => {
                if watch {
                    Request::WhoAmI
                } else {
                    Request::Close
                }
            }
        }
    }

    fn read_result(&mut self) -> ReadResult<'static> {
        match self.below(3) {
            0 => ReadResult::Data { data: self.data().map(Cow::Borrowed), stat: self.stat() },
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

    /// A reply, and what it answers.
    fn reply(&mut self) -> (Op, Reply<'static>) {
        match self.below(13) {
            0 => (Op::DELETE, Reply::Nothing),
            1 => (Op::CREATE, Reply::Path(self.text())),
            2 => (Op::CREATE2, Reply::Created { path: self.text(), stat: self.stat() }),
            3 => (Op::SET_DATA, Reply::Stat(self.stat())),
            4 => (Op::GET_DATA, Reply::Data { data: self.data().map(Cow::Borrowed), stat: self.stat() }),
            5 => (Op::GET_ACL, Reply::Acl { acl: self.acl(), stat: self.stat() }),
            6 => (Op::GET_CHILDREN, Reply::Names(self.many(Random::text))),
            7 => {
                (Op::GET_CHILDREN2, Reply::NamesAndStat { names: self.many(Random::text), stat: self.stat() })
            }
            8 => (Op::GET_ALL_CHILDREN_NUMBER, Reply::Count(self.int())),
            9 => (Op::WHO_AM_I, Reply::Identities(self.many(|r| (r.text(), r.text())))),
            10 => (Op::SASL, Reply::Token(self.data().map(Cow::Borrowed))),
            11 => (Op::MULTI, Reply::Writes(self.many(Random::write_result))),
            _ => (Op::MULTI_READ, Reply::Reads(self.many(Random::read_result))),
        }
    }
}

/// The body behind the header of a finished frame, whose length is right.
fn body(frame: &[u8], header: usize) -> &[u8] {
    let (content, taken) = frame_at(frame, usize::MAX).expect("in bounds").expect("whole");
    assert_eq!(taken, frame.len());
    &content[header..]
}

#[test]
fn what_is_written_is_read_again() {
    let mut random = Random(1);
    for _ in 0..20_000 {
        let request = random.request();
        let mut w = Writer::request(7, request.op());
        request.write(&mut w);
        let frame = w.finish();
        assert_eq!(parse_request(request.op(), body(&frame, 8)).as_ref(), Ok(&request));

        let (op, reply) = random.reply();
        let mut w = Writer::reply(7, 9, 0);
        reply.write(&mut w);
        let frame = w.finish();
        assert_eq!(ReplyHead::of(&frame), Some(ReplyHead { xid: 7, zxid: 9, err: 0 }));
        let mut r = Reader::new(body(&frame, 16));
        assert_eq!(Reply::read(op, &mut r).as_ref(), Ok(&reply));
        assert!(r.is_empty(), "{reply:?} has more than is read");
    }
}

#[test]
fn a_handshake_is_read_again() {
    for read_only in [None, Some(false), Some(true)] {
        let hello = Hello { zxid_seen: 5, timeout: 10_000, session: -3, password: b"secret", read_only };
        assert_eq!(Hello::read(body(&hello.frame(), 0)), Ok(hello));
        let welcome = Welcome { timeout: 4_000, session: 77, password: &[9; 16], read_only };
        assert_eq!(Welcome::read(body(&welcome.frame(), 0)), Ok(welcome));
    }
}

/// Reads everything that bytes could be meant to be. That it ends without a panic is what is tested, and what is kept of
/// them takes no more than they do.
fn read_all(bytes: &[u8]) {
    for op in (-12..30).chain(99..110) {
        if let Ok(Request::SetWatches { lists, .. }) = parse_request(Op(op), bytes) {
            assert!(lists.iter().map(Vec::capacity).sum::<usize>() <= bytes.len());
        }
        if let Ok(Reply::Names(names)) = Reply::read(Op(op), &mut Reader::new(bytes)) {
            assert!(names.capacity() <= bytes.len());
        }
    }
    let _ = (Hello::read(bytes), Welcome::read(bytes), Event::read(&mut Reader::new(bytes)));
    let _ = (frame_at(bytes, 1 << 20), ReplyHead::of(bytes));
}

#[test]
fn arbitrary_bytes_are_a_value_or_malformed() {
    let mut random = Random(2);
    for _ in 0..5_000 {
        let length = random.below(80);
        // Small numbers are lengths and counts that may be right.
        let bytes: Vec<u8> =
            (0..length).map(|_| if random.flag() { 0 } else { random.below(300).min(255) as u8 }).collect();
        read_all(&bytes);
    }
}

#[test]
fn a_frame_that_was_cut_or_changed_is_a_value_or_malformed() {
    let mut random = Random(3);
    for _ in 0..300 {
        let (request, (_, reply)) = (random.request(), random.reply());
        let mut w = Writer::frame();
        request.write(&mut w);
        reply.write(&mut w);
        let mut frame = w.finish().split_off(4);
        for cut in 0..frame.len().min(60) {
            read_all(&frame[..cut]);
        }
        if let Some(at) = random.below(frame.len().max(1) as u64).checked_rem(frame.len() as u64) {
            frame[at as usize] ^= 1 << random.below(8);
        }
        read_all(&frame);
    }
}

#[test]
fn a_count_or_a_length_that_is_a_lie_is_not_allocated_for() {
    let mut w = Writer::frame();
    w.int(i32::MAX);
    let lie = w.finish().split_off(4);
    for op in [Op::GET_CHILDREN, Op::GET_ACL, Op::WHO_AM_I, Op::GET_DATA, Op::SASL, Op::CREATE] {
        assert!(Reply::read(op, &mut Reader::new(&lie)).is_err(), "{op:?}");
    }
    assert!(frame_at(&lie, 1 << 20).is_err());
    assert!(frame_at(&(-5_i32).to_be_bytes(), 1 << 20).is_err());
}
