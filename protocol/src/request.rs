//! What a client asks for.

use super::{Acl, Malformed, Op, Reader, Writer};
use std::borrow::Cow;

/// The two fields every request starts with, but for the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead {
    pub xid: i32,
    pub op: Op,
}

impl RequestHead {
    pub fn read(r: &mut Reader) -> Result<RequestHead, Malformed> {
        Ok(RequestHead { xid: r.int()?, op: Op(r.int()?) })
    }

    /// The head of a frame, without its length, and the body that [`parse_request`] reads.
    pub fn split(frame: &[u8]) -> Result<(RequestHead, &[u8]), Malformed> {
        let mut r = Reader::new(frame);
        Ok((RequestHead::read(&mut r)?, r.rest()))
    }
}

/// The arguments the four create opcodes share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateArgs<'a> {
    pub op: Op,
    pub path: Cow<'a, str>,
    pub data: Option<&'a [u8]>,
    pub acl: Vec<Acl>,
    pub flags: i32,
    pub ttl: i64,
}

/// One operation inside a multi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubWrite<'a> {
    Create(CreateArgs<'a>),
    Delete { path: Cow<'a, str>, version: i32 },
    SetData { path: Cow<'a, str>, data: Option<&'a [u8]>, version: i32 },
    Check { path: Cow<'a, str>, version: i32 },
}

/// One operation inside a multiRead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubRead<'a> {
    GetData { path: Cow<'a, str>, watch: bool },
    GetChildren { path: Cow<'a, str>, watch: bool },
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<'a> {
    Write(SubWrite<'a>),
    SetAcl {
        path: Cow<'a, str>,
        acl: Vec<Acl>,
        version: i32,
    },
    Multi(Vec<SubWrite<'a>>),
    MultiRead(Vec<SubRead<'a>>),
    Exists {
        path: Cow<'a, str>,
        watch: bool,
    },
    GetData {
        path: Cow<'a, str>,
        watch: bool,
    },
    GetAcl {
        path: Cow<'a, str>,
    },
    GetChildren {
        path: Cow<'a, str>,
        watch: bool,
    },
    GetChildren2 {
        path: Cow<'a, str>,
        watch: bool,
    },
    Sync {
        path: Cow<'a, str>,
    },
    Ping,
    /// Servers to join and to leave, or all of them; `from` is the version to be changed, or −1.
    Reconfig {
        joining: Option<Cow<'a, str>>,
        leaving: Option<Cow<'a, str>>,
        all: Option<Cow<'a, str>>,
        from: i64,
    },
    CheckWatches {
        path: Cow<'a, str>,
        kind: i32,
    },
    RemoveWatches {
        path: Cow<'a, str>,
        kind: i32,
    },
    Auth {
        scheme: Cow<'a, str>,
        auth: &'a [u8],
    },
    /// A step of a SASL exchange.
    Sasl {
        token: &'a [u8],
    },
    /// What was watched before the connection broke, and the last transaction that was seen: data, exists and child
    /// watches, persistent and recursive ones. With one of the last two it is setWatches2, else setWatches.
    SetWatches {
        seen: i64,
        lists: [Vec<Cow<'a, str>>; 5],
    },
    GetEphemerals {
        prefix: Cow<'a, str>,
    },
    GetAllChildrenNumber {
        path: Cow<'a, str>,
    },
    AddWatch {
        path: Cow<'a, str>,
        mode: i32,
    },
    WhoAmI,
    Close,
    Unknown,
}

/// Parses the body that follows the request header.
pub fn parse_request<'a>(op: Op, body: &'a [u8]) -> Result<Request<'a>, Malformed> {
    let mut r = Reader::new(body);
    let r = &mut r;
    Ok(match op {
        Op::CREATE
        | Op::CREATE2
        | Op::CREATE_CONTAINER
        | Op::CREATE_TTL
        | Op::DELETE
        | Op::SET_DATA
        | Op::CHECK => Request::Write(sub_write(op, r)?),
        Op::EXISTS => Request::Exists { path: r.string()?, watch: r.bool()? },
        Op::GET_DATA => Request::GetData { path: r.string()?, watch: r.bool()? },
        Op::GET_ACL => Request::GetAcl { path: r.string()? },
        Op::SET_ACL => Request::SetAcl { path: r.string()?, acl: r.vector(Reader::acl)?, version: r.int()? },
        Op::GET_CHILDREN => Request::GetChildren { path: r.string()?, watch: r.bool()? },
        Op::GET_CHILDREN2 => Request::GetChildren2 { path: r.string()?, watch: r.bool()? },
        Op::SYNC => Request::Sync { path: r.string()? },
        Op::PING => Request::Ping,
        Op::MULTI => Request::Multi(multi(r, sub_write)?),
        Op::MULTI_READ => Request::MultiRead(multi(r, sub_read)?),
        Op::RECONFIG => {
            let mut part = || r.opt_string().map(|p| p.filter(|p| !p.is_empty()));
            let (joining, leaving, all) = (part()?, part()?, part()?);
            Request::Reconfig { joining, leaving, all, from: r.long()? }
        }
        Op::CHECK_WATCHES => Request::CheckWatches { path: r.string()?, kind: r.int()? },
        Op::REMOVE_WATCHES => Request::RemoveWatches { path: r.string()?, kind: r.int()? },
        Op::AUTH => {
            r.int()?;
            Request::Auth { scheme: r.string()?, auth: r.buffer()?.unwrap_or_default() }
        }
        Op::SASL => Request::Sasl { token: r.buffer()?.unwrap_or_default() },
        Op::SET_WATCHES | Op::SET_WATCHES2 => {
            let seen = r.long()?;
            let mut lists: [Vec<Cow<'a, str>>; 5] = Default::default();
            let sent = if op == Op::SET_WATCHES { 3 } else { 5 };
            for list in &mut lists[..sent] {
                *list = r.vector(Reader::string)?;
            }
            Request::SetWatches { seen, lists }
        }
        Op::GET_EPHEMERALS => Request::GetEphemerals { prefix: r.opt_string()?.unwrap_or_default() },
        Op::GET_ALL_CHILDREN_NUMBER => Request::GetAllChildrenNumber { path: r.string()? },
        Op::ADD_WATCH => Request::AddWatch { path: r.string()?, mode: r.int()? },
        Op::WHO_AM_I => Request::WhoAmI,
        Op::CLOSE => Request::Close,
        _ => Request::Unknown,
    })
}

fn sub_write<'a>(op: Op, r: &mut Reader<'a>) -> Result<SubWrite<'a>, Malformed> {
    Ok(match op {
        Op::CREATE | Op::CREATE2 | Op::CREATE_CONTAINER | Op::CREATE_TTL => {
            let (path, data) = (r.string()?, r.buffer()?);
            let (acl, flags) = (r.vector(Reader::acl)?, r.int()?);
            let ttl = if op == Op::CREATE_TTL { r.long()? } else { -1 };
            SubWrite::Create(CreateArgs { op, path, data, acl, flags, ttl })
        }
        Op::DELETE => SubWrite::Delete { path: r.string()?, version: r.int()? },
        Op::SET_DATA => SubWrite::SetData { path: r.string()?, data: r.buffer()?, version: r.int()? },
        Op::CHECK => SubWrite::Check { path: r.string()?, version: r.int()? },
        _ => return Err(Malformed),
    })
}

fn sub_read<'a>(op: Op, r: &mut Reader<'a>) -> Result<SubRead<'a>, Malformed> {
    Ok(match op {
        Op::GET_DATA => SubRead::GetData { path: r.string()?, watch: r.bool()? },
        Op::GET_CHILDREN => SubRead::GetChildren { path: r.string()?, watch: r.bool()? },
        _ => return Err(Malformed),
    })
}

fn multi<'a, T>(
    r: &mut Reader<'a>,
    item: impl Fn(Op, &mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut items = Vec::new();
    loop {
        let (op, done, _err) = (Op(r.int()?), r.bool()?, r.int()?);
        if done {
            return Ok(items);
        }
        items.push(item(op, r)?);
    }
}

impl SubRead<'_> {
    /// The opcode this operation would have on its own.
    pub fn op(&self) -> Op {
        match self {
            SubRead::GetData { .. } => Op::GET_DATA,
            SubRead::GetChildren { .. } => Op::GET_CHILDREN,
        }
    }
}

impl SubWrite<'_> {
    fn write(&self, w: &mut Writer) {
        match self {
            SubWrite::Create(CreateArgs { op, path, data, acl, flags, ttl }) => {
                w.string(path).buffer(*data).acl(acl).int(*flags);
                if *op == Op::CREATE_TTL {
                    w.long(*ttl);
                }
            }
            SubWrite::Delete { path, version } | SubWrite::Check { path, version } => {
                _ = w.string(path).int(*version)
            }
            SubWrite::SetData { path, data, version } => _ = w.string(path).buffer(*data).int(*version),
        }
    }

    /// The opcode this operation would have on its own.
    pub fn op(&self) -> Op {
        match self {
            SubWrite::Create(args) => args.op,
            SubWrite::Delete { .. } => Op::DELETE,
            SubWrite::SetData { .. } => Op::SET_DATA,
            SubWrite::Check { .. } => Op::CHECK,
        }
    }

    pub fn path(&self) -> &str {
        match self {
            SubWrite::Create(args) => &args.path,
            SubWrite::Delete { path, .. } | SubWrite::SetData { path, .. } | SubWrite::Check { path, .. } => {
                path
            }
        }
    }
}

