//! Generated from api/election.toml and api/campaign.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::blocking::{Client, Feed, Handle};
use crate::drive::{check_may_wait, wait};
use crate::{Contender, ElectionOptions, Leader, Result};

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
    pub(in crate::blocking) core: crate::Election,
    base: Handle,
}

impl Deref for Election {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.base
    }
}

impl Election {
    pub(in crate::blocking) fn of(core: crate::Election) -> Election {
        Election { base: Handle::of((*core).clone()), core }
    }

    /// See [`crate::Election::set_healthy`].
    pub fn set_healthy(&self, healthy: bool) {
        self.core.set_healthy(healthy);
    }

    /// See [`crate::Election::transfer`].
    pub fn transfer(&self, to: &str) -> Result<bool> {
        let (core, to) = (self.core.clone(), to.to_owned());
        wait(async move { core.transfer(&to).await }, None, None)
    }

    /// See [`crate::Election::resign`].
    pub fn resign(&self) -> Result<()> {
        check_may_wait()?;
        wait(self.core.resign(), None, None)
    }

    /// See [`crate::Election::is_leader`].
    pub fn is_leader(&self) -> bool {
        self.core.is_leader()
    }

    /// See [`crate::Election::leader`].
    pub fn leader(&self) -> Result<Option<Leader>> {
        let core = self.core.clone();
        wait(async move { core.leader().await }, None, None)
    }

    /// See [`crate::Election::candidates`].
    pub fn candidates(&self) -> Result<Vec<Contender>> {
        let core = self.core.clone();
        wait(async move { core.candidates().await }, None, None)
    }

    /// See [`crate::Election::observe`].
    pub fn observe(&self) -> Feed<Option<Leader>> {
        Feed::from(self.core.observe())
    }
}
