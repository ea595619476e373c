//! Generated from api/group.toml by api/generate; do not edit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::blocking::{Client, Feed};
use crate::drive::{Cancels, wait};
use crate::{GroupEvent, GroupOptions, Result};

impl Client {
    /// See [`crate::Client::group`].
    pub fn group(&self, path: &str, options: GroupOptions) -> Result<Group> {
        self.0.group(path, options).map(Group::of)
    }
}

/// [`crate::Group`], blocking.
#[derive(Clone, Debug)]
pub struct Group {
    pub(in crate::blocking) core: crate::Group,
    pub(in crate::blocking) cancels: Arc<Cancels>,
}

impl Group {
    pub(in crate::blocking) fn of(core: crate::Group) -> Group {
        Group { core, cancels: Arc::default() }
    }

    /// See [`crate::Group::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Group::join`].
    pub fn join(&self, name: &str, data: &[u8]) -> Result<()> {
        let (core, name, data) = (self.core.clone(), name.to_owned(), data.to_owned());
        wait(async move { core.join(&name, &data).await }, None, None)
    }

    /// See [`crate::Group::leave`].
    pub fn leave(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.leave().await }, None, None)
    }

    /// See [`crate::Group::update`].
    pub fn update(&self, data: &[u8]) -> Result<()> {
        let (core, data) = (self.core.clone(), data.to_owned());
        wait(async move { core.update(&data).await }, None, None)
    }

    /// See [`crate::Group::members`].
    pub fn members(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let core = self.core.clone();
        wait(async move { core.members().await }, None, None)
    }

    /// See [`crate::Group::wait_for`].
    pub fn wait_for(&self, n: usize, limit: Option<Duration>) -> Result<BTreeMap<String, Vec<u8>>> {
        let core = self.core.clone();
        wait(self.cancels.heed(async move { core.wait_for(n, limit).await }), None, None)
    }

    /// See [`crate::Group::watch`].
    pub fn watch(&self) -> Feed<GroupEvent> {
        Feed::from(self.core.watch())
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
