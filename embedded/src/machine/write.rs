//! Single writes, each under a zxid of its own. A multi is made of the same steps.

use super::journal::Change;
use super::request::Caller;
use super::tree::{Node, Owner, is_special, parent_of};
use super::{Identity, Machine, Now, acl};
use crate::wire::{Acl, Code, CreateArgs, EventKind, Op, Reply, Stat, SubWrite};
use std::sync::Arc;

/// Nodes with a time to live keep it in forty bits.
const MAX_TTL: i64 = 0xff_ffff_ffff;

/// A transaction while it is being applied: what to tell watchers, and how to take it all back.
pub(super) struct Txn {
    pub zxid: i64,
    pub time: i64,
    pub session: i64,
    pub ids: Arc<[Identity]>,
    pub events: Vec<(String, EventKind, Arc<[Acl]>)>,
    pub undo: Vec<Undo>,
}

/// One step back.
pub(super) enum Undo {
    Create { path: String, creates: i32, pzxid: i64, wrapped: Option<i32> },
    Delete { path: String, node: Box<Node>, pzxid: i64 },
    SetData { path: String, data: Option<Box<[u8]>>, mzxid: i64, mtime: i64, version: i32 },
}

/// What a write leads to.
pub(super) enum Done {
    Created { op: Op, path: String, stat: Stat },
    Deleted,
    DataSet(Stat),
    Checked,
}

impl Txn {
    pub fn at(zxid: i64, time: i64, caller: &Caller) -> Txn {
        let (session, ids) = (caller.session, caller.ids.clone());
        Txn { zxid, time, session, ids, events: Vec::new(), undo: Vec::new() }
    }
}

impl Machine {
    pub(super) fn begin(&mut self, caller: &Caller, now: Now) -> Txn {
        Txn::at(self.next_zxid(), now.wall, caller)
    }

    pub(super) fn write_request(&mut self, caller: &Caller, write: SubWrite, now: Now) {
        let mut txn = self.begin(caller, now);
        match self.write(&mut txn, &write) {
            Err(code) => self.reply_error(caller.conn, caller.xid, code),
            Ok(done) => {
                self.commit(txn);
                let reply = match done {
                    Done::Created { op: Op::CREATE, path, .. } => Reply::Path(path.into()),
                    Done::Created { path, stat, .. } => Reply::Created { path: path.into(), stat },
                    Done::DataSet(stat) => Reply::Stat(stat),
                    Done::Deleted | Done::Checked => Reply::Nothing,
                };
                self.reply(caller, &reply);
            }
        }
    }

    /// Applies one write, or fails and leaves everything as it was.
    pub(super) fn write(&mut self, txn: &mut Txn, write: &SubWrite) -> Result<Done, Code> {
        match write {
            SubWrite::Create(args) => self.create(txn, args),
            SubWrite::Delete { path, version } => self.delete(txn, path, *version),
            SubWrite::SetData { path, data, version } => self.set_data(txn, path, *data, *version),
            SubWrite::Check { path, version } => {
                validate_path(path)?;
                let node = self.tree.get(path).ok_or(Code::NoNode)?;
                acl::check(&node.acl, acl::READ, &txn.ids)?;
                check_version(node.version, *version)?;
                Ok(Done::Checked)
            }
        }
    }

    /// Tells the watchers. The reply comes after.
    pub(super) fn commit(&mut self, txn: Txn) {
        for (path, event, acl) in txn.events {
            self.fire(&path, event, txn.zxid, Some(&acl));
        }
    }

    pub(super) fn roll_back(&mut self, txn: Txn) {
        if let Some(commit) = self.journal.as_mut().and_then(|j| j.last_mut()) {
            commit.changes.clear();
        }
        for step in txn.undo.into_iter().rev() {
            match step {
                Undo::Create { path, creates, pzxid, wrapped } => {
                    self.tree.remove(&path);
                    let parent = parent_of(&path);
                    if let Some(node) = self.tree.get_mut(parent) {
                        node.creates = creates;
                        node.pzxid = pzxid;
                    }
                    match wrapped {
                        Some(count) => self.wrapped.insert(parent.to_owned(), count),
                        None => self.wrapped.remove(parent),
                    };
                }
                Undo::Delete { path, node, pzxid } => {
                    self.tree.insert(&path, *node);
                    if let Some(parent) = self.tree.get_mut(parent_of(&path)) {
                        parent.pzxid = pzxid;
                    }
                }
                Undo::SetData { path, data, mzxid, mtime, version } => {
                    if let Some(node) = self.tree.get_mut(&path) {
                        (node.data, node.mzxid, node.mtime, node.version) = (data, mzxid, mtime, version);
                    }
                    if self.config.dialect.counts_child_data
                        && path != "/"
                        && let Some(parent) = self.tree.get_mut(parent_of(&path))
                    {
                        parent.child_data -= 1;
                    }
                }
            }
        }
    }

