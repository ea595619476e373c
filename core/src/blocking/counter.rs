//! The counter, blocking.

use super::Client;
use crate::drive::wait;
use crate::error::Result;
use crate::options::CounterOptions;

impl Client {
    /// See [`crate::Client::counter`].
    pub fn counter(&self, path: &str, options: CounterOptions) -> Result<Counter> {
        self.0.counter(path, options).map(Counter)
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
pub struct Counter(crate::Counter);

impl Counter {
    /// See [`crate::Counter::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::Counter::get`].
    pub fn get(&self) -> Result<i64> {
        let counter = self.0.clone();
        wait(async move { counter.get().await }, None, None)
    }

    /// See [`crate::Counter::add`].
    pub fn add(&self, n: i64) -> Result<i64> {
        let counter = self.0.clone();
        wait(async move { counter.add(n).await }, None, None)
    }

    /// See [`crate::Counter::compare_and_set`].
    pub fn compare_and_set(&self, old: i64, new: i64) -> Result<bool> {
        let counter = self.0.clone();
        wait(async move { counter.compare_and_set(old, new).await }, None, None)
    }
}
