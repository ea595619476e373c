//! Whether what we queue with could be deleted again: deletion is decided by the access list of the parent.
//!
//! A node that its owner may not delete keeps everybody out until the owner's session ends, so a client without that
//! right does not queue there. That is asked for before the first node of a session is created below a path that
//! somebody else has made: the node, once created, could not be taken back. For a client without credentials it is
//! enough to read the access list, if that lets everybody delete. In any other case we try to delete a node that does
//! not exist, and the server's answer tells.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::open_parents;
use crate::session::random;
use crate::session::refusal::Failure;
use crate::session::server_session::ServerSession;
use crate::session::wire::WireError;

/// Whether [`check`] has nothing to ask.
pub(crate) fn is_known(session: &Session, server_session: &ServerSession, parent: &str) -> bool {
    open_parents::is_known(session, server_session, parent)
        && server_session.may_delete_below(parent) == Some(true)
}

/// Denied if a node below `parent` could not be deleted again. False if there certainly is no such path.
pub(crate) async fn check(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    verb: &str,
    parent: &str,
) -> Result<bool> {
    check_below(session, server_session, call, verb, parent, parent).await
}

/// The same for one that is below the root of a recipe, or below a folder beside it.
pub(crate) async fn check_below(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    verb: &str,
    root: &str,
    parent: &str,
) -> Result<bool> {
    open_parents::look_once_below(session, server_session, call, verb, root, parent).await?;
    // What was refused once is asked again: the right may have been granted meanwhile.
    if server_session.may_delete_below(parent) == Some(true) {
        return Ok(true);
    }
    if !session.options().is_restricted() {
        match call.ask(verb, |server| server.is_open_to_deletion(parent)).await {
            Ok(true) => return Ok(true),
            Err(Failure::Refused(WireError::NoNode)) => return Ok(false),
            // Not for everybody, or not for everybody to know: what counts is who we are to the server.
            Ok(false) | Err(Failure::Refused(_)) => {}
            Err(failure) => return Err(failure.about(verb, parent)),
        }
    }
    let nobody = path::join(parent, &random::guid().simple().to_string());
    match call.ask(verb, |server| server.delete(&nobody, None)).await {
        Err(Failure::Refused(WireError::NoAuth)) => Err(denied(parent)),
        Ok(()) | Err(Failure::Refused(WireError::NoNode)) => Ok(true),
        Err(failure) => Err(failure.about(verb, parent)),
    }
}

/// A node was created below `parent` after [`check`]: the parent existed when it was asked about.
pub(crate) fn settle(server_session: &Arc<ServerSession>, parent: &str) {
    if server_session.may_delete_below(parent) != Some(true) {
        server_session.set_may_delete_below(parent.to_owned(), true);
    }
}

fn denied(parent: &str) -> Error {
    Error::new(
        ErrorKind::Denied,
        "the access list of the path does not let this client delete there: what it made there could not be taken back and \
         would be in everybody's way until the client is closed; have DELETE granted on the path, or connect with \
         credentials (auth) that have it",
    )
    .with_path(parent)
}
