//! What an election is won for, blocking.

use std::time::Duration;

use super::{Election, Leadership};
use crate::drive::{check_may_wait, wait};
use crate::error::Result;

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
    /// to look at [`Held::is_held`] of the leadership, and return when that is false: it was lost or resigned, or
    /// [`Election::cancel`] was called. In the last case it leads until it returns, and guarded writes are still applied. What it
    /// returns after a loss counts as its end: an error that comes of the loss is no failure, and the next campaign begins
    /// at once.
    pub fn run<E: std::fmt::Display>(&self, mut work: impl FnMut(Leadership) -> Result<(), E>) -> Result<()> {
        check_may_wait()?;
        let mut terms = self.core.terms()?;
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

    /// See [`crate::Election::cancel`].
    pub fn cancel(&self) {
        self.core.cancel();
    }
}