impl Request<'_> {
    /// The opcode that goes ahead of what [`Request::write`] writes.
    pub fn op(&self) -> Op {
        match self {
            Request::Write(write) => write.op(),
            Request::SetAcl { .. } => Op::SET_ACL,
            Request::Multi(_) => Op::MULTI,
            Request::MultiRead(_) => Op::MULTI_READ,
            Request::Exists { .. } => Op::EXISTS,
            Request::GetData { .. } => Op::GET_DATA,
            Request::GetAcl { .. } => Op::GET_ACL,
            Request::GetChildren { .. } => Op::GET_CHILDREN,
            Request::GetChildren2 { .. } => Op::GET_CHILDREN2,
            Request::Sync { .. } => Op::SYNC,
            Request::Ping => Op::PING,
            Request::Reconfig { .. } => Op::RECONFIG,
            Request::CheckWatches { .. } => Op::CHECK_WATCHES,
            Request::RemoveWatches { .. } => Op::REMOVE_WATCHES,
            Request::Auth { .. } => Op::AUTH,
            Request::Sasl { .. } => Op::SASL,
            Request::SetWatches { lists: [_, _, _, persistent, recursive], .. } => {
                let is_old = persistent.is_empty() && recursive.is_empty();
                if is_old { Op::SET_WATCHES } else { Op::SET_WATCHES2 }
            }
            Request::GetEphemerals { .. } => Op::GET_EPHEMERALS,
            Request::GetAllChildrenNumber { .. } => Op::GET_ALL_CHILDREN_NUMBER,
            Request::AddWatch { .. } => Op::ADD_WATCH,
            Request::WhoAmI => Op::WHO_AM_I,
            Request::Close => Op::CLOSE,
            Request::Unknown => Op(0),
        }
    }

    /// Writes the body that follows the request header.
    pub fn write(&self, w: &mut Writer) {
        match self {
            Request::Write(write) => write.write(w),
            Request::SetAcl { path, acl, version } => _ = w.string(path).acl(acl).int(*version),
            Request::Multi(writes) => {
                for write in writes {
                    write.write(w.part(write.op(), false, -1));
                }
                w.end_of_parts();
            }
            Request::MultiRead(reads) => {
                for read in reads {
                    let (SubRead::GetData { path, watch } | SubRead::GetChildren { path, watch }) = read;
                    w.part(read.op(), false, -1).string(path).bool(*watch);
                }
                w.end_of_parts();
            }
            Request::Exists { path, watch }
            | Request::GetData { path, watch }
            | Request::GetChildren { path, watch }
            | Request::GetChildren2 { path, watch } => _ = w.string(path).bool(*watch),
            Request::GetAcl { path }
            | Request::Sync { path }
            | Request::GetEphemerals { prefix: path }
            | Request::GetAllChildrenNumber { path } => _ = w.string(path),
            Request::Reconfig { joining, leaving, all, from } => {
                for part in [joining, leaving, all] {
                    w.buffer(part.as_deref().map(str::as_bytes));
                }
                w.long(*from);
            }
            Request::CheckWatches { path, kind } | Request::RemoveWatches { path, kind } => {
                _ = w.string(path).int(*kind)
            }
            Request::AddWatch { path, mode } => _ = w.string(path).int(*mode),
            Request::Auth { scheme, auth } => _ = w.int(0).string(scheme).buffer(Some(auth)),
            Request::Sasl { token } => _ = w.buffer(Some(token)),
            Request::SetWatches { seen, lists } => {
                w.long(*seen);
                let sent = if self.op() == Op::SET_WATCHES { 3 } else { 5 };
                lists[..sent].iter().for_each(|list| _ = w.names(list));
            }
            Request::Ping | Request::WhoAmI | Request::Close | Request::Unknown => {}
        }
    }

    /// The path a request is about; for a multi those of its operations, one by one.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Request::Write(w) => vec![w.path()],
            Request::Multi(ops) => ops.iter().map(SubWrite::path).collect(),
            Request::MultiRead(ops) => ops
                .iter()
                .map(|o| match o {
                    SubRead::GetData { path, .. } | SubRead::GetChildren { path, .. } => path.as_ref(),
                })
                .collect(),
            Request::SetAcl { path, .. }
            | Request::Exists { path, .. }
            | Request::GetData { path, .. }
            | Request::GetAcl { path }
            | Request::GetChildren { path, .. }
            | Request::GetChildren2 { path, .. }
            | Request::Sync { path }
            | Request::CheckWatches { path, .. }
            | Request::RemoveWatches { path, .. }
            | Request::GetEphemerals { prefix: path }
            | Request::GetAllChildrenNumber { path }
            | Request::AddWatch { path, .. } => vec![path],
            Request::Ping
            | Request::Reconfig { .. }
            | Request::Auth { .. }
            | Request::Sasl { .. }
            | Request::SetWatches { .. }
            | Request::WhoAmI
            | Request::Close
            | Request::Unknown => Vec::new(),
        }
    }
}
