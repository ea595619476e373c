//! Several writes that happen all or not at all, and several reads in one request.

use super::request::Caller;
use super::write::Done;
use super::{Machine, Now};
use crate::wire::{Code, CreateArgs, Op, ReadResult, SubRead, SubWrite, WriteResult, Writer};

/// Sixteen times what a client takes by default.
const LONGEST_REPLY: usize = 16 << 20;

impl Machine {
    /// One zxid for all; the reply's header is a success even if the multi failed.
    pub(super) fn multi(&mut self, caller: &Caller, mut ops: Vec<SubWrite>, now: Now) {
        let mut txn = self.begin(caller, now);
        let stated = self.config.profile.multi_answers_create2;
        let readable = ops.iter_mut().all(|op| match op {
            SubWrite::Create(args) => settle_kind(args, stated),
            SubWrite::Delete { .. } | SubWrite::SetData { .. } | SubWrite::Check { .. } => true,
        });
        if !readable {
            return self.reply_error(caller.conn, caller.xid, Code::MarshallingError);
        }
        let mut done = Vec::with_capacity(ops.len());
        let mut failed = None;
        for (at, op) in ops.iter().enumerate() {
            if matches!(op, SubWrite::Create(args) if args.op != Op::CREATE_TTL && matches!(args.flags, 5 | 6))
            {
                // Older servers fail on this only when they reach it.
                self.roll_back(txn);
                return self.reply_error(caller.conn, caller.xid, Code::MarshallingError);
            }
            match self.write(&mut txn, op) {
                Ok(result) => done.push(result),
                Err(code) => {
                    failed = Some((at, code));
                    break;
                }
            }
        }
        let mut w = self.begin_reply(caller);
        if let Some((at, code)) = failed {
            self.roll_back(txn);
            write_failed(&mut w, ops.len(), at, code);
        } else {
            self.commit(txn);
            for result in done {
                result.into_result().write(&mut w);
            }
        }
        w.end_of_parts();
        self.end_reply(caller, w);
    }

    /// Each read succeeds or fails by itself. A server ignores that they ask for watches.
    ///
    /// A request of one frame can name a large node tens of thousands of times: what has more to answer than any client takes
    /// is refused.
    pub(super) fn multi_read(&mut self, caller: &Caller, ops: Vec<SubRead>) {
        let mut w = self.begin_reply(caller);
        for op in ops {
            let found = match op {
                SubRead::GetData { path, .. } => self
                    .data_of(caller, &path, false)
                    .map(|node| ReadResult::Data { data: node.content(), stat: node.stat() }),
                SubRead::GetChildren { path, .. } => {
                    self.children_of(caller, &path, false).map(|node| ReadResult::Names(node.names()))
                }
            };
            found.unwrap_or_else(|code| ReadResult::Failed(code as i32)).write(&mut w);
            if w.size() > LONGEST_REPLY {
                return self.reply_error(caller.conn, caller.xid, Code::MarshallingError);
            }
        }
        w.end_of_parts();
        self.end_reply(caller, w);
    }
}

/// The answer to a request that was not carried out, or to a multi of so many parts because of one of them.
pub(crate) fn refused(xid: i32, zxid: i64, code: Code, parts: usize, at: usize) -> Vec<u8> {
    if parts == 0 {
        return Writer::reply(xid, zxid, code as i32).finish();
    }
    let mut w = Writer::reply(xid, zxid, 0);
    write_failed(&mut w, parts, at, code);
    w.end_of_parts();
    w.finish()
}

fn write_failed(w: &mut Writer, parts: usize, at: usize, code: Code) {
    for i in 0..parts {
        let err = match i.cmp(&at) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => code as i32,
            std::cmp::Ordering::Greater => Code::RuntimeInconsistency as i32,
        };
        WriteResult::Failed(err).write(w);
    }
}

/// Inside a multi, what a create makes follows from its flags rather than from its opcode. False if a server cannot
/// make sense of the two together; then the whole multi fails. `stated` is for servers that answer with a stat.
fn settle_kind(args: &mut CreateArgs, stated: bool) -> bool {
    let with_ttl = matches!(args.flags, 5 | 6);
    let known = (0..=6).contains(&args.flags);
    match args.op {
        Op::CREATE_TTL if with_ttl => return true,
        Op::CREATE_TTL => (args.op, args.ttl) = (Op::CREATE, -1),
        _ if stated && (with_ttl || !known) => return false,
        _ if !stated => args.op = Op::CREATE,
        _ => {}
    }
    if args.flags == 4 {
        args.op = Op::CREATE_CONTAINER;
    }
    true
}

impl Done {
    fn into_result(self) -> WriteResult<'static> {
        match self {
            Done::Created { op: Op::CREATE, path, .. } => WriteResult::Created { path: path.into() },
            Done::Created { path, stat, .. } => WriteResult::CreatedStat { path: path.into(), stat },
            Done::Deleted => WriteResult::Deleted,
            Done::DataSet(stat) => WriteResult::Set(stat),
            Done::Checked => WriteResult::Checked,
        }
    }
}
