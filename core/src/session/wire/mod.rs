//! What the recipes need of a ZooKeeper connection, kept as small as they need it: a second transport, or the
//! embedded state machine under virtual time, is one more implementation of these two traits.
//!
//! Every request **leaves when the method is called**; the returned future only waits for the answer. That is how one
//! flight carries two requests, and a dropped future does not take its request back.

#![cfg_attr(not(test), forbid(unsafe_code))]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::WeakShared;

use crate::error::Error;
use crate::options::{AclChoice, AclEntry, ClientOptions};
use crate::runtime::Later;
use crate::session::clock::Moment;

mod asking;
pub(crate) mod capability;
pub(crate) mod frame;
#[cfg(feature = "zookeeper-client")]
pub(crate) mod guest;
mod machine;
mod noted;
pub(crate) mod open;
#[doc(hidden)]
pub mod own;
#[cfg(test)]
pub(crate) mod scripted;
mod session_identity;
#[cfg(test)]
mod tests;
#[cfg(feature = "zookeeper-client")]
#[cfg(test)]
mod transport_tests;

pub(crate) use asking::asked;
#[cfg(any(test, fuzzing))]
pub(crate) use machine::fuzzed;
pub use noted::{Noted, Trouble};
pub use session_identity::SessionIdentity;
pub use zkrecipes_protocol::Stat;

/// The answer to a request that has left already.
pub type Flight<T> = Later<Result<T, WireError>>;

/// What one of several reads came to.
pub type Read = Result<(Vec<u8>, Stat), WireError>;

/// Each call waits for the next change; false when nobody tells any more.
pub type Following = Box<dyn FnMut() -> Later<bool> + Send>;

/// Opens sessions.
pub trait Dial: Send + Sync {
    /// One new session, tried until the server answers; the caller limits the time.
    /// What each attempt to connect comes to is noted meanwhile.
    fn dial(&self, hosts: &str, options: &ClientOptions, noted: &Arc<Noted>) -> Flight<Box<dyn Wire>>;
    /// Closes a session that [has ended for us alone](Wire::outlives_us), at the server `near` first, on a connection of its own on
    /// which nothing else is asked. Resolves when a server has confirmed it, or when they have ended it by themselves.
    fn close_outliving(
        &self,
        _hosts: &str,
        _options: &ClientOptions,
        _session: SessionIdentity,
        _near: Option<String>,
    ) -> Later<()> {
        Box::pin(std::future::ready(()))
    }
}

/// One session with the server, over as many connections as it takes.
pub trait Wire: Send + Sync {
    fn session_id(&self) -> u64;
    /// As negotiated with the server.
    fn session_timeout(&self) -> Duration;
    /// No later than when the session was asked for that the server granted, as far as that is known.
    fn asked(&self) -> Option<Moment> {
        None
    }
    /// How the connection stands at this very moment.
    fn link(&self) -> Link;
    /// When what the server owes an answer for longest was asked, as far as that is known; the beginning of time for what has not left.
    fn owes_since(&self) -> Option<Moment> {
        None
    }
    /// Whether [`WireError::SessionEnded`] says of a request that it was not carried out: it had not left, or was refused. The crate
    /// zookeeper-client says the same of what was on its way.
    fn knows_what_left(&self) -> bool {
        false
    }
    /// The server at the other end, or of the connection that has broken, as `host:port`, as far as that is known.
    fn server(&self) -> Option<String> {
        None
    }
    /// Why the last connection ended, as far as that is known.
    fn cause(&self) -> Option<String> {
        None
    }
    /// The session, if it has ended because no server was heard of: they may go on with it, and with its nodes, for a timeout from
    /// when they are back.
    fn outlives_us(&self) -> Later<Option<SessionIdentity>> {
        Box::pin(std::future::ready(None))
    }
    /// Resolves once [`Wire::link`] is no longer `seen`.
    fn link_changed(&self, seen: Link) -> Later<()>;
    /// The servers to be tried from now on; a connection with one of them stays.
    fn update_hosts(&self, _hosts: &str) {}
    /// Ends the session; resolves when the server has confirmed or never will.
    fn close(&self) -> Later<()>;

