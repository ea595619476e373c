//! Generated from api/counter.toml by api/generate; do not edit.

use crate::blocking::{Client, Feed};
use crate::drive::wait;
use crate::{CounterOptions, Result};

impl Client {
    /// See [`crate::Client::counter`].
    pub fn counter(&self, path: &str, options: CounterOptions) -> Result<Counter> {
        self.0.counter(path, options).map(Counter::of)
    }
}

/// [`crate::Counter`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// let counter = client.counter("/counters/orders", Default::default())?;
/// assert_eq!(counter.add(5)?, 5);
/// assert_eq!(counter.get()?, 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Counter {
    pub(in crate::blocking) core: crate::Counter,
}

impl Counter {
    pub(in crate::blocking) fn of(core: crate::Counter) -> Counter {
        Counter { core }
    }

    /// See [`crate::Counter::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Counter::get`].
    pub fn get(&self) -> Result<i64> {
        let core = self.core.clone();
        wait(async move { core.get().await }, None, None)
    }

    /// See [`crate::Counter::add`].
    pub fn add(&self, n: i64) -> Result<i64> {
        let core = self.core.clone();
        wait(async move { core.add(n).await }, None, None)
    }

    /// See [`crate::Counter::set`].
    pub fn set(&self, value: i64) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.set(value).await }, None, None)
    }

    /// See [`crate::Counter::compare_and_set`].
    pub fn compare_and_set(&self, old: i64, new: i64) -> Result<bool> {
        let core = self.core.clone();
        wait(async move { core.compare_and_set(old, new).await }, None, None)
    }

    /// See [`crate::Counter::watch`].
    pub fn watch(&self) -> Feed<i64> {
        Feed::from(self.core.watch())
    }
}
