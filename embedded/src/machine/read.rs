//! Reads, and what sets and removes watches.

use super::request::Caller;
use super::tree::Node;
use super::{Machine, acl};
use crate::wire::{Code, EventKind, Reply, Request, Stat, Writer};
use std::borrow::Cow;

impl Machine {
    pub(super) fn read_request(&mut self, caller: &Caller, request: Request) {
        let request = match request {
            Request::MultiRead(ops) => return self.multi_read(caller, ops),
            other => other,
        };
        let mut w = self.begin_reply(caller);
        match self.read(caller, request, &mut w) {
            Ok(()) => self.end_reply(caller, w),
            Err(code) => self.reply_error(caller.conn, caller.xid, code),
        }
    }

    fn read(&mut self, caller: &Caller, request: Request, w: &mut Writer) -> Result<(), Code> {
        match request {
            Request::Exists { path, watch } => Reply::Stat(self.exists(caller, &path, watch)?).write(w),
            Request::GetData { path, watch } => {
                let node = self.data_of(caller, &path, watch)?;
                Reply::Data { data: node.content(), stat: node.stat() }.write(w);
            }
            Request::GetChildren { path, watch } => {
                Reply::Names(self.children_of(caller, &path, watch)?.names()).write(w);
            }
            Request::GetChildren2 { path, watch } => {
                let node = self.children_of(caller, &path, watch)?;
                Reply::NamesAndStat { names: node.names(), stat: node.stat() }.write(w);
            }
            Request::GetAcl { path } => {
                let node = self.tree.get(&path).ok_or(Code::NoNode)?;
                acl::check(&node.acl, acl::READ | acl::ADMIN, &caller.ids)?;
                let acl = match acl::allowed(&node.acl, acl::ADMIN, &caller.ids) {
                    true => node.acl.to_vec(),
                    false => acl::masked(&node.acl),
                };
                Reply::Acl { acl, stat: node.stat() }.write(w);
            }
            Request::Sync { path } => Reply::Path(path).write(w),
            Request::GetAllChildrenNumber { path } => {
                let node = self.tree.get(&path).ok_or(Code::NoNode)?;
                acl::check(&node.acl, acl::READ, &caller.ids)?;
                Reply::Count(self.tree.descendants(&path) as i32).write(w);
            }
            Request::GetEphemerals { prefix } => {
                let mut paths = self.tree.ephemerals(caller.session);
                if !matches!(prefix.trim(), "" | "/") {
                    paths.retain(|p| p.starts_with(prefix.as_ref()));
                }
                Reply::Names(paths.into_iter().map(Cow::Owned).collect()).write(w);
            }
            Request::WhoAmI => {
                let known = caller.ids.iter().map(|id| {
                    let user = match id.scheme.as_str() {
                        "digest" => id.id.split(':').next().unwrap_or_default(),
                        _ => &id.id,
                    };
                    (id.scheme.as_str().into(), user.into())
                });
                Reply::Identities(known.collect()).write(w);
            }
            Request::AddWatch { path, mode } => {
                match mode {
                    0 => self.watches.add_persistent(&path, caller.conn),
                    1 if self.config.dialect.has_deaf_watches => {}
                    1 => self.watches.add_recursive(&path, caller.conn),
                    _ => return Err(Code::MarshallingError),
                }
                Reply::Count(0).write(w);
            }
            Request::CheckWatches { path, kind } => {
                self.known_kind(kind)?;
                if !self.watches.contains(&path, caller.conn, kind) {
                    return Err(Code::NoWatcher);
                }
            }
            Request::RemoveWatches { path, kind } => {
                self.known_kind(kind)?;
                if !self.watches.remove(&path, caller.conn, kind) {
                    return Err(Code::NoWatcher);
                }
            }
            Request::SetWatches { seen, lists } => self.set_watches(caller, seen, &lists),
            Request::Write(_)
            | Request::SetAcl { .. }
            | Request::Multi(_)
            | Request::MultiRead(_)
            | Request::Ping
            | Request::Reconfig { .. }
            | Request::Auth { .. }
            | Request::Sasl { .. }
            | Request::Close
            | Request::Unknown => return Err(Code::Unimplemented),
        }
        Ok(())
    }

    fn known_kind(&self, kind: i32) -> Result<(), Code> {
        let last = if self.config.profile.removes_persistent { 5 } else { 3 };
        if (1..=last).contains(&kind) { Ok(()) } else { Err(Code::MarshallingError) }
    }

    fn exists(&mut self, caller: &Caller, path: &str, watch: bool) -> Result<Stat, Code> {
        if self.config.profile.guards_reads
            && let Some(node) = self.tree.get(path)
        {
            acl::check(&node.acl, acl::READ, &caller.ids)?;
        }
        // The one read that also watches for a node to come.
        if watch {
            self.watches.add_data(path, caller.conn);
        }
        self.tree.get(path).map(Node::stat).ok_or(Code::NoNode)
    }

    pub(super) fn data_of(&mut self, caller: &Caller, path: &str, watch: bool) -> Result<&Node, Code> {
        let node = self.tree.get(path).ok_or(Code::NoNode)?;
        acl::check(&node.acl, acl::READ, &caller.ids)?;
        if watch {
            self.watches.add_data(path, caller.conn);
        }
        Ok(node)
    }

    pub(super) fn children_of(&mut self, caller: &Caller, path: &str, watch: bool) -> Result<&Node, Code> {
        let node = self.tree.get(path).ok_or(Code::NoNode)?;
        acl::check(&node.acl, acl::READ, &caller.ids)?;
        if watch {
            self.watches.add_child(path, caller.conn);
        }
        Ok(node)
    }

    /// A client is back and tells what it watched and what it last saw: what it missed is told now.
    fn set_watches(&mut self, caller: &Caller, seen: i64, lists: &[Vec<Cow<str>>; 5]) {
        let conn = caller.conn;
        let [data, exist, child, persistent, recursive] = lists;
        for path in data {
            match self.tree.get(path).map(|n| n.mzxid) {
                None => self.notify(conn, path, EventKind::Deleted, -1),
                Some(mzxid) if mzxid > seen => self.notify(conn, path, EventKind::DataChanged, -1),
                Some(_) => self.watches.add_data(path, conn),
            }
        }
        for path in exist {
            match self.tree.get(path) {
                Some(_) => self.notify(conn, path, EventKind::Created, -1),
                None => self.watches.add_data(path, conn),
            }
        }
        for path in child {
            match self.tree.get(path).map(|n| n.pzxid) {
                None => self.notify(conn, path, EventKind::Deleted, -1),
                Some(pzxid) if pzxid > seen => self.notify(conn, path, EventKind::ChildrenChanged, -1),
                Some(_) => self.watches.add_child(path, conn),
            }
        }
        for path in persistent {
            self.watches.add_persistent(path, conn);
        }
        for path in recursive {
            self.watches.add_recursive(path, conn);
        }
    }
}
