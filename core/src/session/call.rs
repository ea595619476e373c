//! One call of one verb: its deadline, its retry budget, and the ways in which it may end early.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::clock::Moment;
use super::epoch::Epoch;
use super::wire::WireError;
use super::{Session, State};
use crate::error::{Error, ErrorKind, Result};
use crate::time::Deadline;

/// One deadline for the whole call, however many requests and wake-ups it takes. Requests are also limited by the
/// retry budget; waiting for others is not.
pub(crate) struct Call {
    session: Arc<Session>,
    deadline: Deadline,
    give_up: Moment,
    pause: Duration,
    /// When the last pause was over.
    resumed: Moment,
    withdrawn: Option<watch::Receiver<u64>>,
    single_attempt: bool,
}

impl Call {
    pub(crate) fn new(session: Arc<Session>, limit: Option<Duration>) -> Call {
        let now = session.now();
        let give_up = now + session.options().give_up_after();
        let pause = session.options().retry.base;
        // No time at all means: ask once, and do not wait for others. Asking is still limited by the budget.
        let single_attempt = limit == Some(Duration::ZERO);
        let limit = limit.filter(|_| !single_attempt);
        Call {
            deadline: Deadline::after(now, limit),
            give_up,
            pause,
            resumed: now,
            withdrawn: None,
            single_attempt,
            session,
        }
    }

    /// Ends with Cancelled when `signal` changes after this.
    pub(crate) fn withdrawable(mut self, signal: watch::Receiver<u64>) -> Call {
        self.withdrawn = Some(signal);
        self
    }

    /// The same call, for a part of it that has a limit of its own.
    pub(crate) fn within(&self, limit: Duration) -> Call {
        let part = Call::new(self.session.clone(), Some(limit));
        Call { withdrawn: self.withdrawn.clone(), ..part }
    }

    /// Whether the caller gave no time to wait for others.
    pub(crate) fn is_single_attempt(&self) -> bool {
        self.single_attempt
    }

    /// Asking starts only now: what was waited for before does not count against the retry budget.
    pub(crate) fn renew_budget(&mut self) {
        self.give_up = self.session.now() + self.session.options().give_up_after();
    }

    /// From here on only the caller's own deadline ends the call: who has queued waits through an outage. A single
    /// attempt has no deadline of its own and keeps its budget.
    pub(crate) fn insist(&mut self) {
        if self.single_attempt {
            return;
        }
        self.give_up = Moment(u64::MAX);
        self.pause = self.session.options().retry.base;
    }

    /// Waits for something that others do, within the deadline.
    pub(crate) async fn patiently<T>(&mut self, event: impl Future<Output = T>) -> Result<T> {
        let session = self.session.clone();
        let deadline = self.deadline;
        let withdrawn = self.withdrawn.as_mut();
        let cancelled = async {
            if let Some(signal) = withdrawn
                && signal.changed().await.is_ok()
            {
                return;
            }
            std::future::pending().await
        };
        tokio::select! {
            biased;
            value = event => Ok(value),
            () = session.until_closing() => Err(Error::closed("client")),
            () = cancelled => Err(Error::cancelled()),
            () = session.until_over(deadline) => Err(Error::timeout("the turn")),
        }
    }

    /// Waits for a server's answer, within the deadline and the retry budget.
    pub(crate) async fn briefly<T>(&mut self, what: &str, answer: impl Future<Output = T>) -> Result<T> {
        let session = self.session.clone();
        let give_up = self.give_up;
        let limited = async {
            tokio::select! {
                biased;
                value = answer => Ok(value),
                () = session.clock().sleep_until(give_up) => Err(Error::connection_lost(what)),
            }
        };
        self.patiently(limited).await?
    }

    /// Waits for something that others do; a single attempt waits for it no longer than its budget.
    pub(crate) async fn until(&mut self, what: &str, event: impl Future<Output = ()>) -> Result<()> {
        if self.single_attempt { self.briefly(what, event).await } else { self.patiently(event).await }
    }

