//! The list of servers in `/zookeeper/config`, and clients that change it. The list is all that changes.

use super::request::Caller;
use super::{Machine, Now, acl};
use crate::wire::{Code, Reply, SubWrite};
use std::borrow::Cow;
use std::collections::BTreeMap;

const CONFIG: &str = "/zookeeper/config";

/// What is asked for: either some servers to join and some to leave, or all of them.
pub(super) struct Change<'a> {
    pub joining: Option<Cow<'a, str>>,
    pub leaving: Option<Cow<'a, str>>,
    pub all: Option<Cow<'a, str>>,
}

/// Servers by their numbers: `host:port:port:role;client port`.
type Servers = BTreeMap<u64, String>;

impl Machine {
    /// Lets clients with the right to write `/zookeeper/config` change what servers it names; at first these, one to a
    /// line: `server.1=HOST:PORT:PORT:participant;CLIENTPORT`. None forbids it.
    pub fn allow_reconfig(&mut self, servers: Option<String>) {
        if let Some(servers) = &servers
            && let Some(node) = self.tree.get_mut(CONFIG)
            && node.data.as_ref().is_none_or(|d| d.is_empty())
        {
            let list = format!("{}\nversion={:x}", servers.trim_end(), node.mzxid);
            node.data = Some(list.into_bytes().into());
        }
        self.ensemble = servers;
    }

    pub(super) fn reconfig(&mut self, caller: &Caller, change: &Change, from: i64, now: Now) {
        let mut txn = self.begin(caller, now);
        let version = txn.zxid;
        let list = match self.changed_list(caller, change, from) {
            Ok(servers) => list_of(&servers, version),
            Err(code) => return self.reply_error(caller.conn, caller.xid, code),
        };
        let write = SubWrite::SetData { path: CONFIG.into(), data: Some(list.as_bytes()), version: -1 };
        match self.write(&mut txn, &write) {
            Err(code) => self.reply_error(caller.conn, caller.xid, code),
            Ok(_) => {
                self.commit(txn);
                let mut w = self.begin_reply(caller);
                if let Some(node) = self.tree.get(CONFIG) {
                    Reply::Data { data: node.content(), stat: node.stat() }.write(&mut w);
                }
                self.end_reply(caller, w);
            }
        }
    }

    fn changed_list(&self, caller: &Caller, change: &Change, from: i64) -> Result<Servers, Code> {
        if self.ensemble.is_none() {
            return Err(Code::ReconfigDisabled);
        }
        let node = self.tree.get(CONFIG).ok_or(Code::NoNode)?;
        if from != -1 && from != node.mzxid {
            return Err(Code::BadVersion);
        }
        let servers = match &change.all {
            Some(all) => parse(all.split(','))?,
            None => {
                let list = String::from_utf8_lossy(node.data.as_deref().unwrap_or_default()).into_owned();
                let mut servers = parse(list.lines().filter(|l| !l.starts_with("version=")))?;
                for leaving in change.leaving.iter().flat_map(|l| l.split(',')) {
                    let number = leaving.trim().parse::<u64>().map_err(|_| Code::BadArguments)?;
                    servers.remove(&number);
                }
                if let Some(joining) = &change.joining {
                    servers.extend(parse(joining.split(','))?);
                }
                servers
            }
        };
        if !servers.values().any(|s| !s.contains(":observer")) {
            return Err(Code::BadArguments);
        }
        acl::check(&node.acl, acl::WRITE, &caller.ids)?;
        Ok(servers)
    }
}

fn parse<'a>(servers: impl Iterator<Item = &'a str>) -> Result<Servers, Code> {
    let server = |line: &str| {
        let (number, server) = line.trim().strip_prefix("server.")?.split_once('=')?;
        let whole = server.split(':').count() >= 3;
        Some((number.parse().ok()?, whole.then(|| server.to_owned())?))
    };
    servers.map(|line| server(line).ok_or(Code::BadArguments)).collect()
}

fn list_of(servers: &Servers, version: i64) -> String {
    let lines = servers.iter().map(|(number, server)| format!("server.{number}={server}\n"));
    lines.collect::<String>() + &format!("version={version:x}")
}
