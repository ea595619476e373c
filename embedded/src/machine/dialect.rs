//! Servers that speak the protocol and are not ZooKeeper: in what they differ, by what their sources and issues say.

use super::Profile;
use crate::wire::Code;

/// How other servers that speak the protocol differ from ZooKeeper. [`Dialect::default`] does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// Operations that it does not know, by the names that they have in the log, also within a multi. As real servers do, it says
    /// so and hangs up.
    pub unknown: Vec<String>,
    /// It hangs up on what it does not know without saying so.
    pub is_mute: bool,
    /// It says so and does not hang up.
    pub keeps_connections: bool,
    /// What it answers to the creation of a container, if it makes none.
    pub refuses_containers: Option<Code>,
    /// The deletion of a child does not raise its parent's `pzxid`.
    pub keeps_pzxid: bool,
    /// New data of a child raise its parent's `cversion`.
    pub counts_child_data: bool,
    /// Recursive watches tell nothing of the nodes below.
    pub has_deaf_watches: bool,
    /// Recursive watches tell of a node below by the path that is watched.
    pub names_watched_paths: bool,
    /// Its sessions are 1, 2, 3 and so on.
    pub counts_sessions: bool,
    /// Who comes back to a session is given another one, and not told. The old one ends at its timeout.
    pub forgets_sessions: bool,
    /// What it calls itself, and its version, where ZooKeeper answers `Zookeeper` and a version.
    pub product: Option<(String, String)>,
}

/// What neither of them knows in any version.
const UNKNOWN: [&str; 4] = ["getEphemerals", "whoAmI", "getAllChildrenNumber", "deleteContainer"];
/// What both lack besides, or did.
const NEWER: [&str; 7] =
    ["create2", "createContainer", "createTTL", "addWatch", "setWatches2", "checkWatches", "removeWatches"];

impl Dialect {
    /// The names of those that there are: `clickhouse-keeper` is release 26.8, `clickhouse-keeper-25.8` that one, `raftkeeper` one
    /// of August 2026 or later.
    pub const NAMES: [&str; 3] = ["clickhouse-keeper", "clickhouse-keeper-25.8", "raftkeeper"];

    /// One of [`Dialect::NAMES`].
    pub fn named(name: &str) -> Option<Dialect> {
        match name {
            "clickhouse-keeper" => Some(Dialect::clickhouse_keeper("v26.8.1.1431", &["createTTL"])),
            "clickhouse-keeper-25.8" => {
                let mut dialect = Dialect::clickhouse_keeper("v25.8.1.5101", &NEWER);
                dialect.unknown.push("setWatches".to_owned());
                dialect.refuses_containers = Some(Code::BadArguments);
                Some(dialect)
            }
            "raftkeeper" => Some(Dialect::raftkeeper()),
            _ => None,
        }
    }

    /// Nodes with a time to live are off unless a flag allows them.
    fn clickhouse_keeper(version: &str, lacking: &[&str]) -> Dialect {
        Dialect {
            unknown: UNKNOWN.iter().chain(lacking).map(|name| (*name).to_owned()).collect(),
            is_mute: true,
            keeps_pzxid: true,
            counts_child_data: true,
            names_watched_paths: true,
            counts_sessions: true,
            forgets_sessions: true,
            product: Some(("ClickHouse Keeper".to_owned(), version.to_owned())),
            ..Dialect::default()
        }
    }

    fn raftkeeper() -> Dialect {
        Dialect {
            unknown: UNKNOWN
                .iter()
                .chain(&NEWER)
                .chain(&["reconfig"])
                .map(|name| (*name).to_owned())
                .collect(),
            keeps_connections: true,
            refuses_containers: Some(Code::BadArguments),
            counts_sessions: true,
            product: Some(("RaftKeeper".to_owned(), "RaftKeeper v2.4.0".to_owned())),
            ..Dialect::default()
        }
    }

    /// Of the releases of ZooKeeper the one that it is nearest to.
    pub(crate) fn profile(&self) -> Profile {
        Profile { events_carry_zxid: false, guards_reads: false, ..Profile::default() }
    }

    pub(super) fn knows(&self, operation: &str) -> bool {
        !self.unknown.iter().any(|unknown| unknown == operation)
    }
}
