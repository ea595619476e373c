//! What a stopped server hands to the next one: nodes, sessions and zxids, as bytes.

use super::sessions::Sessions;
use super::tree::{Node, Owner};
use super::{Config, Machine, Now};
use crate::wire::{Malformed, Reader, Writer};
use std::time::Duration;

/// Changes when the layout does.
const MAGIC: i32 = 0x5A4B_5232;

impl Machine {
    /// Everything a restart keeps: nodes, sessions with what their passwords are made of, zxids. Connections and watches are
    /// not part of it.
    pub fn save(&self) -> Vec<u8> {
        let mut w = Writer::frame();
        let secret = self.sessions.secret();
        w.int(MAGIC).long(self.zxid).long(self.sessions.next_id());
        w.long((secret >> 64) as i64).long(secret as i64);
        let sessions = self.sessions.ids();
        w.int(sessions.len() as i32);
        for id in sessions {
            w.long(id).long(self.sessions.timeout(id).as_millis() as i64);
        }
        // Parents first, so that each node finds its parent when it is put back.
        let mut nodes: Vec<(&str, &Node)> = self.tree.iter().collect();
        nodes.sort_unstable_by_key(|(path, _)| *path);
        w.int(nodes.len() as i32);
        for (path, node) in nodes {
            let (kind, value) = match node.owner {
                Owner::Nobody => (0, 0),
                Owner::Session(id) => (1, id),
                Owner::Container => (2, 0),
                Owner::Ttl(ms) => (3, ms),
            };
            w.string(path).buffer(node.data.as_deref()).acl(&node.acl).int(kind).long(value);
            w.long(node.czxid).long(node.mzxid).long(node.pzxid).long(node.ctime).long(node.mtime);
            w.int(node.version).int(node.aversion).int(node.creates);
        }
        w.finish().split_off(4)
    }

    /// A machine that goes on from where a saved one stopped; every session has its whole timeout.
    ///
    /// # Errors
    /// If the bytes are not what [`Machine::save`] made.
    pub fn load(config: Config, saved: &[u8], now: Now) -> Result<Machine, Malformed> {
        let mut machine = Machine::new(config);
        let r = &mut Reader::new(saved);
        if r.int()? != MAGIC {
            return Err(Malformed);
        }
        machine.zxid = r.long()?;
        let next_id = r.long()?;
        // Clients come back with the passwords that they have.
        machine.config.secret = (u128::from(r.long()? as u64) << 64) | u128::from(r.long()? as u64);
        machine.sessions = Sessions::new(machine.config.tick, next_id, machine.config.secret);
        for (id, timeout) in r.vector(|r| Ok((r.long()?, r.long()?)))? {
            let timeout = Duration::from_millis(u64::try_from(timeout).map_err(|_| Malformed)?);
            machine.sessions.adopt(id, now.mono, timeout);
        }
        for (path, node) in r.vector(node)? {
            machine.tree.put_back(&path, node);
        }
        if r.is_empty() { Ok(machine) } else { Err(Malformed) }
    }
}

fn node(r: &mut Reader) -> Result<(String, Node), Malformed> {
    let path = r.string()?.into_owned();
    let data = r.buffer()?;
    let acl = r.vector(Reader::acl)?.into();
    let owner = match (r.int()?, r.long()?) {
        (0, _) => Owner::Nobody,
        (1, id) => Owner::Session(id),
        (2, _) => Owner::Container,
        (3, ms) => Owner::Ttl(ms),
        _ => return Err(Malformed),
    };
    let mut node = Node::new(data, acl, owner, r.long()?, 0);
    (node.mzxid, node.pzxid, node.ctime, node.mtime) = (r.long()?, r.long()?, r.long()?, r.long()?);
    (node.version, node.aversion, node.creates) = (r.int()?, r.int()?, r.int()?);
    Ok((path, node))
}
