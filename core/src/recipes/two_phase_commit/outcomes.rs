//! How transactions ended whose end somebody else was told than who began them.
//!
//! Whoever began a transaction may be cut off meanwhile: its session ends, somebody takes the transaction over, everybody is
//! done with it, and it is collected. When the first one is back it asks. So what takes the mark of a coordinator away that is
//! not the first leaves a node with the outcome, in the same transaction: there is no moment at which neither can be read.
//!
//! It stands for a day. Whoever began a transaction asks in the background as soon as it is back, so that is for how long it may
//! be away. Others take it away then: whoever joins, recovers, or leaves another one, looks at some of those that stand.

use std::sync::Arc;
use std::time::Duration;

use super::layout::{Decision, Key, Layout};
use super::nodes::{Node, each};
use super::status::names;
use super::transaction::create;
use super::{Inner, Outcome};
use crate::error::Result;
use crate::path::join;
use crate::session::Session;
use crate::session::call::{Call, Failure};
use crate::session::chance;
use crate::session::wire::{WireError, Write};

const VERB: &str = "outcome";
/// How long it stands.
pub(super) const STANDS: Duration = Duration::from_secs(24 * 3600);
/// How many to look at. Who leaves one looks at more than one, so that they become fewer.
const MOST_LOOKS: usize = 100;

/// The part of a transaction that leaves it.
pub(super) fn note(layout: &Layout, key: &Key, outcome: Outcome) -> Write {
    create(layout.noted(key), outcome.name().as_bytes().to_vec())
}

/// What stands of it.
pub(super) fn parse(data: &[u8]) -> Outcome {
    Decision::parse(data).outcome
}

/// Takes away what has stood for long enough.
pub(super) async fn sweep(inner: &Arc<Inner>, session: &Arc<Session>, call: &mut Call) -> Result<()> {
    let folder = inner.layout.outcomes();
    let mut all = names(call, &folder).await?;
    // Not always the same ones, should there be many.
    while all.len() > MOST_LOOKS {
        all.swap_remove(chance::below(all.len()));
    }
    let nodes: Vec<_> = all.iter().map(|name| join(&folder, name)).collect();
    let servers = inner.servers_time.now(session.now());
    let ours = session.clock().wall();
    for (node, found) in nodes.iter().zip(each(call, VERB, &nodes).await?) {
        if let Node::Told(_, stat) = found
            && has_stood(stat.ctime, servers, ours)
        {
            match call.ask(VERB, |epoch| epoch.delete(node, Some(0))).await {
                Ok(()) | Err(Failure::Refused(WireError::NoNode | WireError::NoAuth)) => {}
                Err(failure) => return Err(failure.about(VERB, node)),
            }
        }
    }
    Ok(())
}

/// By both clocks: so one that is ahead for a while takes nothing away.
fn has_stood(since: i64, servers: Option<i64>, ours: i64) -> bool {
    let stands = i64::try_from(STANDS.as_millis()).unwrap_or(i64::MAX);
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
