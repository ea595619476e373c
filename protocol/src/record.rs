//! Records: ZooKeeper's encoding of numbers, texts, buffers and vectors.

use super::Op;
use std::borrow::Cow;

/// A frame whose bytes do not say what its opcode promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Reads ZooKeeper records from a frame; never allocates more than the frame holds.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(Malformed)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    pub fn int(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn stat(&mut self) -> Result<Stat, Malformed> {
        Ok(Stat {
            czxid: self.long()?,
            mzxid: self.long()?,
            ctime: self.long()?,
            mtime: self.long()?,
            version: self.int()?,
            cversion: self.int()?,
            aversion: self.int()?,
            ephemeral_owner: self.long()?,
            data_length: self.int()?,
            num_children: self.int()?,
            pzxid: self.long()?,
        })
    }

    pub fn long(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    pub fn bool(&mut self) -> Result<bool, Malformed> {
        self.array::<1>().map(|b| b[0] != 0)
    }

    /// A byte buffer; a length of −1 is a null one.
    pub fn buffer(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.int()? {
            -1 => Ok(None),
            n => self.take(usize::try_from(n).map_err(|_| Malformed)?).map(Some),
        }
    }

    /// A string that may be null. Bytes that are not UTF-8 become U+FFFD, as Java reads them.
    pub fn opt_string(&mut self) -> Result<Option<Cow<'a, str>>, Malformed> {
        Ok(self.buffer()?.map(String::from_utf8_lossy))
    }

    /// A string; a null one is malformed.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        self.opt_string()?.ok_or(Malformed)
    }

    /// A vector; a null one is empty.
    pub fn vector<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = match self.int()? {
            -1 => 0,
            n => usize::try_from(n).map_err(|_| Malformed)?,
        };
        // An item takes at least four bytes, so a count beyond that is a lie we need not allocate for.
        if count > self.rest.len() / 4 {
            return Err(Malformed);
        }
        (0..count).map(|_| item(self)).collect()
    }

    pub fn acl(&mut self) -> Result<Acl, Malformed> {
        let perms = self.int()?;
        // Some clients write an empty id as a null one.
        let mut part = || self.opt_string().map(|s| s.unwrap_or_default().into_owned());
        Ok(Acl { perms, scheme: part()?, id: part()? })
    }
}

/// One entry of an access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl {
    pub perms: i32,
    pub scheme: String,
    pub id: String,
}

/// What ZooKeeper tells about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    pub czxid: i64,
    pub mzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub ephemeral_owner: i64,
    pub data_length: i32,
    pub num_children: i32,
    pub pzxid: i64,
}

/// Writes one frame: a length, then records.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn frame() -> Self {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&[0; 4]);
        Writer { bytes }
    }

    /// A frame that starts with a request header.
    pub fn request(xid: i32, op: Op) -> Self {
        let mut w = Writer::frame();
        w.int(xid).int(op.0);
        w
    }

    /// A frame that starts with a reply header.
    pub fn reply(xid: i32, zxid: i64, err: i32) -> Self {
        let mut w = Writer::frame();
        w.int(xid).long(zxid).int(err);
        w
    }

    /// Makes room for that many bytes: what is written next leaves no copy of itself in memory that was given up.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    pub fn int(&mut self, v: i32) -> &mut Self {
        self.bytes.extend_from_slice(&v.to_be_bytes());
        self
    }

    pub fn long(&mut self, v: i64) -> &mut Self {
        self.bytes.extend_from_slice(&v.to_be_bytes());
        self
    }

    pub fn bool(&mut self, v: bool) -> &mut Self {
        self.bytes.push(u8::from(v));
        self
    }

    pub fn buffer(&mut self, v: Option<&[u8]>) -> &mut Self {
        match v {
            None => self.int(-1),
            Some(b) => {
                self.int(b.len() as i32);
                self.bytes.extend_from_slice(b);
                self
            }
        }
    }

    /// Beyond the basic plane, Java writes each half of a surrogate pair on its own, and clients expect that.
    pub fn string(&mut self, v: &str) -> &mut Self {
        if v.bytes().all(|b| b < 0xf0) {
            return self.buffer(Some(v.as_bytes()));
        }
        let at = self.bytes.len();
        self.int(0);
        for unit in v.encode_utf16() {
            match unit {
                0..0x80 => self.bytes.push(unit as u8),
                0x80..0x800 => self.bytes.extend([0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]),
                _ => {
                    let (high, middle, low) = (unit >> 12, (unit >> 6) & 0x3f, unit & 0x3f);
                    self.bytes.extend([0xe0 | high as u8, 0x80 | middle as u8, 0x80 | low as u8]);
                }
            }
        }
        let length = (self.bytes.len() - at - 4) as i32;
        self.bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
        self
    }

    pub fn stat(&mut self, s: &Stat) -> &mut Self {
        self.long(s.czxid).long(s.mzxid).long(s.ctime).long(s.mtime);
        self.int(s.version).int(s.cversion).int(s.aversion).long(s.ephemeral_owner);
        self.int(s.data_length).int(s.num_children).long(s.pzxid)
    }

    pub fn acl(&mut self, acl: &[Acl]) -> &mut Self {
        self.int(acl.len() as i32);
        for a in acl {
            self.int(a.perms).string(&a.scheme).string(&a.id);
        }
        self
    }

    pub fn names<S: AsRef<str>>(&mut self, names: &[S]) -> &mut Self {
        self.int(names.len() as i32);
        for name in names {
            self.string(name.as_ref());
        }
        self
    }

    /// The head of one operation of a multi, or of its result; the one behind them all is `last`.
    pub fn part(&mut self, op: Op, is_last: bool, err: i32) -> &mut Self {
        self.int(op.0).bool(is_last).int(err)
    }

    /// What stands behind the last operation of a multi, or the last result.
    pub fn end_of_parts(&mut self) -> &mut Self {
        self.part(Op(-1), true, -1)
    }

    /// How many bytes the frame has by now, with those of its length.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The finished frame, length filled in.
    pub fn finish(mut self) -> Vec<u8> {
        let length = (self.bytes.len() - 4) as i32;
        self.bytes[..4].copy_from_slice(&length.to_be_bytes());
        self.bytes
    }
}
