//! Chubby's sequencer: one acquisition as a string that any process, in any language, can check.
//!
//! `1:<czxid>:<path of the node>`. It is valid as long as that node, created by that transaction, stands; what happens to
//! the node's data does not matter.

use std::time::Duration;

use super::gone::{Meant, until_gone};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::path;
use crate::session::call::Call;
use crate::session::refusal::Failure;
use crate::session::wire::{WireError, Write};
use crate::turn::place::Node;

const CHECK: &str = "check_sequencer";
const WATCH: &str = "watch_sequencer";

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

impl Client {
    /// Whether the acquisition that a sequencer stands for still stands, as the quorum sees it now.
    pub async fn check_sequencer(&self, sequencer: &str) -> Result<bool> {
        self.look_at_sequencer(CHECK, sequencer, None).await
    }

    /// The same for `watch_sequencer` without any time, which waits for no server.
    pub(crate) async fn check_sequencer_now(&self, sequencer: &str) -> Result<bool> {
        self.look_at_sequencer(WATCH, sequencer, Some(Duration::ZERO)).await
    }

    async fn look_at_sequencer(
        &self,
        verb: &'static str,
        sequencer: &str,
        limit: Option<Duration>,
    ) -> Result<bool> {
        let (czxid, node) = parse(sequencer)?;
        let mut call = self.session()?.call(limit).reading();
        stands(&mut call, verb, czxid, node).await.map_err(|failure| failure.about(verb, node))
    }

    /// Resolves when the acquisition that a sequencer stands for no longer stands. Waits through an outage of any length.
    pub async fn watch_sequencer(&self, sequencer: &str) -> Result<()> {
        let (czxid, node) = parse(sequencer)?;
        let mut call = self.session()?.call(None).reading();
        let gone = until_gone(&mut call, WATCH, node, Meant::Created(czxid)).await;
        gone.map_err(|failure| failure.about(WATCH, node))
    }
}

/// Whether that node, made by that transaction, is there: decided by the quorum, which a `sync` is not. A leader that was
/// deposed and does not know it yet answers `sync` and reads, but commits no transaction. The read behind the transaction
/// sees at least its state; both leave in one flight.
async fn stands(call: &mut Call, verb: &'static str, czxid: i64, node: &str) -> Result<bool, Failure> {
    let answer = call.ask(verb, |server| {
        let there = server.multi(&[Write::Check { path: node.to_owned(), version: None }]);
        let stat = server.exists(node);
        async move {
            match there.await {
                Ok(_) => stat.await,
                Err(WireError::Part { error, .. }) if *error == WireError::NoNode => Ok(None),
                Err(error) => Err(error),
            }
        }
    });
    Ok(answer.await?.is_some_and(|stat| stat.czxid == czxid))
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
