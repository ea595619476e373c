//! Looking whose node is there, ahead of what would write to it or delete it.

use std::sync::Arc;

use crate::session::server_session::ServerSession;
use crate::session::wire::{Flight, Stat, WireError};

/// Whose node is there.
pub(super) enum Owner {
    /// With its version, if that may be known.
    Ours(Option<i32>),
    Theirs,
    Nothing,
}

/// The first request leaves now.
pub(super) fn look(server_session: &Arc<ServerSession>, path: &str) -> Flight<Owner> {
    let (server_session, path, look) = (server_session.clone(), path.to_owned(), server_session.exists(path));
    Box::pin(async move {
        match look.await {
            Ok(Some(stat)) if is_of(&server_session, &stat) => Ok(Owner::Ours(Some(stat.version))),
            Ok(Some(_)) => Ok(Owner::Theirs),
            Ok(None) => Ok(Owner::Nothing),
            // We may not read it, so the server does not say whose it is. But it lists the session's own nodes.
            Err(WireError::NoAuth) => match server_session.own_ephemerals(&path).await?.contains(&path) {
                true => Ok(Owner::Ours(None)),
                false => Ok(Owner::Theirs),
            },
            Err(error) => Err(error),
        }
    })
}

pub(super) fn is_of(server_session: &ServerSession, stat: &Stat) -> bool {
    stat.ephemeral_owner as u64 == server_session.session_id()
}
