//! Where everything of a two-phase commit stands below its path, and what the nodes say.
//!
//! | node | stands |
//! |---|---|
//! | `transactions/ID` | from the beginning until it is collected; says what it is about, and its nonce |
//! | `transactions/ID/open-NONCE` | as long as nothing is decided |
//! | `transactions/ID/coordinator-NONCE` | until the coordinator knows the decision; says who that is |
//! | `transactions/ID/decision-NONCE` | from the decision on, which is written once |
//! | `transactions/ID/vote-NONCE-SITE` | from the vote of a site until it has acknowledged the decision |
//! | `inbox/SITE/NONCE-ID` | until that site has acknowledged |
//! | `sites/SITE`, `coordinators/NAME` | while they are there |
//! | `outcomes/NONCE` | for a day, where somebody else than who began it was told the outcome; see `ownership` |
//!
//! An id may be used again when it is free. The nonce is another one then, and as it is in the names, no write that is
//! about the earlier transaction touches the later one.

use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

use crate::error::{Error, Result};
use crate::path::{self, join};

const VOTE: &str = "vote";
const NONCE: usize = 32;

/// Who decides a transaction before its deadline.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CommitMode {
    /// The coordinator, as long as it is there.
    #[default]
    Coordinator,
    /// The site whose vote is the last, or any that waits should it die.
    Peer,
}

/// What a transaction came to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// All sites do it.
    Commit,
    /// None does.
    Abort,
}

/// One of all the transactions that have an id, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) id: String,
    pub(super) nonce: String,
}

impl Key {
    pub(super) fn new(id: &str, nonce: Uuid) -> Key {
        Key { id: id.to_owned(), nonce: nonce.simple().to_string() }
    }

    /// As the name of a site's entry.
    pub(super) fn entry(&self) -> String {
        format!("{}-{}", self.nonce, self.id)
    }

    /// `None` for what is none of ours.
    pub(super) fn of_entry(name: &str) -> Option<Key> {
        let (nonce, id) = (name.get(..NONCE)?, name.get(NONCE..)?.strip_prefix('-')?);
        let is_nonce = nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_nonce.then(|| Key { id: id.to_owned(), nonce: nonce.to_owned() })
    }

    /// Whose vote on it a child is.
    pub(super) fn voter<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(VOTE)?.strip_prefix('-')?.strip_prefix(&*self.nonce)?.strip_prefix('-')
    }
}

/// Makes paths.
#[derive(Clone)]
pub(super) struct TransactionLayout {
    pub(super) root: String,
}

impl TransactionLayout {
    pub(super) fn transactions(&self) -> String {
        join(&self.root, "transactions")
    }

    pub(super) fn transaction(&self, id: &str) -> String {
        join(&self.transactions(), id)
    }

    pub(super) fn open(&self, key: &Key) -> String {
        self.child(key, "open")
    }

    pub(super) fn coordinator(&self, key: &Key) -> String {
        self.child(key, "coordinator")
    }

    pub(super) fn decision(&self, key: &Key) -> String {
        self.child(key, "decision")
    }

    pub(super) fn vote(&self, key: &Key, site: &str) -> String {
        format!("{}-{site}", self.child(key, VOTE))
    }

    fn child(&self, key: &Key, what: &str) -> String {
        join(&self.transaction(&key.id), &format!("{what}-{}", key.nonce))
    }

    pub(super) fn inbox(&self, site: &str) -> String {
        join(&join(&self.root, "inbox"), site)
    }

    pub(super) fn entry(&self, site: &str, key: &Key) -> String {
        join(&self.inbox(site), &key.entry())
    }

    pub(super) fn sites(&self) -> String {
        join(&self.root, "sites")
    }

    pub(super) fn site(&self, name: &str) -> String {
        join(&self.sites(), name)
    }

    pub(super) fn coordinators(&self) -> String {
        join(&self.root, "coordinators")
    }

    pub(super) fn outcomes(&self) -> String {
        join(&self.root, "outcomes")
    }

    /// How this one ended. Two that have the same id have two of them.
    pub(super) fn noted(&self, key: &Key) -> String {
        join(&self.outcomes(), &key.nonce)
    }

    pub(super) fn presence(&self, coordinator: &str) -> String {
        join(&self.coordinators(), coordinator)
    }
}

