//! Read, change, set if nobody has changed it meanwhile, else once more; blocking.

use super::{Config, Nodes};
use crate::error::{Error, ErrorKind, Result};
use crate::{Stat, Versioned};

impl Config {
    /// See [`crate::Config::update`].
    pub fn update(&self, mut change: impl FnMut(Option<&[u8]>) -> Vec<u8>) -> Result<Versioned> {
        self.try_update(|value| Ok(change(value)))
    }

    /// See [`crate::Config::try_update`].
    pub fn try_update<E: From<Error>>(
        &self,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Vec<u8>, E>,
    ) -> Result<Versioned, E> {
        loop {
            let before = self.get()?;
            let value = change(before.as_ref().map(|before| &*before.value))?;
            let version = before.map(|before| before.version);
            if self.compare_and_set(&value, version)? {
                return Ok(Versioned::after(version, value));
            }
        }
    }
}

impl Nodes {
    /// See [`crate::Nodes::update`].
    pub fn update(&self, path: &str, mut change: impl FnMut(&[u8]) -> Vec<u8>) -> Result<Stat> {
        self.try_update(path, |data| Ok(change(data)))
    }

    /// See [`crate::Nodes::try_update`].
    pub fn try_update<E: From<Error>>(
        &self,
        path: &str,
        mut change: impl FnMut(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<Stat, E> {
        loop {
            let (data, stat) = self.get(path)?;
            let changed = change(&data)?;
            match self.set(path, &changed, Some(stat.version)) {
                Err(error) if error.kind() == ErrorKind::BadVersion => {}
                answer => return Ok(answer?),
            }
        }
    }
}
