//! The mark: a node in which a client writes down, in the transaction of a change, that it was made.
//!
//! It is persistent, so that it outlives the session in which an answer got lost, and says how long its owner may need it:
//! within that time of its last change nobody else deletes it.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::error::{Error, Result};
use crate::path;
use crate::session::Session;
use crate::session::random;
use crate::session::server_session::{ConnectionId, ServerSession};
use crate::session::wire::{Applied, CreateMode, Flight, Write};

const PREFIX: &str = "_c_";
const SUFFIX: &str = "-change";
const GUID: usize = 36;
/// A century: nobody needs a mark for longer, and so it can be written down in milliseconds.
const MOST_NEEDED: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// How long to keep one for the next change at most.
const MOST_KEPT: Duration = Duration::from_secs(60);
/// How many changes to make with one mark. Its version counts them, and must not run over while some are under way.
const MOST_MADE: u64 = i32::MAX as u64 - 1_000_000;

pub(crate) struct Mark {
    pub(crate) node: String,
    /// How many changes were made with it.
    pub(crate) made: u64,
    needed: Duration,
}

impl Mark {
    /// A mark that is created with the first change.
    pub(crate) fn new(parent: &str, session: &Arc<Session>) -> Mark {
        let node = path::join(parent, &format!("{PREFIX}{}{SUFFIX}", random::guid().hyphenated()));
        let needed =
            session.server_session().session_timeout().saturating_add(session.options().give_up_after());
        Mark { node, made: 0, needed: needed.saturating_mul(3).min(MOST_NEEDED) }
    }

    /// The same for a transaction that is made with it now.
    pub(crate) fn new_in_use(parent: &str, session: &Arc<Session>) -> Mark {
        let mark = Mark::new(parent, session);
        session.use_new_temporary(&mark.node);
        mark
    }

    /// Whether another one has to take its place.
    pub(crate) fn is_used_up(&self) -> bool {
        self.made >= MOST_MADE
    }

    /// Sends the transaction `parts`, one of which says that the next change was made.
    pub(crate) fn send(
        &self,
        session: &Session,
        server_session: &Arc<ServerSession>,
        parts: &[Write],
    ) -> Result<Flight<Vec<Applied>>> {
        self.sent_by(session, || server_session.multi(parts))
    }

    /// The same on that connection, or not at all.
    pub(crate) fn send_on(
        &self,
        on: ConnectionId,
        session: &Session,
        server_session: &Arc<ServerSession>,
        parts: &[Write],
    ) -> Result<Flight<Vec<Applied>>> {
        self.sent_by(session, || server_session.multi_on(on, parts))
    }

    fn sent_by<T>(&self, session: &Session, send: impl FnOnce() -> T) -> Result<T> {
        match self.made {
            0 => session.create_temporary(&self.node, send).ok_or_else(|| Error::closed("client")),
            _ => Ok(send()),
        }
    }

    /// The part that says that the next change was made.
    pub(crate) fn write(&self) -> Write {
        self.write_after(self.made)
    }

    fn write_after(&self, made: u64) -> Write {
        let (path, data) = (self.node.clone(), self.says(made + 1));
        match made {
            0 => Write::Create { path, data, mode: CreateMode::Persistent, acl: None },
            _ => Write::Set { path, data, version: None },
        }
    }

    /// The same of the one after the first `made`, refused if it was said before, or if one of those was not: so that the
    /// transaction can be sent again.
    pub(crate) fn write_once_after(&self, made: u64) -> Write {
        match self.write_after(made) {
            Write::Set { path, data, .. } => {
                // One beyond the range has no such version: refused, and never applied twice.
                let version = i32::try_from(made).unwrap_or(i32::MAX) - 1;
                Write::Set { path, data, version: Some(version) }
            }
            write => write,
        }
    }

    /// In the place of the next change, which then will never be made: it says that there was nothing new.
    pub(crate) fn write_nothing(&self) -> Write {
        match self.write_once_after(self.made) {
            Write::Create { path, mode, acl, .. } => {
                Write::Create { path, data: self.says(self.made), mode, acl }
            }
            Write::Set { path, version, .. } => Write::Set { path, data: self.says(self.made), version },
            write => write,
        }
    }

    /// What it says after so many changes.
    fn says(&self, made: u64) -> Vec<u8> {
        format!("{made} {}", self.needed.as_millis()).into_bytes()
    }

    /// How long its owner keeps it for the next change: so much shorter than others leave it alone that nobody deletes it
    /// meanwhile.
    pub(crate) fn is_kept_for(&self) -> Duration {
        (self.needed / 3).min(MOST_KEPT)
    }

    /// How long to wait at most until it is asked again: a dozen times at least before anybody else deletes it.
    pub(crate) fn is_asked_after(&self) -> Duration {
        self.needed / 16
    }

    /// Whether it is certain, so long after the first attempt, that nobody has deleted a mark that was never seen to stand.
    /// Half of the time is for the difference between two clocks.
    pub(crate) fn is_safe(&self, after: Duration) -> bool {
        after < self.needed / 2
    }
}

/// A node with the name of a mark that is nobody's: all who know the same two numbers would create the same, and only one
/// of them can. It is taken away like the mark of a client that crashed, after so long a time that nobody is still about to
/// create it.
pub(crate) fn first_of_all(parent: &str, about: (i64, i64)) -> Write {
    const STANDS: Duration = Duration::from_secs(3600);
    let guid = Uuid::from_u64_pair(about.0 as u64, about.1 as u64);
    Write::Create {
        path: path::join(parent, &format!("{PREFIX}{}{SUFFIX}", guid.hyphenated())),
        data: format!("1 {}", STANDS.as_millis()).into_bytes(),
        mode: CreateMode::Persistent,
        acl: None,
    }
}

/// Whether a node of this name is somebody's mark.
pub(crate) fn is_mark(name: &str) -> bool {
    let guid = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    guid.is_some_and(|guid| guid.len() == GUID && guid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'))
}

/// How many changes were made with a mark, and how long after the last one its owner may need it.
pub(crate) fn parse(data: &[u8]) -> Option<(u64, Duration)> {
    let (made, needed) = std::str::from_utf8(data).ok()?.split_once(' ')?;
    Some((made.parse().ok()?, Duration::from_millis(needed.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_replaced_before_its_version_runs_over_and_never_written_without_one() {
        let mark = |made| Mark { node: "/q/_c_-change".to_owned(), made, needed: Duration::ZERO };
        assert!(!mark(1).is_used_up() && !mark(MOST_MADE - 1).is_used_up());
        assert!(mark(MOST_MADE).is_used_up());
        for made in [1, MOST_MADE, i32::MAX as u64 + 1, u64::from(u32::MAX) + 2] {
            let write = mark(made).write_once_after(made);
            assert!(matches!(write, Write::Set { version: Some(0..), .. }), "{made}: {write:?}");
        }
    }
}
