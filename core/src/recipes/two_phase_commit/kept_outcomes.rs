//! The outcome that stays when others have ended a transaction: for whoever began it and was cut off meanwhile.
//!
//! Its session ends, somebody takes the transaction over, everybody is done with it, and it is collected. When the first one is
//! back it asks. So what takes the mark of a coordinator away that is not the first leaves a node with the outcome, in the same
//! transaction: there is no moment at which neither can be read.
//!
//! It stands for a day. Whoever began a transaction asks in the background as soon as it is back, so that is for how long it may
//! be away. Others take it away then: whoever joins, recovers, or leaves another one, looks at some of those that stand.

use std::sync::Arc;
use std::time::Duration;

use super::layout::TransactionLayout;
use super::nodes::{ReadNode, create, each, names};
use super::ownership::Commits;
use super::transaction::KnownTransaction;
use crate::error::Result;
use crate::path::join;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::random;
use crate::session::refusal::Failure;
use crate::session::wire::{WireError, Write};

const OUTCOME: &str = "outcome";
/// How long it stands.
pub(super) const OUTCOME_STANDS: Duration = Duration::from_secs(24 * 3600);
/// How many to look at. Who leaves one looks at more than one, so that they become fewer.
const MOST_LOOKS: usize = 100;

/// The part of a transaction that leaves it.
pub(super) fn leave_outcome(layout: &TransactionLayout, transaction: &KnownTransaction) -> Write {
    let Some(known) = transaction.known() else { unreachable!("who ends it knows what it came to") };
    create(layout.noted(&transaction.key), known.encode())
}

/// Takes away what has stood for long enough.
pub(super) async fn sweep_outcomes(
    commits: &Arc<Commits>,
    session: &Arc<Session>,
    call: &mut Call,
) -> Result<()> {
    let folder = commits.layout.outcomes();
    let mut all = names(call, &folder).await?;
    // Not always the same ones, should there be many.
    while all.len() > MOST_LOOKS {
        all.swap_remove(random::below(all.len()));
    }
    let nodes: Vec<_> = all.iter().map(|name| join(&folder, name)).collect();
    let servers = commits.servers_time.now(session.now());
    let ours = session.clock().wall();
    for (node, found) in nodes.iter().zip(each(call, OUTCOME, &nodes).await?) {
        if let ReadNode::Told(_, stat) = found
            && has_stood(stat.ctime, servers, ours)
        {
            match call.ask(OUTCOME, |server| server.delete(node, Some(0))).await {
                Ok(()) | Err(Failure::Refused(WireError::NoNode | WireError::NoAuth)) => {}
                Err(failure) => return Err(failure.about(OUTCOME, node)),
            }
        }
    }
    Ok(())
}

/// By both clocks: so one that is ahead for a while takes nothing away.
fn has_stood(since: i64, servers: Option<i64>, ours: i64) -> bool {
    let stands = i64::try_from(OUTCOME_STANDS.as_millis()).unwrap_or(i64::MAX);
    servers.is_some_and(|servers| servers.min(ours).saturating_sub(since) > stands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_taken_away_only_when_both_clocks_say_that_a_day_is_over() {
        let (day, hour) = (24 * 3_600_000, 3_600_000);
        for (servers, ours, goes) in [
            (Some(day + hour), day + hour, true),
            (Some(day - hour), day + hour, false),
            (Some(day + hour), day - hour, false),
            (None, day + hour, false),
        ] {
            assert_eq!(has_stood(0, servers, ours), goes, "{servers:?} {ours}");
        }
    }
}