    fn create(&mut self, txn: &mut Txn, args: &CreateArgs) -> Result<Done, Code> {
        let mode = Mode::of(args, self.config.extended_types)?;
        if let (Owner::Container, Some(refusal)) = (mode.owner, self.config.dialect.refuses_containers) {
            return Err(refusal);
        }
        if !args.path.contains('/') || args.path.contains('\0') {
            return Err(Code::BadArguments);
        }
        let node_acl = acl::fix_up(&args.acl, &txn.ids)?;
        let parent_path = parent_of(&args.path);
        let parent = self.tree.get(parent_path).ok_or(Code::NoNode)?;
        acl::check(&parent.acl, acl::CREATE, &txn.ids)?;
        let in_flight = self.wrapped.get(parent_path).copied();
        let count = in_flight.unwrap_or(parent.creates);
        let path = if mode.sequential {
            format!("{}{count:010}", args.path)
        } else {
            args.path.clone().into_owned()
        };
        validate_path(&path)?;
        if self.tree.get(&path).is_some() {
            return Err(Code::NodeExists);
        }
        if matches!(parent.owner, Owner::Session(_)) {
            return Err(Code::NoChildrenForEphemerals);
        }

        let owner = match mode.owner {
            Owner::Session(_) => Owner::Session(txn.session),
            other => other,
        };
        let parent_path = parent_of(&path).to_owned();
        let parent_acl = parent.acl.clone();
        let (creates, pzxid) = (parent.creates, parent.pzxid);
        txn.undo.push(Undo::Create { path: path.clone(), creates, pzxid, wrapped: in_flight });
        let next = count.wrapping_add(1);
        if let Some(parent) = self.tree.get_mut(&parent_path) {
            if next > parent.creates {
                parent.creates = next;
                parent.pzxid = txn.zxid;
            } else {
                // The stored count never goes down, so at the end of the range it stays, and pzxid with it.
                self.wrapped.insert(parent_path.clone(), next);
            }
        }
        let node = Node::new(args.data, node_acl.clone(), owner, txn.zxid, txn.time);
        let stat = node.stat();
        self.record(|| Change::Create { path: path.clone(), node: Box::new(node.clone()), creates: next });
        self.tree.insert(&path, node);
        txn.events.push((path.clone(), EventKind::Created, node_acl));
        txn.events.push((parent_path, EventKind::ChildrenChanged, parent_acl));
        Ok(Done::Created { op: args.op, path, stat })
    }

    fn delete(&mut self, txn: &mut Txn, path: &str, version: i32) -> Result<Done, Code> {
        if !path.contains('/') || path.contains('\0') || is_special(path) {
            return Err(Code::BadArguments);
        }
        let parent = self.tree.get(parent_of(path)).ok_or(Code::NoNode)?;
        acl::check(&parent.acl, acl::DELETE, &txn.ids)?;
        let node = self.tree.get(path).ok_or(Code::NoNode)?;
        check_version(node.version, version)?;
        if !node.children.is_empty() {
            return Err(Code::NotEmpty);
        }
        self.delete_node(txn, path);
        Ok(Done::Deleted)
    }

    /// Takes a node out without asking, if it is there.
    pub(super) fn delete_node(&mut self, txn: &mut Txn, path: &str) {
        let Some(node) = self.tree.remove(path) else { return };
        self.record(|| Change::Delete { path: path.to_owned() });
        let parent_path = parent_of(path).to_owned();
        let Some(parent) = self.tree.get_mut(&parent_path) else { return };
        let pzxid = parent.pzxid;
        if !self.config.dialect.keeps_pzxid {
            parent.pzxid = pzxid.max(txn.zxid);
        }
        let parent_acl = parent.acl.clone();
        txn.events.push((path.to_owned(), EventKind::Deleted, node.acl.clone()));
        txn.events.push((parent_path, EventKind::ChildrenChanged, parent_acl));
        txn.undo.push(Undo::Delete { path: path.to_owned(), node: Box::new(node), pzxid });
    }

