//! What an election is won for, blocking.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::{Election, Leadership};
use crate::drive::{HEALTH_INTERVAL, Terms, check_may_wait, wait};
use crate::error::Result;
use crate::recipes::election::HealthEnds;

impl Election {
    /// See [`crate::Election::campaign`].
    pub fn campaign(&self) -> Result<Leadership> {
        check_may_wait()?;
        wait(self.core.campaign(), None, None).map(Leadership::of)
    }

    /// See [`crate::Election::campaign_timeout`].
    pub fn campaign_timeout(&self, limit: Duration) -> Result<Leadership> {
        check_may_wait()?;
        wait(self.core.campaign_timeout(limit), None, None).map(Leadership::of)
    }

    /// As [`crate::Election::run`], with work that blocks this thread. Nothing can take a thread away from its work: it has
    /// to look at [`Held::is_held`](super::Held::is_held) of the leadership, and return when that is false: it was lost or
    /// resigned, or [`Election::cancel`] was called. In the last case it leads until it returns, and guarded writes are still
    /// applied. What it returns after a loss counts as its end: an error that comes of the loss is no failure, and the next
    /// campaign begins at once. Where somebody else is to lead [`Held::on_revoke`](super::Held::on_revoke) tells, and the work
    /// may finish for as long as [`ElectionOptions::drain`](crate::ElectionOptions::drain); then the leadership is lost.
    pub fn run<E: std::fmt::Display>(&self, work: impl FnMut(Leadership) -> Result<(), E>) -> Result<()> {
        check_may_wait()?;
        Election::lead(self.core.terms()?, work)
    }

    fn lead<E: std::fmt::Display>(
        mut terms: Terms,
        mut work: impl FnMut(Leadership) -> Result<(), E>,
    ) -> Result<()> {
        loop {
            let (next, back) = wait(async move { Ok((terms.next().await?, terms)) }, None, None)?;
            terms = back;
            // Cancelled while this thread was woken, there is no term, either.
            let Some(leadership) = next.filter(|won| terms.begins(won)) else { return Ok(()) };
            terms.tells(&leadership);
            let outcome = work(Leadership::of(leadership.clone()));
            // Unconfirmed, it goes on in the background; lost or resigned, there is nothing to do.
            let _ = wait(leadership.release(), None, None);
            match outcome {
                Ok(()) => terms.succeeded(),
                Err(error) => terms.failed(&leadership, &error),
            }
        }
    }

    /// As [`Election::run`], for as long as `healthy` says so: see [`crate::Election::run_while_healthy`]. It is asked on a thread of
    /// its own; where it panics the candidate counts as not healthy. A run returns when the last question is answered.
    pub fn run_while_healthy<E: std::fmt::Display>(
        &self,
        work: impl FnMut(Leadership) -> Result<(), E>,
        mut healthy: impl FnMut() -> bool + Send,
    ) -> Result<()> {
        check_may_wait()?;
        // Made before anybody is asked: who cancels meanwhile ends this run.
        let terms = self.core.terms()?;
        let _health = HealthEnds(&self.core);
        // A panic was told of by the hook.
        let mut ask = move || self.set_healthy(catch_unwind(AssertUnwindSafe(&mut healthy)).unwrap_or(false));
        ask();
        let (ends, is_over) = mpsc::channel::<()>();
        thread::scope(|scope| {
            // Dropped when the run ends, or panics.
            let _ends = ends;
            scope.spawn(move || {
                while is_over.recv_timeout(HEALTH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    ask();
                }
            });
            Election::lead(terms, work)
        })
    }

    /// See [`crate::Election::cancel`].
    pub fn cancel(&self) {
        self.core.cancel();
    }
}
