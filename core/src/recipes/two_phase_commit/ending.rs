//! How a coordinator sees to a transaction in the background, and how it is done with one: its mark goes, and the outcome stays for
//! a day where others began it.
//!
//! 1. A commit's mark goes when a caller has asked for the outcome, and not before: should the coordinator die, `recover` has to
//!    answer it.
//! 2. An abort's mark goes a while after the coordinator knows, also if nobody asks. Who recovers takes what is not answered for
//!    an abort, so nobody is told a wrong outcome; and the nodes of transactions that nobody asks for do not pile up. Until then
//!    people see why it was aborted.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::kept_outcomes::{leave_outcome, sweep_outcomes};
use super::layout::{Outcome, TransactionLayout};
use super::ownership::{Commits, Hand};
use super::transaction::{KnownTransaction, OutcomeWaiter, collect};
use crate::error::Result;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::refusal::Failure;
use crate::session::wire::{Flight, WireError, Write};

const OUTCOME: &str = "outcome";
/// How long an abort that nobody asks for is left to be seen: as long again as there was to vote, within these.
const SEEN_AT_LEAST: Duration = Duration::from_secs(3);
const SEEN_AT_MOST: Duration = Duration::from_secs(60);

/// Sees to it from now on that this transaction is decided: the commit when all votes are there, the abort when its time
/// is over. Until then its coordinator is there, whoever still has a handle; the end of the client ends it.
pub(super) fn attend(hand: &Hand, transaction: &Arc<KnownTransaction>) {
    let commits = &hand.commits;
    let Ok(session) = commits.client.session() else { return };
    let is_committed = transaction.outcome() == Some(Outcome::Commit);
    if is_committed || transaction.is_attended.send_replace(true) {
        return;
    }
    commits.is_attended(transaction);
    // From here on whoever finds a newer one says it to the transaction, too.
    transaction.mark.fetch_max(hand.mark(), Ordering::AcqRel);
    let (attending, presence) = (Attending(transaction.clone()), commits.presence());
    let (layout, about) = (commits.layout.clone(), session.clone());
    // Not kept: it has the client, whose end ends this.
    let commits = Arc::downgrade(commits);
    let transaction = transaction.clone();
    session.clock().spawn(Box::pin(async move {
        decide_in_background(&transaction, &layout, &about).await;
        drop(attending);
        // Without a handle this coordinator is not there any more, and others may take it over meanwhile.
        drop(presence);
        if transaction.outcome() == Some(Outcome::Abort) {
            let seen = transaction.header.timeout.clamp(SEEN_AT_LEAST, SEEN_AT_MOST);
            tokio::select! {
                () = about.clock().sleep_until(about.now() + seen) => {}
                // Left to who recovers it.
                () = about.until_closing() => return,
            }
            let version = transaction.mark.load(Ordering::Acquire);
            let ended = EndedTransaction::new(&layout, &transaction, version);
            ended.end(&about, Weak::upgrade(&commits));
        }
    }));
}

/// Somebody sees to it, until this is dropped.
struct Attending(Arc<KnownTransaction>);

impl Drop for Attending {
    fn drop(&mut self) {
        self.0.is_attended.send_replace(false);
    }
}

async fn decide_in_background(
    transaction: &KnownTransaction,
    layout: &TransactionLayout,
    session: &Arc<Session>,
) {
    let mut call = session.call(None);
    call.outlast_outages();
    if let Err(error) =
        transaction.wait_for_outcome(layout, session, &mut call, OutcomeWaiter::Background).await
    {
        tracing::debug!(target: "zkrecipes", event = "transaction_unattended", id = transaction.key.id, %error, "whoever waits for the outcome of a transaction decides it now");
    }
}

/// A transaction with which its coordinator is done, and of which it knows what it came to.
pub(super) struct EndedTransaction {
    layout: TransactionLayout,
    transaction: Arc<KnownTransaction>,
    /// That of the mark.
    version: i32,
}

