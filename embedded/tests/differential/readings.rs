//! Replies and events, read so that two servers can be compared: times dropped, zxids counted from a base, session
//! ids replaced by their place, lists without order sorted.

use crate::calls::Call;
use crate::support::{Raw, Reply};
use std::fmt::Write as _;
use zkrecipes_embedded::wire::{Malformed, Op, Reader, Stat};

/// One frame from the server, comparable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reading(String);

impl Reading {
    /// For a closing session: whatever comes, without a body.
    pub fn event_or_reply(reply: &Reply, base: i64) -> Reading {
        match reply.as_event() {
            Some(event) => event_line(&event, base),
            None => Reading(format!("reply zxid {} err {}", relative(reply.zxid, base), reply.err)),
        }
    }
}

fn relative(zxid: i64, base: i64) -> i64 {
    if zxid > 0 { zxid - base } else { zxid }
}

fn event_line((kind, path, zxid): &(i32, String, i64), base: i64) -> Reading {
    Reading(format!("event {kind} {path} zxid {}", relative(*zxid, base)))
}

/// Reads answers and events up to the answer of a ping that is sent now.
pub fn read_all(raw: &mut Raw, asked: &[Call], base: i64, births: &[i64]) -> Vec<Reading> {
    raw.send(Op::PING, |_| {});
    let mut readings = Vec::new();
    let mut pings = raw.take_unnumbered() + 1;
    let mut next = asked.iter().enumerate();
    loop {
        let Some(reply) = raw.receive() else {
            readings.push(Reading("closed".to_owned()));
            return readings;
        };
        if let Some(event) = reply.as_event() {
            readings.push(event_line(&event, base));
        } else if reply.xid == -2 {
            pings -= 1;
            if pings == 0 {
                readings.push(Reading(format!("ping zxid {}", relative(reply.zxid, base))));
                return readings;
            }
        } else if let Some((n, call)) = next.next() {
            let body = if reply.err == 0 { body(call.op, &reply.body, base, births) } else { String::new() };
            let in_order = if call.xid(n) == reply.xid { "" } else { "OUT OF ORDER " };
            let (zxid, err) = (relative(reply.zxid, base), reply.err);
            readings.push(Reading(format!("{in_order}{} zxid {zxid} err {err} {body}", reply.xid)));
        } else {
            readings.push(Reading(format!("unasked {reply:?}")));
        }
    }
}

fn body(op: Op, bytes: &[u8], base: i64, births: &[i64]) -> String {
    let mut r = Reader::new(bytes);
    let mut text = String::new();
    match read_body(op, &mut r, &mut text, base, births) {
        Ok(()) if r.is_empty() => text,
        Ok(()) => format!("{text} AND MORE in {bytes:?}"),
        Err(Malformed) => format!("{text} MALFORMED in {bytes:?}"),
    }
}

fn stat_line(s: &Stat, base: i64, births: &[i64]) -> String {
    let owner = match s.ephemeral_owner {
        0 => "nobody".to_owned(),
        id => births.iter().position(|b| *b == id).map_or("stranger".to_owned(), |n| format!("session {n}")),
    };
    let [c, m, p] = [s.czxid, s.mzxid, s.pzxid].map(|z| relative(z, base));
    let versions = (s.version, s.cversion, s.aversion);
    // Times differ, but whether a node was ever changed shows in them.
    let touched = s.ctime != s.mtime && s.version == 0;
    format!(
        "<{c} {m} {p} {versions:?} {owner} {} bytes {} children {touched}>",
        s.data_length, s.num_children
    )
}

fn read_body(op: Op, r: &mut Reader, text: &mut String, base: i64, births: &[i64]) -> Result<(), Malformed> {
    fn push(text: &mut String, part: impl std::fmt::Display) {
        let _ = write!(text, "{part} ");
    }
    let names = |r: &mut Reader| -> Result<String, Malformed> {
        let mut names = r.vector(|r| r.string().map(|s| s.into_owned()))?;
        names.sort_unstable();
        Ok(format!("{names:?}"))
    };
    match op {
        Op::CREATE | Op::SYNC => push(text, r.string()?.into_owned()),
        Op::CREATE2 | Op::CREATE_CONTAINER | Op::CREATE_TTL => {
            push(text, r.string()?.into_owned());
            push(text, stat_line(&r.stat()?, base, births));
        }
        Op::EXISTS | Op::SET_DATA | Op::SET_ACL => push(text, stat_line(&r.stat()?, base, births)),
        Op::GET_DATA => {
            push(text, format!("{:?}", r.buffer()?));
            push(text, stat_line(&r.stat()?, base, births));
        }
        Op::GET_CHILDREN | Op::GET_EPHEMERALS => push(text, names(r)?),
        Op::GET_CHILDREN2 => {
            push(text, names(r)?);
            push(text, stat_line(&r.stat()?, base, births));
        }
        Op::GET_ACL => {
            // The identities that "auth" stands for are kept as a set.
            let mut list = r.vector(Reader::acl)?;
            list.sort_unstable_by_key(|a| (a.perms, a.scheme.clone(), a.id.clone()));
            push(text, format!("{list:?}"));
            push(text, stat_line(&r.stat()?, base, births));
        }
        Op::GET_ALL_CHILDREN_NUMBER | Op::ADD_WATCH => push(text, r.int()?.to_string()),
        Op::WHO_AM_I => {
            let mut ids = r.vector(|r| Ok((r.string()?.into_owned(), r.string()?.into_owned())))?;
            ids.sort_unstable();
            push(text, format!("{ids:?}"));
        }
        Op::MULTI | Op::MULTI_READ => loop {
            let (kind, done, err) = (r.int()?, r.bool()?, r.int()?);
            push(text, format!("[{kind} {done} {err}"));
            match kind {
                _ if done => break,
                -1 => push(text, r.int()?.to_string()),
                kind => read_body(Op(kind), r, text, base, births)?,
            }
        },
        _ => {}
    }
    Ok(())
}
