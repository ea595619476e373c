//! What the recipes need of a ZooKeeper connection, kept as small as they need it: a second transport, or the
//! embedded state machine under virtual time, is one more implementation of these two traits.
//!
//! Every request **leaves when the method is called**; the returned future only waits for the answer. That is how one
//! flight carries two requests, and a dropped future does not take its request back.

use std::time::Duration;

use super::clock::Later;
use crate::options::{AclChoice, ClientOptions};

#[doc(hidden)]
pub mod nodelay;
pub(crate) mod zookeeper;

/// The answer to a request that has left already.
pub type Flight<T> = Later<Result<T, WireError>>;

/// Opens sessions.
pub trait Dial: Send + Sync {
    /// One new session, tried until the server answers; the caller limits the time.
    fn dial(&self, hosts: &str, options: &ClientOptions) -> Flight<Box<dyn Wire>>;
}

/// One session with the server, over as many connections as it takes.
pub trait Wire: Send + Sync {
    fn session_id(&self) -> u64;
    /// As negotiated with the server.
    fn session_timeout(&self) -> Duration;
    /// How the connection stands at this very moment.
    fn link(&self) -> Link;
    /// Resolves once [`Wire::link`] is no longer `seen`.
    fn link_changed(&self, seen: Link) -> Later<()>;
    /// Ends the session; resolves when the server has confirmed or never will.
    fn close(&self) -> Later<()>;

    fn create(&self, path: &str, data: &[u8], mode: CreateMode, acl: &AclChoice) -> Flight<Created>;
    fn delete(&self, path: &str, version: Option<i32>) -> Flight<()>;
    fn exists(&self, path: &str) -> Flight<Option<Stat>>;
    fn get_data(&self, path: &str) -> Flight<(Vec<u8>, Stat)>;
    fn set_data(&self, path: &str, data: &[u8], version: Option<i32>) -> Flight<Stat>;
    fn children(&self, path: &str) -> Flight<Vec<String>>;
    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)>;
    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Watch)>;
    fn sync(&self, path: &str) -> Flight<()>;
    /// Answers the nodes that were created, in order. Servers before 3.8.2 tell no czxid here: it is then −1.
    fn multi(&self, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Created>>;
    /// Creates the chroot of the connect string, if there is one.
    fn create_chroot(&self) -> Flight<()>;
}

/// How a session's connection stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rises with every change, so that equal generations mean: the same connection all the while.
    pub generation: u64,
    pub state: LinkState,
}

/// Whether there is a connection, or ever will be again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    Up,
    Down,
    /// The session has ended: it expired, was refused, or was closed.
    Ended,
    /// The server refused our credentials.
    Denied,
}

/// Resolves with the one event that a watch delivers.
pub type Watch = Later<Event>;

/// What a watch reports.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Created,
    Deleted,
    DataChanged,
    ChildrenChanged,
    SessionEnded,
}

/// Where a create ended up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The full path, the sequence suffix included.
    pub path: String,
    pub czxid: i64,
}

/// What kind of node to create.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum CreateMode {
    Persistent,
    Ephemeral,
    PersistentSequential,
    EphemeralSequential,
    /// Removed by the server some time after its last child has gone.
    Container,
}

/// A node's metadata, as ZooKeeper keeps it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub czxid: i64,
    pub mzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub ephemeral_owner: i64,
    pub data_length: i32,
    pub num_children: i32,
    pub pzxid: i64,
}

/// One part of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Check { path: String, version: Option<i32> },
    Create { path: String, data: Vec<u8>, mode: CreateMode },
    Set { path: String, data: Vec<u8>, version: Option<i32> },
    Delete { path: String, version: Option<i32> },
}

impl Write {
    pub(crate) fn path(&self) -> &str {
        match self {
            Write::Check { path, .. }
            | Write::Create { path, .. }
            | Write::Set { path, .. }
            | Write::Delete { path, .. } => path,
        }
    }
}

/// Why a request failed, as far as a recipe can tell things apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    NoNode,
    NodeExists,
    BadVersion,
    NotEmpty,
    /// An ephemeral node cannot have children.
    EphemeralParent,
    NoAuth,
    AuthFailed,
    InvalidAcl,
    ReadOnly,
    /// This server does not know the operation.
    Unimplemented,
    /// The connection broke before the answer came: the outcome is unknown.
    ConnectionLoss,
    /// The session ended before the answer came.
    SessionEnded,
    /// Part `index` of a transaction failed, and so all of it.
    Part {
        index: usize,
        error: Box<WireError>,
    },
    Other(String),
}

impl WireError {
    /// Whether the quorum itself decided this: then the answer also proves that the session was alive.
    pub(crate) fn is_verdict(&self) -> bool {
        matches!(
            self,
            WireError::NoNode
                | WireError::NodeExists
                | WireError::BadVersion
                | WireError::NotEmpty
                | WireError::EphemeralParent
                | WireError::Part { .. }
        )
    }

    /// Whether the answer is missing, so that a write may or may not have happened.
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self, WireError::ConnectionLoss | WireError::SessionEnded)
    }
}
