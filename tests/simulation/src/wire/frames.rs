//! Requests written and replies read, in the terms of the core.

use zkrecipes::session::wire::{Applied, CreateMode, Created, Event, Read, Stat, WireError, Write};
use zkrecipes_embedded::wire::{Code, Malformed, Op, Reader, Writer};

/// A frame without its length, as the machine takes it.
fn finish(writer: Writer) -> Vec<u8> {
    writer.finish().split_off(4)
}

/// A request without a number yet.
pub fn request(op: Op, body: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::frame();
    writer.int(0).int(op.0);
    body(&mut writer);
    finish(writer)
}

pub fn number(frame: &mut [u8], xid: i32) {
    frame[..4].copy_from_slice(&xid.to_be_bytes());
}

pub fn greeting(seen: i64, timeout: i32, session: i64, password: &[u8]) -> Vec<u8> {
    let mut writer = Writer::frame();
    writer.int(0).long(seen).int(timeout).long(session).buffer(Some(password)).bool(false);
    finish(writer)
}

pub fn delete(xid: i32, path: &str) -> Vec<u8> {
    let mut frame = request(Op::DELETE, |w| {
        w.string(path).int(-1);
    });
    number(&mut frame, xid);
    frame
}

pub fn close(xid: i32) -> Vec<u8> {
    let mut frame = request(Op::CLOSE, |_| {});
    number(&mut frame, xid);
    frame
}

/// Data watches, exists watches, child watches.
pub fn set_watches(seen: i64, lists: &[Vec<String>; 3]) -> Vec<u8> {
    request(Op::SET_WATCHES, |w| {
        w.long(seen);
        for list in lists {
            w.int(list.len() as i32);
            for path in list {
                w.string(path);
            }
        }
    })
}

fn open_acl(w: &mut Writer) {
    const ALL: i32 = 31;
    w.int(1).int(ALL).string("world").string("anyone");
}

pub fn create_op(mode: CreateMode) -> Op {
    match mode {
        CreateMode::Container => Op::CREATE_CONTAINER,
        mode if mode.ttl().is_some() => Op::CREATE_TTL,
        _ => Op::CREATE2,
    }
}

pub fn create_body(w: &mut Writer, path: &str, data: &[u8], mode: CreateMode) {
    let flags = match mode {
        CreateMode::Persistent => 0,
        CreateMode::Ephemeral => 1,
        CreateMode::PersistentSequential => 2,
        CreateMode::EphemeralSequential => 3,
        CreateMode::Container => 4,
        CreateMode::PersistentTtl(_) => 5,
        CreateMode::PersistentSequentialTtl(_) => 6,
        unknown => unreachable!("no node is created as {unknown:?}"),
    };
    w.string(path).buffer(Some(data));
    open_acl(w);
    w.int(flags);
    if let Some(ttl) = mode.ttl() {
        w.long(ttl.as_millis() as i64);
    }
}

pub fn multi(writes: &[Write], outgoing: impl Fn(&str) -> String) -> Vec<u8> {
    request(Op::MULTI, |w| {
        let mut part = |op: Op, body: &mut dyn FnMut(&mut Writer)| {
            w.int(op.0).bool(false).int(-1);
            body(w);
        };
        for write in writes {
            match write {
                Write::Check { path, version } => part(Op::CHECK, &mut |w| {
                    w.string(&outgoing(path)).int(version.unwrap_or(-1));
                }),
                Write::Create { path, data, mode, .. } => {
                    part(create_op(*mode), &mut |w| create_body(w, &outgoing(path), data, *mode))
                }
                Write::Set { path, data, version } => part(Op::SET_DATA, &mut |w| {
                    w.string(&outgoing(path)).buffer(Some(data)).int(version.unwrap_or(-1));
                }),
                Write::Delete { path, version } => part(Op::DELETE, &mut |w| {
                    w.string(&outgoing(path)).int(version.unwrap_or(-1));
                }),
            }
        }
        w.int(-1).bool(true).int(-1);
    })
}

