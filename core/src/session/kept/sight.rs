//! Looking whose node is there, ahead of what would write to it or delete it.

use std::sync::Arc;

use crate::session::epoch::Epoch;
use crate::session::wire::{Flight, Stat, WireError};

/// Whose node is there.
pub(super) enum Sight {
    /// With its version, if that may be known.
    Ours(Option<i32>),
    Theirs,
    Nothing,
}

/// The first request leaves now.
pub(super) fn look(epoch: &Arc<Epoch>, path: &str) -> Flight<Sight> {
    let (epoch, path, look) = (epoch.clone(), path.to_owned(), epoch.exists(path));
    Box::pin(async move {
        match look.await {
            Ok(Some(stat)) if is_of(&epoch, &stat) => Ok(Sight::Ours(Some(stat.version))),
            Ok(Some(_)) => Ok(Sight::Theirs),
            Ok(None) => Ok(Sight::Nothing),
            // We may not read it, so the server does not say whose it is. But it lists the session's own nodes.
            Err(WireError::NoAuth) => match epoch.own_ephemerals(&path).await?.contains(&path) {
                true => Ok(Sight::Ours(None)),
                false => Ok(Sight::Theirs),
            },
            Err(error) => Err(error),
        }
    })
}

pub(super) fn is_of(epoch: &Epoch, stat: &Stat) -> bool {
    stat.ephemeral_owner as u64 == epoch.session_id()
}