    fn set_data(
        &mut self,
        txn: &mut Txn,
        path: &str,
        data: Option<&[u8]>,
        version: i32,
    ) -> Result<Done, Code> {
        validate_path(path)?;
        let node = self.tree.get_mut(path).ok_or(Code::NoNode)?;
        acl::check(&node.acl, acl::WRITE, &txn.ids)?;
        check_version(node.version, version)?;
        txn.undo.push(Undo::SetData {
            path: path.to_owned(),
            data: std::mem::replace(&mut node.data, data.map(Box::from)),
            mzxid: std::mem::replace(&mut node.mzxid, txn.zxid),
            mtime: std::mem::replace(&mut node.mtime, txn.time),
            version: node.version,
        });
        node.version = node.version.wrapping_add(1);
        if self.config.dialect.counts_child_data
            && path != "/"
            && let Some(parent) = self.tree.get_mut(parent_of(path))
        {
            parent.child_data += 1;
        }
        let node = self.tree.get(path).ok_or(Code::NoNode)?;
        txn.events.push((path.to_owned(), EventKind::DataChanged, node.acl.clone()));
        let stat = node.stat();
        self.record(|| Change::SetData { path: path.to_owned(), data: data.map(Box::from), time: txn.time });
        Ok(Done::DataSet(stat))
    }

    pub(super) fn set_acl(&mut self, caller: &Caller, path: &str, list: &[Acl], version: i32) {
        self.next_zxid();
        match self.try_set_acl(caller, path, list, version) {
            Err(code) => self.reply_error(caller.conn, caller.xid, code),
            Ok(stat) => self.reply(caller, &Reply::Stat(stat)),
        }
    }

    fn try_set_acl(&mut self, caller: &Caller, path: &str, list: &[Acl], version: i32) -> Result<Stat, Code> {
        validate_path(path)?;
        let fixed = acl::fix_up(list, &caller.ids)?;
        let node = self.tree.get_mut(path).ok_or(Code::NoNode)?;
        acl::check(&node.acl, acl::ADMIN, &caller.ids)?;
        check_version(node.aversion, version)?;
        node.acl = fixed.clone();
        node.aversion = node.aversion.wrapping_add(1);
        let stat = node.stat();
        self.record(|| Change::SetAcl { path: path.to_owned(), acl: fixed });
        Ok(stat)
    }

    /// A session's nodes, all under one zxid.
    pub(super) fn delete_ephemerals(&mut self, session: i64, zxid: i64) {
        let mut txn = Txn { zxid, time: 0, session, ids: Arc::new([]), events: Vec::new(), undo: Vec::new() };
        for path in self.tree.ephemerals(session) {
            self.delete_node(&mut txn, &path);
        }
        self.commit(txn);
    }
}

struct Mode {
    sequential: bool,
    owner: Owner,
}

impl Mode {
    fn of(args: &CreateArgs, extended_types: bool) -> Result<Mode, Code> {
        let with_ttl = matches!(args.flags, 5 | 6);
        if !(0..=6).contains(&args.flags) {
            return Err(Code::BadArguments);
        }
        if with_ttl && !extended_types {
            return Err(Code::Unimplemented);
        }
        // A time to live belongs to the modes that have one, and to no other.
        if if with_ttl { !(1..=MAX_TTL).contains(&args.ttl) } else { args.ttl >= 0 } {
            return Err(Code::BadArguments);
        }
        let owner = match (args.op, args.flags) {
            (Op::CREATE_CONTAINER, _) => Owner::Container,
            (Op::CREATE_TTL, 5 | 6) => Owner::Ttl(args.ttl),
            (_, 1 | 3) => Owner::Session(0),
            _ => Owner::Nobody,
        };
        Ok(Mode { sequential: matches!(args.flags, 2 | 3 | 6), owner })
    }
}

fn check_version(current: i32, expected: i32) -> Result<(), Code> {
    if expected == -1 || expected == current { Ok(()) } else { Err(Code::BadVersion) }
}

/// Java's `PathUtils.validatePath`, which counts in UTF-16: what needs a surrogate pair is refused.
pub(super) fn validate_path(path: &str) -> Result<(), Code> {
    let Some(rest) = path.strip_prefix('/') else { return Err(Code::BadArguments) };
    if rest.is_empty() {
        return Ok(());
    }
    let bad = |c: char| {
        matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
            || c > '\u{ffff}'
    };
    let name_ok = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(bad);
    if rest.split('/').all(name_ok) { Ok(()) } else { Err(Code::BadArguments) }
}
