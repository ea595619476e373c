//! What two-phase commit tells, and what is on its way to who asked for it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::drive;

use crate::event_loop::{Inbox, drop_quietly};
use crate::generated::{CommitTransaction, Proposal, TwoPhaseCommit};
use crate::options::finite;

/// A transaction on its way to who began it.
#[napi(custom_finalize)]
pub struct Begun(OnItsWay<drive::Begun>);

/// A proposal on its way to who asked for the next one.
#[napi(custom_finalize)]
pub struct Proposed(OnItsWay<drive::Proposed>);

drop_quietly!(Begun, Proposed);

/// What its drop takes back, until it is handed over.
pub(crate) struct OnItsWay<T> {
    it: Mutex<Option<T>>,
    pub(crate) inbox: Inbox,
}

impl<T> OnItsWay<T> {
    pub(crate) fn new(it: T, inbox: Inbox) -> OnItsWay<T> {
        OnItsWay { it: Mutex::new(Some(it)), inbox }
    }

    pub(crate) fn take(&self) -> Option<T> {
        self.it.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[napi(object, use_nullable = true)]
pub struct CommitStatus {
    pub id: String,
    pub mode: String,
    pub payload: Buffer,
    /// Milliseconds.
    pub age: f64,
    pub timeout: f64,
    pub outcome: Option<String>,
    pub reason: String,
    pub coordinator: String,
    pub sites: Vec<SiteStatus>,
    pub problem: String,
}

#[napi(object)]
pub struct SiteStatus {
    pub site: String,
    pub is_present: bool,
    pub has_voted: bool,
    pub has_acknowledged: bool,
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl From<zkrecipes::CommitStatus> for CommitStatus {
    fn from(status: zkrecipes::CommitStatus) -> CommitStatus {
        CommitStatus {
            id: status.id,
            mode: status.mode.name().to_owned(),
            payload: status.payload.into(),
            age: millis(status.age),
            timeout: millis(status.timeout),
            outcome: status.outcome.map(|outcome| outcome.name().to_owned()),
            reason: status.reason,
            coordinator: status.coordinator.name().to_owned(),
            sites: status.sites.into_iter().map(SiteStatus::from).collect(),
            problem: status.problem,
        }
    }
}

impl From<zkrecipes::SiteStatus> for SiteStatus {
    fn from(status: zkrecipes::SiteStatus) -> SiteStatus {
        SiteStatus {
            site: status.site,
            is_present: status.is_present,
            has_voted: status.has_voted,
            has_acknowledged: status.has_acknowledged,
        }
    }
}

pub fn statuses(all: Vec<zkrecipes::CommitStatus>) -> Vec<CommitStatus> {
    all.into_iter().map(CommitStatus::from).collect()
}

pub fn status(status: Option<zkrecipes::CommitStatus>) -> Option<CommitStatus> {
    status.map(CommitStatus::from)
}

#[napi]
impl TwoPhaseCommit {
    /// The call's value is a `Begun`.
    #[napi(catch_unwind)]
    pub fn begin(&self, id: String, sites: Vec<String>, payload: &[u8], timeout: f64) -> f64 {
        let (payload, inbox) = (payload.to_vec(), self.0.inbox.clone());
        let begin = |commits: zkrecipes::TwoPhaseCommit| async move {
            let sites: Vec<_> = sites.iter().map(String::as_str).collect();
            drive::begin(&commits, &id, &sites, &payload, finite("timeout", timeout)?).await
        };
        self.0.ask(begin, |begun| Begun(OnItsWay::new(begun, inbox)))
    }

    /// The call's value is a list of them.
    #[napi(catch_unwind)]
    pub fn recover(&self) -> f64 {
        let home = self.0.inbox.clone();
        let wrapped = move |all: Vec<zkrecipes::CommitTransaction>| -> Vec<CommitTransaction> {
            all.into_iter().map(|one| CommitTransaction::new(one, &home)).collect()
        };
        self.0.ask(|commits| async move { commits.recover().await }, wrapped)
    }

    /// The call's value is true.
    #[napi(catch_unwind)]
    pub fn join(&self, site: String) -> f64 {
        self.0.ask(|commits| async move { commits.join(&site).await }, |()| true)
    }

    /// The call's value is a `Proposed`.
    #[napi(catch_unwind)]
    pub fn next(&self, timeout: f64) -> f64 {
        let inbox = self.0.inbox.clone();
        let next = |commits, limit| drive::next_proposal(&commits, limit);
        self.0.wait(timeout, next, |proposed| Proposed(OnItsWay::new(proposed, inbox)))
    }

    /// The call's value is a list of them.
    #[napi(catch_unwind)]
    pub fn pending(&self) -> f64 {
        let home = self.0.inbox.clone();
        let wrapped = move |all: Vec<zkrecipes::Proposal>| -> Vec<Proposal> {
            all.into_iter().map(|one| Proposal::new(one, &home)).collect()
        };
        self.0.ask(|commits| async move { commits.pending().await }, wrapped)
    }
}

#[napi]
impl Begun {
    /// The transaction, once: it is the caller's from now on.
    #[napi(catch_unwind)]
    pub fn hand_over(&self) -> Option<CommitTransaction> {
        self.0.take().map(|begun| CommitTransaction::new(begun.hand_over(), &self.0.inbox))
    }

    /// The caller has withdrawn: it is aborted.
    #[napi(catch_unwind)]
    pub fn withdraw(&self) {
        drop(self.0.take());
    }
}

#[napi]
impl Proposed {
    /// The proposal, once: it is the caller's from now on.
    #[napi(catch_unwind)]
    pub fn hand_over(&self) -> Option<Proposal> {
        self.0.take().map(|proposed| Proposal::new(proposed.hand_over(), &self.0.inbox))
    }

    /// The caller has withdrawn: who asks next is told.
    #[napi(catch_unwind)]
    pub fn tell_again(&self) {
        drop(self.0.take());
    }
}
