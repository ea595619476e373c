//! Groups, blocking.

use std::collections::BTreeMap;

use super::{Client, Feed};
use crate::drive::wait;
use crate::error::Result;
use crate::options::GroupOptions;
use crate::recipes::group::GroupEvent;

impl Client {
    /// See [`crate::Client::group`].
    pub fn group(&self, path: &str, options: GroupOptions) -> Result<Group> {
        self.0.group(path, options).map(Group)
    }
}

/// [`crate::Group`], blocking.
#[derive(Clone, Debug)]
pub struct Group(crate::Group);

impl Group {
    /// See [`crate::Group::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::Group::join`].
    pub fn join(&self, name: &str, data: &[u8]) -> Result<()> {
        let (group, name, data) = (self.0.clone(), name.to_owned(), data.to_owned());
        wait(async move { group.join(&name, &data).await }, None, None)
    }

    /// See [`crate::Group::leave`].
    pub fn leave(&self) -> Result<()> {
        let group = self.0.clone();
        wait(async move { group.leave().await }, None, None)
    }

    /// See [`crate::Group::update`].
    pub fn update(&self, data: &[u8]) -> Result<()> {
        let (group, data) = (self.0.clone(), data.to_owned());
        wait(async move { group.update(&data).await }, None, None)
    }

    /// See [`crate::Group::members`].
    pub fn members(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let group = self.0.clone();
        wait(async move { group.members().await }, None, None)
    }

    /// See [`crate::Group::watch`].
    pub fn watch(&self) -> Feed<GroupEvent> {
        self.0.watch().into()
    }
}
