//! Generated from api/config.toml by api/generate; do not edit.

use crate::blocking::{Client, Feed};
use crate::drive::wait;
use crate::{Cached, Result, Versioned};

impl Client {
    /// See [`crate::Client::config`].
    pub fn config(&self, path: &str) -> Result<Config> {
        self.0.config(path).map(Config::of)
    }
}

/// [`crate::Config`], blocking.
#[derive(Clone, Debug)]
pub struct Config {
    pub(in crate::blocking) core: crate::Config,
}

impl Config {
    pub(in crate::blocking) fn of(core: crate::Config) -> Config {
        Config { core }
    }

    /// See [`crate::Config::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Config::get`].
    pub fn get(&self) -> Result<Option<Versioned>> {
        let core = self.core.clone();
        wait(async move { core.get().await }, None, None)
    }

    /// See [`crate::Config::set`].
    pub fn set(&self, value: &[u8], version: Option<i32>) -> Result<i32> {
        let (core, value) = (self.core.clone(), value.to_owned());
        wait(async move { core.set(&value, version).await }, None, None)
    }

    /// See [`crate::Config::create`].
    pub fn create(&self, value: &[u8]) -> Result<i32> {
        let (core, value) = (self.core.clone(), value.to_owned());
        wait(async move { core.create(&value).await }, None, None)
    }

    /// See [`crate::Config::compare_and_set`].
    pub fn compare_and_set(&self, value: &[u8], version: Option<i32>) -> Result<bool> {
        let (core, value) = (self.core.clone(), value.to_owned());
        wait(async move { core.compare_and_set(&value, version).await }, None, None)
    }

    /// See [`crate::Config::watch`].
    pub fn watch(&self) -> Feed<Option<Versioned>> {
        Feed::from(self.core.watch())
    }

    /// See [`crate::Config::cached`].
    pub fn cached(&self) -> Option<Cached> {
        self.core.cached()
    }
}
