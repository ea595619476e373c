//! Elections, blocking.

use std::ops::Deref;
use std::time::Duration;

use super::{Client, Feed, Handle, Held};
use crate::drive::{check_may_wait, wait};
use crate::error::Result;
use crate::options::ElectionOptions;
use crate::recipes::contenders::Contender;
use crate::recipes::election::Leader;

impl Client {
    /// See [`crate::Client::election`].
    pub fn election(&self, path: &str, data: &[u8], options: ElectionOptions) -> Result<Election> {
        self.0.election(path, data, options).map(Election::of)
    }
}

/// [`crate::Election`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// let election = client.election("/leader", b"", Default::default())?;
/// let leadership = election.campaign()?;
/// assert!(election.is_leader());
/// leadership.release()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Election {
    election: crate::Election,
    handle: Handle,
}

impl Deref for Election {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Election {
    fn of(election: crate::Election) -> Election {
        let handle = Handle((*election).clone());
        Election { election, handle }
    }

    /// See [`crate::Election::campaign`].
    pub fn campaign(&self) -> Result<Leadership> {
        check_may_wait()?;
        wait(self.election.campaign(), None, None).map(Leadership::of)
    }

    /// See [`crate::Election::campaign_timeout`].
    pub fn campaign_timeout(&self, limit: Duration) -> Result<Leadership> {
        check_may_wait()?;
        wait(self.election.campaign_timeout(limit), None, None).map(Leadership::of)
    }

    /// As [`crate::Election::run`], with work that blocks this thread. Nothing can take a thread away from its work: it has
    /// to look at [`Held::is_held`] of the leadership, and return when that is false: it was lost or resigned, or
    /// [`Election::cancel`] was called. In the last case it leads until it returns, and guarded writes are still applied. What it
    /// returns after a loss counts as its end: an error that comes of the loss is no failure, and the next campaign begins
    /// at once.
    pub fn run<E: std::fmt::Display>(&self, mut work: impl FnMut(Leadership) -> Result<(), E>) -> Result<()> {
        check_may_wait()?;
        let mut terms = self.election.terms()?;
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

    /// See [`crate::Election::resign`].
    pub fn resign(&self) -> Result<()> {
        self.handle.release()
    }

    /// See [`crate::Election::cancel`].
    pub fn cancel(&self) {
        self.election.cancel();
    }

    /// See [`crate::Election::is_leader`].
    pub fn is_leader(&self) -> bool {
        self.election.is_leader()
    }

    /// See [`crate::Election::leader`].
    pub fn leader(&self) -> Result<Option<Leader>> {
        let election = self.election.clone();
        wait(async move { election.leader().await }, None, None)
    }

    /// See [`crate::Election::candidates`].
    pub fn candidates(&self) -> Result<Vec<Contender>> {
        let election = self.election.clone();
        wait(async move { election.candidates().await }, None, None)
    }

    /// See [`crate::Election::observe`].
    pub fn observe(&self) -> Feed<Option<Leader>> {
        self.election.observe().into()
    }
}

/// [`crate::Leadership`], blocking.
#[must_use = "dropping a Leadership resigns at once; keep it for as long as the work takes"]
pub struct Leadership {
    leadership: crate::Leadership,
    held: Held,
}

impl Deref for Leadership {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl Leadership {
    fn of(leadership: crate::Leadership) -> Leadership {
        let held = Held((*leadership).clone());
        Leadership { leadership, held }
    }

    /// See [`crate::Leadership::epoch`].
    pub fn epoch(&self) -> u64 {
        self.leadership.epoch()
    }

    /// See [`crate::Leadership::acknowledge`].
    pub fn acknowledge(&self, data: &[u8]) -> Result<()> {
        let (leadership, data) = (self.leadership.clone(), data.to_owned());
        wait(async move { leadership.acknowledge(&data).await }, None, None)
    }
}

impl std::fmt::Debug for Leadership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.leadership.fmt(f)
    }
}