    /// An epoch that has not ended, within the budget.
    pub(crate) async fn epoch(&mut self, what: &str) -> Result<Arc<Epoch>> {
        if self.session.state() == State::Closed || self.session.is_closing() {
            return Err(Error::closed("client"));
        }
        let session = self.session.clone();
        self.briefly(what, session.ready()).await?
    }

    /// After a broken connection: a pause, then the caller tries again. It doubles as long as one loss follows another.
    pub(crate) async fn retry_after_loss(&mut self, what: &str) -> Result<()> {
        let (now, retry) = (self.session.now(), &self.session.options().retry);
        if now.since(self.resumed) > retry.max {
            self.pause = retry.base;
        }
        let until = now + self.pause;
        self.resumed = until;
        self.pause = (self.pause * 2).min(retry.max);
        let nap = self.session.clock().sleep_until(until);
        self.briefly(what, nap).await
    }

    /// Repeats a request that changes nothing, or nothing more the second time, until it is answered.
    pub(crate) async fn ask<T, F>(
        &mut self,
        what: &str,
        request: impl Fn(&Arc<Epoch>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, WireError>>,
    {
        loop {
            let epoch = self.epoch(what).await?;
            let answer = self.briefly(what, request(&epoch)).await?;
            match answer {
                Err(error) if error.is_unanswered() => self.retry_after_loss(what).await?,
                answer => return answer.map_err(Failure::Refused),
            }
        }
    }
}

/// Why a request has no result: the server said no, or the call ended first.
pub(crate) enum Failure {
    Refused(WireError),
    Ended(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Ended(error)
    }
}

impl Failure {
    /// The user's error.
    pub(crate) fn about(self, what: &str, path: &str) -> Error {
        match self {
            Failure::Refused(error) => refusal(error, what, path),
            Failure::Ended(error) => error.with_path(path),
        }
    }
}

/// The user's error for what the server answered.
pub(crate) fn refusal(error: WireError, what: &str, path: &str) -> Error {
    let (kind, message) = match error {
        WireError::NoNode => (ErrorKind::NoNode, format!("no such node for {what}; create it first")),
        WireError::NodeExists => (
            ErrorKind::Exists,
            format!("a node exists there already, so {what} was refused; set it, or choose another path"),
        ),
        WireError::BadVersion => (
            ErrorKind::BadVersion,
            format!("the node has changed since that version, so {what} was refused; read it again"),
        ),
        WireError::NotEmpty => {
            (ErrorKind::NotEmpty, format!("the node has children, so {what} was refused; delete them first"))
        }
        WireError::EphemeralParent => (
            ErrorKind::Invalid,
            format!(
                "invalid path: its parent is an ephemeral node, which cannot have children, so {what} was refused"
            ),
        ),
        WireError::NoAuth => (
            ErrorKind::Denied,
            format!(
                "the access list of the node does not allow {what}; connect with credentials (auth) that it names"
            ),
        ),
        WireError::AuthFailed => (
            ErrorKind::Denied,
            "the server refused our credentials; check auth (scheme and credential)".to_owned(),
        ),
        WireError::InvalidAcl => (
            ErrorKind::Invalid,
            format!(
                "invalid acl: the server refused it for {what}; check schemes and ids, and give auth for creator"
            ),
        ),
        WireError::ReadOnly => (
            ErrorKind::ConnectionLost,
            format!("the server has lost its quorum and only reads, so {what} was refused; try again later"),
        ),
        WireError::Unimplemented => (
            ErrorKind::Invalid,
            format!("invalid request: this ZooKeeper is too old for {what}; use 3.5 or later"),
        ),
        WireError::ConnectionLoss | WireError::SessionEnded => {
            return Error::connection_lost(what).with_path(path);
        }
        WireError::Part { error, .. } => return refusal(*error, what, path),
        WireError::Other(problem) => {
            (ErrorKind::Internal, format!("unexpected answer to {what}: {problem}; please report this"))
        }
    };
    Error::new(kind, message).with_path(path)
}