pub fn get_each(paths: impl Iterator<Item = String>) -> Vec<u8> {
    request(Op::MULTI_READ, |w| {
        for path in paths {
            w.int(Op::GET_DATA.0).bool(false).int(-1).string(&path).bool(false);
        }
        w.int(-1).bool(true).int(-1);
    })
}

/// What each of several reads came to.
pub fn each_read(body: &[u8]) -> Result<Vec<Read>, Malformed> {
    let mut r = Reader::new(body);
    let mut found = Vec::new();
    loop {
        let (op, done, _) = (r.int()?, r.bool()?, r.int()?);
        if done {
            return Ok(found);
        }
        found.push(match Op(op) {
            Op::GET_DATA => Ok((r.buffer()?.unwrap_or_default().to_vec(), read_stat(&mut r)?)),
            _ => Err(refusal(r.int()?)),
        });
    }
}

/// What a transaction came to: what became of each part, or the first that failed for a reason of its own.
pub type Outcome = Result<Vec<Applied>, (usize, i32)>;

pub fn multi_outcome(body: &[u8]) -> Result<Outcome, Malformed> {
    let mut r = Reader::new(body);
    let mut outcome = Ok(Vec::new());
    for index in 0.. {
        let (op, done, _) = (r.int()?, r.bool()?, r.int()?);
        if done {
            break;
        }
        let applied = match Op(op) {
            Op(-1) => {
                let code = r.int()?;
                if code != 0 && code != Code::RuntimeInconsistency as i32 && outcome.is_ok() {
                    outcome = Err((index, code));
                }
                continue;
            }
            Op::CREATE2 | Op::CREATE_CONTAINER | Op::CREATE_TTL => {
                let (path, stat) = (r.string()?.into_owned(), read_stat(&mut r)?);
                Applied::Created(Created { path, czxid: stat.czxid })
            }
            Op::SET_DATA => Applied::Set(read_stat(&mut r)?),
            Op::DELETE => Applied::Deleted,
            _ => Applied::Checked,
        };
        if let Ok(all) = &mut outcome {
            all.push(applied);
        }
    }
    Ok(outcome)
}

pub fn read_stat(r: &mut Reader) -> Result<Stat, Malformed> {
    let mut stat = Stat::default();
    stat.czxid = r.long()?;
    stat.mzxid = r.long()?;
    stat.ctime = r.long()?;
    stat.mtime = r.long()?;
    stat.version = r.int()?;
    stat.cversion = r.int()?;
    stat.aversion = r.int()?;
    stat.ephemeral_owner = r.long()?;
    stat.data_length = r.int()?;
    stat.num_children = r.int()?;
    stat.pzxid = r.long()?;
    Ok(stat)
}

/// What an event's finished frame reports.
pub fn event(frame: &[u8]) -> Option<Event> {
    let kind = Reader::new(frame.get(4 + 16..)?).int().ok()?;
    match kind {
        1 => Some(Event::Created),
        2 => Some(Event::Deleted),
        3 => Some(Event::DataChanged),
        4 => Some(Event::ChildrenChanged),
        _ => None,
    }
}

pub fn event_name(frame: &[u8]) -> String {
    event(frame).map_or_else(|| "unknown".to_owned(), |event| format!("{event:?}"))
}

/// The server's refusal, in the core's terms.
pub fn refusal(code: i32) -> WireError {
    let known = [
        (Code::NoNode, WireError::NoNode),
        (Code::NodeExists, WireError::NodeExists),
        (Code::BadVersion, WireError::BadVersion),
        (Code::NotEmpty, WireError::NotEmpty),
        (Code::NoChildrenForEphemerals, WireError::EphemeralParent),
        (Code::NoAuth, WireError::NoAuth),
        (Code::AuthFailed, WireError::AuthFailed),
        (Code::InvalidAcl, WireError::InvalidAcl),
        (Code::NotReadOnly, WireError::ReadOnly),
        (Code::Unimplemented, WireError::Unimplemented),
        (Code::SessionExpired, WireError::SessionEnded),
    ];
    let found = known.into_iter().find(|(known, _)| *known as i32 == code).map(|(_, error)| error);
    found.unwrap_or_else(|| WireError::Other(format!("error {code}")))
}