    fn create(&self, path: &str, data: &[u8], mode: CreateMode, acl: &AclChoice) -> Flight<Created>;
    fn delete(&self, path: &str, version: Option<i32>) -> Flight<()> {
        self.delete_on(None, path, version)
    }
    /// The same, never ahead of what was asked for before and waits because so much is in flight.
    fn delete_in_order(&self, path: &str) -> Flight<()> {
        self.delete(path, None)
    }
    /// The same on the connection of this generation, if one is said, or not at all: as [`Wire::multi_on`].
    fn delete_on(&self, generation: Option<u64>, path: &str, version: Option<i32>) -> Flight<()>;
    fn exists(&self, path: &str) -> Flight<Option<Stat>>;
    fn get_data(&self, path: &str) -> Flight<(Vec<u8>, Stat)>;
    /// Several in one request, each of which is answered by itself. Servers before 3.6 do not know it, say so and hang up.
    fn get_each(&self, paths: &[String]) -> Flight<Vec<Read>>;
    fn set_data(&self, path: &str, data: &[u8], version: Option<i32>) -> Flight<Stat> {
        self.set_data_on(None, path, data, version)
    }
    /// The same on the connection of this generation, if one is said, or not at all: as [`Wire::multi_on`].
    fn set_data_on(
        &self,
        generation: Option<u64>,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Flight<Stat>;
    fn children(&self, path: &str) -> Flight<Vec<String>>;
    /// The children together with the metadata of their parent, as of one moment.
    fn children_and_stat(&self, path: &str) -> Flight<(Vec<String>, Stat)>;
    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)>;
    /// Also watches a node that is missing, for its creation.
    fn watch_exists(&self, path: &str) -> Flight<(Option<Stat>, Watch)>;
    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Stat, Watch)>;
    /// Tells that children of the node came or went, without a list of them; asked for when this is called. `None` where no
    /// server tells.
    fn follow_children(&self, _path: &str) -> Option<Following> {
        None
    }
    /// Tells once that children of the node came or went since its `pzxid` was that, without a list of them. Unimplemented where that
    /// cannot be asked.
    fn watch_children_since(&self, _path: &str, _pzxid: i64) -> Flight<Watch> {
        Box::pin(std::future::ready(Err(WireError::Unimplemented)))
    }
    /// Whether the access list of the node lets everybody delete below it, without credentials.
    fn is_open_to_deletion(&self, path: &str) -> Flight<bool> {
        let list = self.access_list(path);
        let is_open = |entry: &AclEntry| {
            (&*entry.scheme, &*entry.id) == ("world", "anyone") && entry.permissions.contains('d')
        };
        Box::pin(async move { Ok(list.await?.0.iter().any(is_open)) })
    }
    /// Whether strangers can delete below the node: all of them, or all from wherever they are, may, or may let themselves. With the
    /// czxid of the node that was looked at.
    fn is_open_to_strangers(&self, path: &str) -> Flight<(bool, i64)> {
        let list = self.access_list(path);
        let is_open = |entry: &AclEntry| {
            let is_anybody = match &*entry.scheme {
                "world" => true,
                "ip" => entry.id.ends_with("/0"),
                _ => false,
            };
            is_anybody && entry.permissions.contains(['d', 'a'])
        };
        Box::pin(async move {
            let (list, stat) = list.await?;
            Ok((list.iter().any(is_open), stat.czxid))
        })
    }
    /// The access list of the node. To who has no right to change it, servers do not tell the secrets in it.
    fn access_list(&self, _path: &str) -> Flight<(Vec<AclEntry>, Stat)> {
        Box::pin(std::future::ready(Err(WireError::Unimplemented)))
    }
    fn sync(&self, path: &str) -> Flight<()>;
    /// Answers what became of each part, in order. `acl` is for nodes that bring none of their own.
    fn multi(&self, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>> {
        self.multi_on(None, writes, acl)
    }
    /// The same on the connection of this generation, if one is said, or not at all: [`WireError::NotSent`] if it has not left by
    /// the time that connection ends.
    fn multi_on(&self, generation: Option<u64>, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>>;
    /// As [`Wire::multi`], never ahead of what was asked for before and waits because so much is in flight.
    fn multi_in_order(&self, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>> {
        self.multi(writes, acl)
    }
    /// The paths of this session's own ephemeral nodes at `path` and below. Servers before 3.5.7 do not tell.
    fn own_ephemerals(&self, path: &str) -> Flight<Vec<String>>;
    /// As whom the server knows this connection, each as `scheme:id`. Servers before 3.7 do not tell.
    fn who_am_i(&self) -> Flight<Vec<String>> {
        Box::pin(std::future::ready(Err(WireError::Unimplemented)))
    }
    /// Creates the chroot of the connect string, if there is one.
    fn create_chroot(&self, acl: &AclChoice) -> Flight<()>;
}

/// The generation of a session's first connection.
pub(crate) const FIRST_CONNECTION: u64 = 1;

/// How a session's connection stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rises with every change, so that equal generations mean: the same connection all the while. The first one has 1.
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
    /// No server was heard of for the session timeout, so it has ended, whatever a server would say.
    Unheard,
    /// The server refused our credentials.
    Denied,
}

impl LinkState {
    /// Whether there will be no connection any more.
    pub fn is_over(self) -> bool {
        matches!(self, LinkState::Ended | LinkState::Unheard | LinkState::Denied)
    }
}

/// Resolves with the one event that a watch delivers.
pub struct Watch {
    event: Later<Event>,
    is_armed: bool,
}

impl Watch {
    /// A watch that the server has.
    pub fn new(event: Later<Event>) -> Watch {
        Watch { event, is_armed: true }
    }

    /// In place of a watch that could not be set: resolves with [`Event::Unwatched`] when it is time to look again.
    pub fn unarmed(pause: Later<()>) -> Watch {
        let event = Box::pin(async move {
            pause.await;
            Event::Unwatched
        });
        Watch { event, is_armed: false }
    }

    /// The same watch, and what shows whether it has told something.
    pub fn shared(self) -> (Watch, Option<WeakShared<Later<Event>>>) {
        let event = self.event.shared();
        let told = event.downgrade();
        (Watch::new(Box::pin(event)), told)
    }

    /// Whether the server tells what happens; otherwise silence means nothing.
    pub fn is_armed(&self) -> bool {
        self.is_armed
    }
}

impl Future for Watch {
    type Output = Event;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Event> {
        self.event.as_mut().poll(context)
    }
}

/// What a watch reports.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Created,
    Deleted,
    DataChanged,
    ChildrenChanged,
    SessionEnded,
    /// Nobody tells any more: time to look again.
    Unwatched,
}

