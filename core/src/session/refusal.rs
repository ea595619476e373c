//! What a server's refusal is to a user: the kind, and a sentence that says what to do.

use super::wire::{CreateMode, WireError};
use crate::error::{Error, ErrorKind};
use crate::path::{self, PACKET_LIMIT};

/// Why a request has no result: the server said no, or the call ended first.
pub(crate) enum Failure {
    Refused(WireError),
    Ended(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Ended(error)
    }
}

impl Failure {
    /// Whether the server said just this.
    pub(crate) fn is(&self, refusal: &WireError) -> bool {
        matches!(self, Failure::Refused(error) if error == refusal)
    }

    /// The user's error.
    pub(crate) fn about(self, what: &str, path: &str) -> Error {
        match self {
            Failure::Refused(error) => refusal(error, what, path),
            Failure::Ended(error) => error.with_path(path),
        }
    }
}

/// The user's error for a create, of a node of its own or as a part of a transaction: what is missing there is the parent.
fn refused_create(error: WireError, what: &str, path: &str) -> Error {
    if error != WireError::NoNode {
        return refusal(error, what, path);
    }
    let parent = path::parent(path);
    let message = format!(
        "its parent {parent} does not exist, so {what} was refused; create that first, or let ensure() create all that is missing"
    );
    Error::new(ErrorKind::NoNode, message).with_path(path)
}

/// The same for a node of that kind.
pub(crate) fn refused_create_as(mode: CreateMode, error: WireError, what: &str, path: &str) -> Error {
    if error == WireError::Unimplemented && mode.ttl().is_some() {
        let problem = "is not taken by this ZooKeeper: nodes with a time to live need 3.5.3 or later, with \
                       zookeeper.extendedTypesEnabled=true on every server";
        return Error::invalid("ttl", problem).with_path(path);
    }
    if mode == CreateMode::Container && matches!(error, WireError::Unimplemented | WireError::BadRequest(_)) {
        let problem = "container is not taken by this server: ZooKeeper has containers from 3.5.1 on, and others that speak its \
                       protocol, such as ClickHouse Keeper, may have none; create a persistent node there, and delete it when its \
                       last child has gone";
        return Error::invalid("mode", problem).with_path(path);
    }
    refused_create(error, what, path)
}

/// The user's error for what the server answered.
pub(crate) fn refusal(error: WireError, what: &str, path: &str) -> Error {
    let (kind, message) = match error {
        WireError::NoNode => (ErrorKind::NoNode, format!("no such node for {what}; create it first")),
        WireError::NodeExists => (
            ErrorKind::Exists,
            format!(
                "a node exists there already, so {what} was refused; change or remove it, or choose another path"
            ),
        ),
        WireError::BadVersion => (
            ErrorKind::BadVersion,
            format!("the node has changed since that version, so {what} was refused; read it again"),
        ),
        WireError::NotEmpty => {
            (ErrorKind::NotEmpty, format!("the node has children, so {what} was refused; delete them first"))
        }
        WireError::EphemeralParent => (
            ErrorKind::Invalid,
            format!(
                "invalid path: its parent is an ephemeral node, which cannot have children, so {what} was refused"
            ),
        ),
        WireError::NoAuth => (
            ErrorKind::Denied,
            format!(
                "the access list of the node or of its parent does not allow {what}; connect with credentials (auth) that it \
                 names, or have the right granted"
            ),
        ),
        WireError::AuthFailed => (
            ErrorKind::Denied,
            "the server refused our credentials; check auth (scheme and credential) and sasl".to_owned(),
        ),
        WireError::InvalidAcl => (
            ErrorKind::Invalid,
            format!(
                "invalid acl: the server refused it for {what}; check schemes and ids. For creator it must know who we are: give \
                 auth, sasl or tls.cert, and see that the server has what that takes"
            ),
        ),
        WireError::QuotaExceeded => (
            ErrorKind::Denied,
            format!(
                "a quota set on this path or above it is used up, so {what} was refused; delete nodes, or have the quota raised"
            ),
        ),
        WireError::ReadOnly => (
            ErrorKind::ConnectionLost,
            format!("the server has lost its quorum and only reads, so {what} was refused; try again later"),
        ),
        WireError::Unimplemented => (
            ErrorKind::Invalid,
            format!("invalid request: this ZooKeeper is too old for {what}; use 3.5 or later"),
        ),
        WireError::BadRequest(problem) => (
            ErrorKind::Invalid,
            format!(
                "invalid request: the server refused {what}: {problem}. It may be about one of ZooKeeper's own nodes, or path \
                 and mode do not go together"
            ),
        ),
        WireError::TooLarge(bytes) => (
            ErrorKind::TooLarge,
            format!(
                "too large: {what} would be a packet of {bytes} bytes, and a server takes at most {PACKET_LIMIT}; store \
                 large values elsewhere and keep a reference here, or do less in one request"
            ),
        ),
        WireError::ConnectionLoss | WireError::NotSent | WireError::SessionEnded => {
            return Error::connection_lost(what).with_path(path);
        }
        WireError::Refused(error) => return error.with_path(path),
        WireError::Part { error, .. } => return refusal(*error, what, path),
        WireError::Other(problem) => {
            (ErrorKind::Internal, format!("unexpected answer to {what}: {problem}; please report this"))
        }
    };
    Error::new(kind, message).with_path(path)
}