/// A name that is to be that of a node.
pub(super) fn check_name(layout: &TransactionLayout, argument: &str, name: &str) -> Result<()> {
    if let Some(problem) = path::problem_of_name(name) {
        let problem = format!("{name:?} is no name of a node: it {problem}");
        return Err(Error::invalid(argument, problem).with_path(&*layout.root));
    }
    // It may be too long.
    path::validate(&layout.transaction(name))
}

/// The data of a transaction: lines of text, an empty one, then the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) mode: CommitMode,
    /// From its beginning, which is when the node was created.
    pub(super) timeout: Duration,
    pub(super) nonce: String,
    pub(super) sites: Vec<String>,
    pub(super) payload: Vec<u8>,
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut text = format!(
            "mode {}\ntimeout {}\nnonce {}\n",
            self.mode.name(),
            self.timeout.as_millis(),
            self.nonce
        );
        for site in &self.sites {
            text.push_str(&format!("site {site}\n"));
        }
        text.push('\n');
        let mut data = text.into_bytes();
        data.extend_from_slice(&self.payload);
        data
    }

    /// `None` for what is none of ours.
    pub(super) fn parse(data: &[u8]) -> Option<Header> {
        let end = data.windows(2).position(|pair| pair == b"\n\n")?;
        let text = std::str::from_utf8(&data[..end]).ok()?;
        let (mut mode, mut timeout, mut nonce, mut sites) = (None, None, None, Vec::new());
        for line in text.lines() {
            match line.split_once(' ')? {
                ("mode", value) => mode = CommitMode::from_str(value).ok(),
                ("timeout", value) => timeout = value.parse().ok().map(Duration::from_millis),
                ("nonce", value) => nonce = Some(value.to_owned()),
                ("site", value) => sites.push(value.to_owned()),
                // A later version may say more.
                _ => {}
            }
        }
        let payload = data[end + 2..].to_vec();
        Some(Header { mode: mode?, timeout: timeout?, nonce: nonce?, sites, payload })
    }

    pub(super) fn key(&self, id: &str) -> Key {
        Key { id: id.to_owned(), nonce: self.nonce.clone() }
    }
}

/// What a decision or a vote says, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) outcome: Outcome,
    pub(super) reason: String,
}

impl Decision {
    pub(super) fn commit() -> Decision {
        Decision { outcome: Outcome::Commit, reason: String::new() }
    }

    pub(super) fn abort(reason: impl Into<String>) -> Decision {
        Decision { outcome: Outcome::Abort, reason: reason.into() }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        format!("{} {}", self.outcome.name(), self.reason).trim_end().as_bytes().to_vec()
    }

    /// What cannot be read commits nothing.
    pub(super) fn parse(data: &[u8]) -> Decision {
        let text = String::from_utf8_lossy(data);
        let (word, reason) = text.split_once(' ').unwrap_or((&text, ""));
        match word {
            "commit" => Decision::commit(),
            _ => Decision::abort(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nodes_say_is_read_again() {
        let header = Header {
            mode: CommitMode::Peer,
            timeout: Duration::from_millis(1500),
            nonce: "n".to_owned(),
            sites: vec!["a".to_owned(), "b c".to_owned()],
            payload: b"\n\nany\0bytes\n\n".to_vec(),
        };
        assert_eq!(Header::parse(&header.encode()), Some(header));
        assert_eq!(Header::parse(b"10.0.0.7"), None);
        for decision in [Decision::commit(), Decision::abort("no room"), Decision::abort("")] {
            assert_eq!(Decision::parse(&decision.encode()), decision);
        }
        assert_eq!(Decision::parse(b"nonsense").outcome, Outcome::Abort);
    }

    #[test]
    fn names_say_which_transaction_they_belong_to() {
        let (key, other) =
            (Key::new("one-more", Uuid::from_u128(1)), Key::new("one-more", Uuid::from_u128(2)));
        assert_eq!(Key::of_entry(&key.entry()), Some(key.clone()));
        assert_eq!((Key::of_entry("one"), Key::of_entry(&"ä".repeat(20))), (None, None));
        let vote = format!("vote-{}-a-b", key.nonce);
        assert_eq!((key.voter(&vote), other.voter(&vote)), (Some("a-b"), None));
        assert_eq!(key.voter(&format!("open-{}", key.nonce)), None);
    }
}