impl EndedTransaction {
    pub(super) fn new(
        layout: &TransactionLayout,
        transaction: &Arc<KnownTransaction>,
        version: i32,
    ) -> EndedTransaction {
        EndedTransaction { layout: layout.clone(), transaction: transaction.clone(), version }
    }

    /// The mark goes in the background. The first request leaves now.
    pub(super) fn end(self, session: &Arc<Session>, commits: Option<Arc<Commits>>) {
        // Before others may see that it is on its way: they wait for that.
        let ending = commits.as_ref().map(Commits::ending);
        if !self.transaction.is_first_to_end(self.version) {
            return;
        }
        let mark = self.layout.coordinator(&self.transaction.key);
        // Not ours from the beginning: then its outcome stays, for whoever began it.
        let first = (self.version == 0).then(|| session.server_session().delete(&mark, Some(self.version)));
        let about = session.clone();
        drop(session.in_background(async move {
            let ended = match first {
                Some(first) => self.delete_mark(&about, &mark, first).await,
                None => self.delete_and_note(&about, &mark, commits.as_ref()).await,
            };
            if let Err(error) = ended {
                tracing::debug!(target: "zkrecipes", event = "transaction_untidy", %error, "a transaction that is over is left to `recover`");
            }
            drop(ending);
        }));
    }

    async fn delete_mark(&self, session: &Arc<Session>, mark: &str, first: Flight<()>) -> Result<()> {
        let mut call = session.call(None).outlasting();
        let deleted = match first.await {
            Err(error) if error.is_unanswered() => {
                call.retry_after_loss(OUTCOME).await?;
                call.ask(OUTCOME, |server| server.delete(mark, Some(self.version))).await
            }
            answer => answer.map_err(Failure::Refused),
        };
        self.collect_after(&mut call, mark, deleted).await
    }

    async fn collect_after(&self, call: &mut Call, mark: &str, deleted: Result<(), Failure>) -> Result<()> {
        match deleted {
            Ok(()) | Err(Failure::Refused(WireError::NoNode)) => {
                let transaction = &self.transaction;
                collect(&self.layout, call, &transaction.key, &transaction.header.sites).await
            }
            // Taken over.
            Err(Failure::Refused(WireError::BadVersion)) => Ok(()),
            Err(failure) => Err(failure.about(OUTCOME, mark)),
        }
    }

    async fn delete_and_note(
        &self,
        session: &Arc<Session>,
        mark: &str,
        commits: Option<&Arc<Commits>>,
    ) -> Result<()> {
        let mut call = session.call(None).outlasting();
        let (layout, folder) = (&self.layout, self.layout.outcomes());
        let delete = Write::Delete { path: mark.to_owned(), version: Some(self.version) };
        let writes = [delete, leave_outcome(layout, &self.transaction)];
        let deleted = loop {
            match call.ask(OUTCOME, |server| server.multi(&writes)).await {
                Err(Failure::Refused(WireError::Part { index: 1, error })) if *error == WireError::NoNode => {
                    let server_session = call.server_session(OUTCOME).await?;
                    call.make_path(OUTCOME, &server_session, &folder, session.parents()).await?;
                }
                // Not ours to write, which must not keep the transaction for ever.
                Err(Failure::Refused(WireError::Part { index: 1, error })) => {
                    let path = writes[1].path();
                    tracing::warn!(target: "zkrecipes", event = "outcome_not_kept",
                        path,
                        ?error,
                        "whoever began this transaction cannot learn its outcome"
                    );
                    break call.ask(OUTCOME, |server| server.delete(mark, Some(self.version))).await;
                }
                Err(Failure::Refused(WireError::Part { error, .. })) => break Err(Failure::Refused(*error)),
                deleted => break deleted.map(drop),
            }
        };
        self.collect_after(&mut call, mark, deleted).await?;
        match commits {
            Some(commits) => sweep_outcomes(commits, session, &mut call).await,
            // Others take them away.
            None => Ok(()),
        }
    }
}
