//! What the attempts to connect have come to, server by server, for whoever waits for a session.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::error::{Error, ErrorKind};
use crate::hosts::Server;

/// So many are told of.
const MOST_TOLD: usize = 3;

/// As long as the handshake of TLS goes on.
pub(crate) const SHAKING_HANDS: &str =
    "takes connections, but gives no session in time (it may be busy: TLS costs it much when many connect)";

/// Why a connection ended, or none came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub(crate) words: String,
    pub(crate) kind: TroubleKind,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum TroubleKind {
    /// The server has something against us, or we against it; trying again is no use.
    Refusal,
    /// The server closed it without a word.
    Closed,
    Other,
}

impl Trouble {
    pub(crate) fn refusal(words: impl Into<String>) -> Trouble {
        Trouble { words: words.into(), kind: TroubleKind::Refusal }
    }

    pub(crate) fn closed(words: impl Into<String>) -> Trouble {
        Trouble { words: words.into(), kind: TroubleKind::Closed }
    }
}

impl From<String> for Trouble {
    fn from(words: String) -> Trouble {
        Trouble { words, kind: TroubleKind::Other }
    }
}

impl From<&str> for Trouble {
    fn from(words: &str) -> Trouble {
        words.to_owned().into()
    }
}

/// The last that is known of each server.
#[derive(Debug, Default)]
pub struct Noted {
    all: Mutex<Vec<(Server, Option<Trouble>)>>,
    /// Somebody has no time to wait for the next attempt.
    wanted: Notify,
}

impl Noted {
    /// A session is to be tried for now, and not after the pause.
    pub(crate) fn want_session(&self) {
        self.wanted.notify_waiters();
    }

    /// Resolves when that is asked for from now on.
    pub(crate) async fn is_session_wanted(&self) {
        self.wanted.notified().await;
    }

    /// These are tried from now on. What is known of one that was there before stays.
    pub(crate) fn begin(&self, servers: &[Server]) {
        let mut all = self.all();
        let known = std::mem::take(&mut *all);
        let of = |server: &Server| known.iter().find(|(known, _)| known == server)?.1.clone();
        *all = servers.iter().map(|server| (server.clone(), of(server))).collect();
    }

    pub(crate) fn note(&self, server: &Server, trouble: Trouble) {
        if let Some((_, known)) = self.all().iter_mut().find(|(known, _)| known == server) {
            *known = Some(trouble);
        }
    }

    /// Whether the last that is known is that the handshake of TLS goes on.
    pub(crate) fn is_shaking_hands(&self, server: &Server) -> bool {
        let all = self.all();
        let known = all.iter().find(|(known, _)| known == server).and_then(|(_, trouble)| trouble.as_ref());
        known.is_some_and(|trouble| trouble.words == SHAKING_HANDS)
    }

    /// The same, unless something is known already.
    pub(crate) fn note_first(&self, server: &Server, trouble: Trouble) {
        if let Some((_, known)) = self.all().iter_mut().find(|(known, _)| known == server) {
            known.get_or_insert(trouble);
        }
    }

    /// What is wrong between a server and us.
    pub(crate) fn refusal(&self) -> Option<Error> {
        let all = self.all();
        let mut refused = all.iter().filter_map(|(server, trouble)| Some((server, trouble.as_ref()?)));
        let (server, trouble) = refused.find(|(_, trouble)| trouble.kind == TroubleKind::Refusal)?;
        Some(Error::new(ErrorKind::Denied, format!("no TLS with {server}: {}", trouble.words)))
    }

    /// Something is wrong between each of them and us.
    pub(crate) fn is_final(&self) -> bool {
        let is_refusal = |trouble: &Trouble| trouble.kind == TroubleKind::Refusal;
        let all = self.all();
        !all.is_empty() && all.iter().all(|(_, trouble)| trouble.as_ref().is_some_and(is_refusal))
    }

    /// One clause for each server; empty if nobody tries them here.
    pub(crate) fn told(&self) -> String {
        let all = self.all();
        let mut told: Vec<_> = all
            .iter()
            .take(MOST_TOLD)
            .map(|(server, trouble)| {
                let words = trouble.as_ref().map_or("has not been tried yet", |trouble| &trouble.words);
                format!("{server} {words}")
            })
            .collect();
        if all.len() > MOST_TOLD {
            told.push(format!("and {} more", all.len() - MOST_TOLD));
        }
        told.join(", ")
    }

    fn all(&self) -> MutexGuard<'_, Vec<(Server, Option<Trouble>)>> {
        self.all.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
