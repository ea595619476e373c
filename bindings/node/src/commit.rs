//! Two-phase commit.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::{Outcome, drive};

use crate::event_loop::{Inbox, drop_quietly};
use crate::options::finite;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct TwoPhaseCommit(Remote<zkrecipes::TwoPhaseCommit>);

#[napi(custom_finalize)]
pub struct CommitTransaction(Remote<zkrecipes::CommitTransaction>);

#[napi(custom_finalize)]
pub struct Proposal(Remote<zkrecipes::Proposal>);

/// A transaction on its way to who began it.
#[napi(custom_finalize)]
pub struct Begun(OnItsWay<drive::Begun>);

/// A proposal on its way to who asked for the next one.
#[napi(custom_finalize)]
pub struct Proposed(OnItsWay<drive::Proposed>);

drop_quietly!(TwoPhaseCommit, CommitTransaction, Proposal, Begun, Proposed);

/// What its drop takes back, until it is handed over.
struct OnItsWay<T> {
    it: Mutex<Option<T>>,
    inbox: Inbox,
}

impl<T> OnItsWay<T> {
    fn new(it: T, inbox: Inbox) -> OnItsWay<T> {
        OnItsWay { it: Mutex::new(Some(it)), inbox }
    }

    fn take(&self) -> Option<T> {
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

impl TwoPhaseCommit {
    pub fn new(commits: zkrecipes::TwoPhaseCommit, inbox: &Inbox) -> TwoPhaseCommit {
        TwoPhaseCommit(Remote::new(commits, inbox))
    }
}

#[napi]
impl TwoPhaseCommit {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn mode(&self) -> &str {
        self.0.mode().name()
    }

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
            all.into_iter().map(|one| CommitTransaction(Remote::new(one, &home))).collect()
        };
        self.0.ask(|commits| async move { commits.recover().await }, wrapped)
    }

    /// The call's value is true.
    #[napi(catch_unwind)]
    pub fn join(&self, site: String) -> f64 {
        self.0.ask(|commits| async move { commits.join(&site).await }, |()| true)
    }

    #[napi(catch_unwind)]
    pub fn leave(&self) -> f64 {
        self.0.ask(|commits| async move { commits.leave().await }, same)
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
            all.into_iter().map(|one| Proposal(Remote::new(one, &home))).collect()
        };
        self.0.ask(|commits| async move { commits.pending().await }, wrapped)
    }

    #[napi(catch_unwind)]
    pub fn history(&self) -> f64 {
        let converted = |all: Vec<_>| all.into_iter().map(CommitStatus::from).collect::<Vec<_>>();
        self.0.ask(|commits| async move { commits.history().await }, converted)
    }

    #[napi(catch_unwind)]
    pub fn show(&self, id: String) -> f64 {
        let converted = |status: Option<_>| status.map(CommitStatus::from);
        self.0.ask(|commits| async move { commits.show(&id).await }, converted)
    }

    #[napi(catch_unwind)]
    pub fn decide_abort(&self, id: String, reason: String) -> f64 {
        self.0.ask(|commits| async move { commits.decide_abort(&id, &reason).await }, Outcome::name)
    }
}

#[napi]
impl CommitTransaction {
    #[napi(catch_unwind)]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    #[napi(catch_unwind)]
    pub fn sites(&self) -> Vec<String> {
        self.0.sites().to_vec()
    }

    #[napi(catch_unwind)]
    pub fn payload(&self) -> Buffer {
        self.0.payload().into()
    }

    #[napi(catch_unwind)]
    pub fn outcome(&self, timeout: f64) -> f64 {
        let outcome = |begun: zkrecipes::CommitTransaction, limit| async move { begun.outcome(limit).await };
        self.0.wait(timeout, outcome, Outcome::name)
    }
}

#[napi]
impl Begun {
    /// The transaction, once: it is the caller's from now on.
    #[napi(catch_unwind)]
    pub fn hand_over(&self) -> Option<CommitTransaction> {
        self.0.take().map(|begun| CommitTransaction(Remote::new(begun.hand_over(), &self.0.inbox)))
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
        self.0.take().map(|proposed| Proposal(Remote::new(proposed.hand_over(), &self.0.inbox)))
    }

    /// The caller has withdrawn: who asks next is told.
    #[napi(catch_unwind)]
    pub fn tell_again(&self) {
        drop(self.0.take());
    }
}

#[napi]
impl Proposal {
    #[napi(catch_unwind)]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    #[napi(catch_unwind)]
    pub fn sites(&self) -> Vec<String> {
        self.0.sites().to_vec()
    }

    #[napi(catch_unwind)]
    pub fn payload(&self) -> Buffer {
        self.0.payload().into()
    }

    #[napi(catch_unwind)]
    pub fn has_voted(&self) -> bool {
        self.0.has_voted()
    }

    #[napi(catch_unwind)]
    pub fn vote_commit(&self) -> f64 {
        self.0.ask(|proposal| async move { proposal.vote_commit().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn vote_abort(&self, reason: String) -> f64 {
        self.0.ask(|proposal| async move { proposal.vote_abort(&reason).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn outcome(&self, timeout: f64) -> f64 {
        let outcome = |proposal: zkrecipes::Proposal, limit| async move { proposal.outcome(limit).await };
        self.0.wait(timeout, outcome, Outcome::name)
    }

    #[napi(catch_unwind)]
    pub fn acknowledge(&self) -> f64 {
        self.0.ask(|proposal| async move { proposal.acknowledge().await }, same)
    }
}
