//! Every node, for whoever looks at a machine from outside.

use super::Machine;
use super::tree::Owner;

/// One node.
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a> {
    pub path: &'a str,
    pub data: &'a [u8],
    /// The session that it belongs to; zero for none.
    pub session: i64,
    pub czxid: i64,
    pub mzxid: i64,
    /// How often its data was written since it was made.
    pub version: i32,
    /// A container that never had a child: no server collects it.
    pub is_unused: bool,
}

impl Machine {
    /// Every node outside `/zookeeper`, sorted by path, without the root.
    pub fn nodes(&self) -> Vec<NodeView<'_>> {
        let all = self
            .tree
            .iter()
            .filter(|(path, _)| *path != "/" && *path != "/zookeeper" && !path.starts_with("/zookeeper/"));
        let mut views: Vec<_> = all
            .map(|(path, node)| NodeView {
                path,
                data: node.data.as_deref().unwrap_or_default(),
                session: if let Owner::Session(id) = node.owner { id } else { 0 },
                czxid: node.czxid,
                mzxid: node.mzxid,
                version: node.version,
                is_unused: node.owner == Owner::Container && node.creates == 0,
            })
            .collect();
        views.sort_unstable_by_key(|view| view.path);
        views
    }
}
