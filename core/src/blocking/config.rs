//! Values that many follow, blocking.

use super::{Client, Feed};
use crate::drive::wait;
use crate::error::Result;
use crate::recipes::config::{Cached, Versioned};

impl Client {
    /// See [`crate::Client::config`].
    pub fn config(&self, path: &str) -> Result<Config> {
        self.0.config(path).map(Config)
    }
}

/// [`crate::Config`], blocking.
#[derive(Clone, Debug)]
pub struct Config(crate::Config);

impl Config {
    /// See [`crate::Config::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::Config::get`].
    pub fn get(&self) -> Result<Option<Versioned>> {
        let config = self.0.clone();
        wait(async move { config.get().await }, None, None)
    }

    /// See [`crate::Config::set`].
    pub fn set(&self, value: &[u8], version: Option<i32>) -> Result<i32> {
        let (config, value) = (self.0.clone(), value.to_owned());
        wait(async move { config.set(&value, version).await }, None, None)
    }

    /// See [`crate::Config::create`].
    pub fn create(&self, value: &[u8]) -> Result<i32> {
        let (config, value) = (self.0.clone(), value.to_owned());
        wait(async move { config.create(&value).await }, None, None)
    }

    /// See [`crate::Config::watch`].
    pub fn watch(&self) -> Feed<Option<Versioned>> {
        self.0.watch().into()
    }

    /// See [`crate::Config::cached`].
    pub fn cached(&self) -> Option<Cached> {
        self.0.cached()
    }
}