/// Where a create ended up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The full path, the sequence suffix included.
    pub path: String,
    /// Servers before 3.8.2 do not tell it of what a transaction created: it is then −1.
    pub czxid: i64,
    /// If it was told, and asked for.
    pub stat: Option<Stat>,
}

/// What became of one part of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    Checked,
    Created(Created),
    Set(Stat),
    Deleted,
}

impl Applied {
    /// Where the node is that this part created, if that is what it did.
    pub fn created(self) -> Option<Created> {
        match self {
            Applied::Created(created) => Some(created),
            _ => None,
        }
    }
}

/// What kind of node to create.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CreateMode {
    /// Stays until somebody deletes it.
    Persistent,
    /// Goes with the session.
    Ephemeral,
    /// As `Persistent`, with a number that the server appends to the name.
    PersistentSequential,
    /// As `Ephemeral`, with a number that the server appends to the name.
    EphemeralSequential,
    /// Removed by the server some time after its last child has gone.
    Container,
    /// Removed by the server when it has had no children and no change for so long. Servers take it only where
    /// `zookeeper.extendedTypesEnabled` is set.
    PersistentTtl(Duration),
    /// As `PersistentTtl`, with a number that the server appends to the name.
    PersistentSequentialTtl(Duration),
}

impl CreateMode {
    /// How long the node may stand unused, if the server is to remove it then.
    pub fn ttl(self) -> Option<Duration> {
        match self {
            CreateMode::PersistentTtl(ttl) | CreateMode::PersistentSequentialTtl(ttl) => Some(ttl),
            _ => None,
        }
    }

