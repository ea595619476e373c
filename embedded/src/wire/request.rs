//! Requests, parsed from frames.

use super::{Acl, Malformed, Op, Reader};
use std::borrow::Cow;

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
    Sasl,
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
        Op::SASL => Request::Sasl,
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

impl SubWrite<'_> {
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
            | Request::Sasl
            | Request::SetWatches { .. }
            | Request::WhoAmI
            | Request::Close
            | Request::Unknown => Vec::new(),
        }
    }
}
