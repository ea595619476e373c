//! The tree as a server has it: read from what it would write down before it stops.

use zkrecipes_embedded::machine::Machine;
use zkrecipes_embedded::wire::{Malformed, Reader};

/// What is of interest about a node.
#[derive(Clone, Debug)]
pub struct Node {
    pub path: String,
    pub data: Vec<u8>,
    /// The session that it belongs to; zero for none.
    pub session: i64,
    pub czxid: i64,
    /// How often its data was written since it was made.
    pub version: i32,
    /// A container that never had a child: no server collects it.
    pub is_unused: bool,
}

/// Every node, sorted by path, without the server's own.
pub fn nodes(machine: &Machine) -> Vec<Node> {
    read(&machine.save()).unwrap_or_else(|Malformed| panic!("Machine::save has another layout now"))
}

/// The layout is that of `saved.rs` in the embedded server.
fn read(saved: &[u8]) -> Result<Vec<Node>, Malformed> {
    const MAGIC: i32 = 0x5A4B_5232;
    let r = &mut Reader::new(saved);
    if r.int()? != MAGIC {
        return Err(Malformed);
    }
    let (_zxid, _next_session, _secret) = (r.long()?, r.long()?, (r.long()?, r.long()?));
    let _sessions = r.vector(|r| Ok((r.long()?, r.long()?)))?;
    let mut nodes = r.vector(node)?;
    if !r.is_empty() {
        return Err(Malformed);
    }
    nodes.retain(|node| {
        node.path != "/" && node.path != "/zookeeper" && !node.path.starts_with("/zookeeper/")
    });
    Ok(nodes)
}

fn node(r: &mut Reader) -> Result<Node, Malformed> {
    const OF_A_SESSION: i32 = 1;
    const CONTAINER: i32 = 2;
    let path = r.string()?.into_owned();
    let data = r.buffer()?.unwrap_or_default().to_vec();
    let _acl = r.vector(Reader::acl)?;
    let (kind, owner) = (r.int()?, r.long()?);
    let czxid = r.long()?;
    let (_mzxid, _pzxid, _ctime, _mtime) = (r.long()?, r.long()?, r.long()?, r.long()?);
    let (version, _aversion, creates) = (r.int()?, r.int()?, r.int()?);
    let is_unused = kind == CONTAINER && creates == 0;
    Ok(Node { path, data, session: if kind == OF_A_SESSION { owner } else { 0 }, czxid, version, is_unused })
}
