//! Chubby's sequencer: one acquisition as a string that any process, in any language, can check.
//!
//! `1:<czxid>:<path of the node>`. It is valid as long as that node, created by that transaction, stands; what happens to
//! the node's data does not matter.

use crate::client::Client;
use crate::error::{Error, Result};
use crate::path;
use crate::session::call::{Call, Failure, refusal};
use crate::session::wire::{Event, WireError};
use crate::turn::place::Node;

/// The sequencer of the acquisition that `node` stands for.
pub(crate) fn of(node: &Node) -> String {
    format!("1:{}:{}", node.czxid, node.path)
}

fn parse(sequencer: &str) -> Result<(i64, &str)> {
    let malformed = || {
        let shown: String = sequencer.chars().take(100).collect();
        Error::invalid(
            "sequencer",
            format!("{shown:?} is not one; take it from the sequencer of what is held"),
        )
    };
    let rest = sequencer.strip_prefix("1:").ok_or_else(malformed)?;
    let (czxid, node) = rest.split_once(':').ok_or_else(malformed)?;
    path::recipe(node).map_err(|_| malformed())?;
    match czxid.parse() {
        Ok(czxid) if czxid > 0 => Ok((czxid, node)),
        _ => Err(malformed()),
    }
}

/// Whether the acquisition still stands, as the quorum sees it now.
pub(crate) async fn check(client: &Client, sequencer: &str) -> Result<bool> {
    let (czxid, node) = parse(sequencer)?;
    let mut call = client.session()?.call(None);
    let verb = "check_sequencer";
    // The sync makes a server that lags catch up; both leave in one flight.
    let answer = call
        .ask(verb, |epoch| {
            let (caught_up, stat) = (epoch.sync(node), epoch.exists(node));
            async move { caught_up.await.and(stat.await) }
        })
        .await;
    match answer {
        Ok(stat) => Ok(stat.is_some_and(|stat| stat.czxid == czxid)),
        Err(failure) => Err(failure.about(verb, node)),
    }
}

/// Resolves when the acquisition no longer stands.
pub(crate) async fn watch(client: &Client, sequencer: &str) -> Result<()> {
    let (czxid, node) = parse(sequencer)?;
    let mut call = client.session()?.call(None);
    loop {
        match next(&mut call, czxid, node).await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(Failure::Refused(error)) => return Err(refusal(error, "watch_sequencer", node)),
            Err(Failure::Ended(error)) => return Err(error.with_path(node)),
        }
    }
}

/// Waits for one piece of news; whether the acquisition may still stand after it.
async fn next(call: &mut Call, czxid: i64, node: &str) -> Result<bool, Failure> {
    let verb = "watch_sequencer";
    let epoch = call.epoch(verb).await?;
    match call.patiently(epoch.watch_data(node)).await? {
        Ok((_, stat, _)) if stat.czxid != czxid => Ok(false),
        Ok((_, _, watch)) => Ok(call.patiently(watch).await? != Event::Deleted),
        Err(WireError::NoNode) => {
            // A server that lags may not have it yet.
            let missing = call.ask(verb, |epoch| {
                let (caught_up, stat) = (epoch.sync(node), epoch.exists(node));
                async move { caught_up.await.and(stat.await) }
            });
            Ok(missing.await?.is_some_and(|stat| stat.czxid == czxid))
        }
        Err(error) if error.is_unanswered() => {
            // The watcher has no deadline of its own: it waits through an outage.
            call.insist();
            call.retry_after_loss(verb).await?;
            Ok(true)
        }
        Err(error) => Err(Failure::Refused(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_malformed_sequencer_is_refused_and_named() {
        for bad in ["", "1", "1:2", "2:5:/a", "1:x:/a", "1:-4:/a", "1:0:/a", "1:5:a", "1:5:/", "1:5:/a//b"] {
            let error = parse(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("sequencer"));
        }
        assert_eq!(parse("1:5:/a/_c_x-lock-0000000001").unwrap(), (5, "/a/_c_x-lock-0000000001"));
    }
}
