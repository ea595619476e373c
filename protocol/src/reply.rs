//! What a server answers to a request.

use super::{Acl, Malformed, Op, Reader, Stat, Writer};
use std::borrow::Cow;

/// The three fields every reply and event starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHead {
    pub xid: i32,
    pub zxid: i64,
    pub err: i32,
}

impl ReplyHead {
    pub fn read(r: &mut Reader) -> Result<ReplyHead, Malformed> {
        Ok(ReplyHead { xid: r.int()?, zxid: r.long()?, err: r.int()? })
    }

    /// Reads the head of a frame that still carries its length.
    pub fn of(frame: &[u8]) -> Option<ReplyHead> {
        ReplyHead::read(&mut Reader::new(frame.get(4..)?)).ok()
    }
}

/// The body of a reply without an error. One with an error has none, except that a multi that failed answers
/// [`Reply::Writes`] with a header that says nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<'a> {
    Nothing,
    /// The path that was created, or that was synchronised.
    Path(Cow<'a, str>),
    Created {
        path: Cow<'a, str>,
        stat: Stat,
    },
    Stat(Stat),
    Data {
        data: Option<Cow<'a, [u8]>>,
        stat: Stat,
    },
    Acl {
        acl: Vec<Acl>,
        stat: Stat,
    },
    /// Names of children, or paths of ephemeral nodes.
    Names(Vec<Cow<'a, str>>),
    NamesAndStat {
        names: Vec<Cow<'a, str>>,
        stat: Stat,
    },
    Count(i32),
    /// Scheme and name of each identity.
    Identities(Vec<(Cow<'a, str>, Cow<'a, str>)>),
    Token(Option<Cow<'a, [u8]>>),
    Writes(Vec<WriteResult<'a>>),
    Reads(Vec<ReadResult<'a>>),
}

/// What became of one operation of a multi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteResult<'a> {
    Created {
        path: Cow<'a, str>,
    },
    CreatedStat {
        path: Cow<'a, str>,
        stat: Stat,
    },
    Deleted,
    Set(Stat),
    Checked,
    /// 0 for one that would have been done but for another one.
    Failed(i32),
}

/// What one operation of a multiRead found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadResult<'a> {
    Data { data: Option<Cow<'a, [u8]>>, stat: Stat },
    Names(Vec<Cow<'a, str>>),
    Failed(i32),
}

const FAILED: Op = Op(-1);

impl<'a> Reply<'a> {
    /// Reads the body of a reply to such a request.
    pub fn read(op: Op, r: &mut Reader<'a>) -> Result<Reply<'a>, Malformed> {
        Ok(match op {
            Op::CREATE | Op::SYNC => Reply::Path(r.string()?),
            Op::CREATE2 | Op::CREATE_CONTAINER | Op::CREATE_TTL => {
                Reply::Created { path: r.string()?, stat: r.stat()? }
            }
            Op::EXISTS | Op::SET_DATA | Op::SET_ACL => Reply::Stat(r.stat()?),
            Op::GET_DATA | Op::RECONFIG => Reply::Data { data: bytes(r)?, stat: r.stat()? },
            Op::GET_ACL => Reply::Acl { acl: r.vector(Reader::acl)?, stat: r.stat()? },
            Op::GET_CHILDREN | Op::GET_EPHEMERALS => Reply::Names(r.vector(Reader::string)?),
            Op::GET_CHILDREN2 => Reply::NamesAndStat { names: r.vector(Reader::string)?, stat: r.stat()? },
            Op::GET_ALL_CHILDREN_NUMBER | Op::ADD_WATCH => Reply::Count(r.int()?),
            Op::WHO_AM_I => Reply::Identities(r.vector(|r| Ok((r.string()?, r.string()?)))?),
            Op::SASL => Reply::Token(bytes(r)?),
            Op::MULTI => Reply::Writes(results(r, write_result)?),
            Op::MULTI_READ => Reply::Reads(results(r, read_result)?),
            _ => Reply::Nothing,
        })
    }

    pub fn write(&self, w: &mut Writer) {
        match self {
            Reply::Nothing => {}
            Reply::Path(path) => _ = w.string(path),
            Reply::Created { path, stat } => _ = w.string(path).stat(stat),
            Reply::Stat(stat) => _ = w.stat(stat),
            Reply::Data { data, stat } => _ = w.buffer(data.as_deref()).stat(stat),
            Reply::Acl { acl, stat } => _ = w.acl(acl).stat(stat),
            Reply::Names(names) => _ = w.names(names),
            Reply::NamesAndStat { names, stat } => _ = w.names(names).stat(stat),
            Reply::Count(count) => _ = w.int(*count),
            Reply::Identities(identities) => {
                w.int(identities.len() as i32);
                for (scheme, name) in identities {
                    w.string(scheme).string(name);
                }
            }
            Reply::Token(token) => _ = w.buffer(token.as_deref()),
            Reply::Writes(results) => {
                results.iter().for_each(|result| result.write(w));
                w.end_of_parts();
            }
            Reply::Reads(results) => {
                results.iter().for_each(|result| result.write(w));
                w.end_of_parts();
            }
        }
    }
}

impl WriteResult<'_> {
    /// One of several, behind which [`Writer::end_of_parts`] says that no more follow.
    pub fn write(&self, w: &mut Writer) {
        match self {
            WriteResult::Created { path } => _ = w.part(Op::CREATE, false, 0).string(path),
            WriteResult::CreatedStat { path, stat } => {
                _ = w.part(Op::CREATE2, false, 0).string(path).stat(stat)
            }
            WriteResult::Deleted => _ = w.part(Op::DELETE, false, 0),
            WriteResult::Set(stat) => _ = w.part(Op::SET_DATA, false, 0).stat(stat),
            WriteResult::Checked => _ = w.part(Op::CHECK, false, 0),
            WriteResult::Failed(code) => _ = w.part(FAILED, false, *code).int(*code),
        }
    }
}

impl ReadResult<'_> {
    /// One of several, behind which [`Writer::end_of_parts`] says that no more follow.
    pub fn write(&self, w: &mut Writer) {
        match self {
            ReadResult::Data { data, stat } => {
                _ = w.part(Op::GET_DATA, false, 0).buffer(data.as_deref()).stat(stat)
            }
            ReadResult::Names(names) => _ = w.part(Op::GET_CHILDREN, false, 0).names(names),
            ReadResult::Failed(code) => _ = w.part(FAILED, false, *code).int(*code),
        }
    }
}

fn bytes<'a>(r: &mut Reader<'a>) -> Result<Option<Cow<'a, [u8]>>, Malformed> {
    Ok(r.buffer()?.map(Cow::Borrowed))
}

/// Each result has a head; the last head says that no more follow.
fn results<'a, T>(
    r: &mut Reader<'a>,
    result: impl Fn(Op, &mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut all = Vec::new();
    loop {
        let (op, is_last, _) = (Op(r.int()?), r.bool()?, r.int()?);
        if is_last {
            return Ok(all);
        }
        all.push(result(op, r)?);
    }
}

fn write_result<'a>(op: Op, r: &mut Reader<'a>) -> Result<WriteResult<'a>, Malformed> {
    Ok(match op {
        Op::CREATE => WriteResult::Created { path: r.string()? },
        Op::CREATE2 | Op::CREATE_CONTAINER | Op::CREATE_TTL => {
            WriteResult::CreatedStat { path: r.string()?, stat: r.stat()? }
        }
        Op::DELETE => WriteResult::Deleted,
        Op::SET_DATA => WriteResult::Set(r.stat()?),
        Op::CHECK => WriteResult::Checked,
        FAILED => WriteResult::Failed(r.int()?),
        _ => return Err(Malformed),
    })
}

fn read_result<'a>(op: Op, r: &mut Reader<'a>) -> Result<ReadResult<'a>, Malformed> {
    Ok(match op {
        Op::GET_DATA => ReadResult::Data { data: bytes(r)?, stat: r.stat()? },
        Op::GET_CHILDREN => ReadResult::Names(r.vector(Reader::string)?),
        FAILED => ReadResult::Failed(r.int()?),
        _ => return Err(Malformed),
    })
}