    /// Whether the node goes with its session.
    #[cfg(feature = "zookeeper-client")]
    pub(crate) fn is_ephemeral(self) -> bool {
        matches!(self, CreateMode::Ephemeral | CreateMode::EphemeralSequential)
    }

    /// Whether the server appends a number to the name.
    pub fn is_sequential(self) -> bool {
        matches!(
            self,
            CreateMode::PersistentSequential
                | CreateMode::EphemeralSequential
                | CreateMode::PersistentSequentialTtl(_)
        )
    }
}

/// One part of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Check {
        path: String,
        version: Option<i32>,
    },
    Create {
        path: String,
        data: Vec<u8>,
        mode: CreateMode,
        /// `None` for the access list of the session.
        acl: Option<AclChoice>,
    },
    Set {
        path: String,
        data: Vec<u8>,
        version: Option<i32>,
    },
    Delete {
        path: String,
        version: Option<i32>,
    },
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

    /// What kind of node this part creates, if it does.
    pub(crate) fn mode(&self) -> Option<CreateMode> {
        match self {
            Write::Create { mode, .. } => Some(*mode),
            _ => None,
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
    QuotaExceeded,
    ReadOnly,
    /// This server does not know the operation.
    Unimplemented,
    /// What was asked cannot be done there, or not with these values: for this reason.
    BadRequest(String),
    /// The request would be a frame of so many bytes, which no server takes: it was not sent.
    TooLarge(usize),
    /// The connection broke before the answer came: the outcome is unknown.
    ConnectionLoss,
    /// It was to leave on a connection that is gone, and never does.
    NotSent,
    /// The session ended before the answer came.
    SessionEnded,
    /// No session can be had, for this reason.
    Refused(Error),
    /// Part `index` of a transaction failed, and so all of it.
    Part {
        index: usize,
        error: Box<WireError>,
    },
    Other(String),
}

impl WireError {
    /// What a server says of its own nodes, which nobody deletes, and of values that do not go together.
    pub(crate) fn bad_arguments() -> WireError {
        WireError::BadRequest("bad arguments".to_owned())
    }

    /// What a server says of a request that failed in it.
    pub(crate) fn senseless() -> WireError {
        WireError::BadRequest("it could not make sense of it; its log says more".to_owned())
    }

    /// Of an answer that only few servers give.
    pub(crate) fn of_number(number: i32) -> WireError {
        match number {
            // The quorum did not answer the server in time, so nobody knows: a lost connection, an operation and a request that
            // took too long.
            -4 | -7 | -122 => WireError::ConnectionLoss,
            -120 => WireError::BadRequest(
                "this server keeps local sessions, which have no ephemeral nodes; it needs localSessionsUpgradingEnabled".to_owned(),
            ),
            number => WireError::Other(format!("unexpected error code: {number}")),
        }
    }

    /// Whether the quorum itself decided this: then the answer also proves that the session was alive.
    pub(crate) fn is_verdict(&self) -> bool {
        match self {
            WireError::NoNode
            | WireError::NodeExists
            | WireError::BadVersion
            | WireError::NotEmpty
            | WireError::EphemeralParent => true,
            // Any part: what is refused in a transaction, its leader refuses. But it may say that the session is about to end.
            WireError::Part { error, .. } => !error.is_unanswered(),
            _ => false,
        }
    }

    /// Why no session came about, in words.
    pub(crate) fn cause(&self) -> String {
        match self {
            WireError::ConnectionLoss => "the connection broke before there was a session".to_owned(),
            WireError::SessionEnded => "the session ended as soon as it began".to_owned(),
            WireError::AuthFailed => "the server refused our credentials".to_owned(),
            WireError::Refused(error) => error.to_string(),
            WireError::Other(problem) | WireError::BadRequest(problem) => problem.clone(),
            error => format!("{error:?}"),
        }
    }

    /// Whether what it is about has gone or changed: then it is, or may be, somebody else's.
    pub(crate) fn is_anothers(&self) -> bool {
        matches!(self, WireError::NoNode | WireError::BadVersion)
    }

    /// Whether the answer is missing, so that a write may or may not have happened.
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self, WireError::ConnectionLoss | WireError::NotSent | WireError::SessionEnded)
    }
}
