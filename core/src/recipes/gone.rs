//! Waiting until somebody's node is gone, however long that takes: through outages, and from one session to the next.
//!
//! 1. Watch the node; the news of its deletion ends the wait.
//! 2. A server that knows no such node may lag: only the quorum is believed, which a check in a transaction asks.
//! 3. A client that may not read the node watches the children of its parent instead.

use crate::path;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::refusal::Failure;
use crate::session::wire::{Event, Watch, WireError, Write};

/// Which node is meant.
#[derive(Copy, Clone)]
pub(super) enum Meant {
    /// The one that this transaction created.
    Created(i64),
    /// The same; where it may not be read, whichever has the name.
    Asked(i64),
}

enum Sight {
    Stands(Watch),
    Gone,
}

/// Resolves when the node is gone. Nothing but the caller's own deadline ends the wait early, or a refusal.
pub(super) async fn until_gone(call: &mut Call, verb: &str, node: &str, meant: Meant) -> Result<(), Failure> {
    // No answer is no news of the node.
    call.outlast_outages();
    let mut is_decided = false;
    loop {
        match look(call, verb, node, meant, is_decided).await? {
            Ok(Sight::Stands(watch)) => {
                is_decided = false;
                if call.wait_at_most(LOOK_AFTER, watch).await? == Some(Event::Deleted) {
                    return Ok(());
                }
            }
            Ok(Sight::Gone) if is_decided => return Ok(()),
            Ok(Sight::Gone) => is_decided = true,
            Err(error) if error.is_unanswered() => call.retry_after_loss(verb).await?,
            Err(error) => return Err(Failure::Refused(error)),
        }
    }
}

async fn look(
    call: &mut Call,
    verb: &str,
    node: &str,
    meant: Meant,
    is_decided: bool,
) -> Result<Result<Sight, WireError>, Failure> {
    let server_session = call.server_session(verb).await?;
    // They leave in one flight; the server answers the read when it has carried out the transaction.
    let check = [Write::Check { path: node.to_owned(), version: None }];
    let decision = is_decided.then(|| server_session.multi(&check));
    let read = server_session.watch_data(node);
    if let Some(decision) = decision {
        match call.receive(verb, decision).await? {
            Ok(_) => {}
            Err(WireError::Part { error, .. }) if *error == WireError::NoNode => {
                return Ok(Ok(Sight::Gone));
            }
            // Only what is there is not ours to look at.
            Err(WireError::Part { error, .. }) if *error == WireError::NoAuth => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(match (call.receive(verb, read).await?, meant) {
        // Another one of the same name.
        (Ok((_, stat, _)), Meant::Created(czxid) | Meant::Asked(czxid)) if stat.czxid != czxid => {
            Ok(Sight::Gone)
        }
        (Ok((_, _, watch)), _) => Ok(Sight::Stands(watch)),
        (Err(WireError::NoNode), _) => Ok(Sight::Gone),
        (Err(WireError::NoAuth), Meant::Asked(_)) => {
            let siblings = call.receive(verb, server_session.watch_children(path::parent(node))).await?;
            match siblings {
                Ok((names, _, watch)) if names.iter().any(|name| name == path::name(node)) => {
                    Ok(Sight::Stands(watch))
                }
                Ok(_) | Err(WireError::NoNode) => Ok(Sight::Gone),
                // Nothing to be seen: only time will end the wait.
                Err(WireError::NoAuth) => Ok(Sight::Stands(Watch::new(Box::pin(std::future::pending())))),
                Err(error) => Err(error),
            }
        }
        (Err(error), _) => Err(error),
    })
}
