//! The counter: one node whose data is the value.
//!
//! 1. A change is one transaction: set the value if the node still has the version that was read, and write down in a
//!    mark of our own, a child of the node, that change number *k* was made.
//! 2. If the answer gets lost, the mark tells whether the change was made, for everybody may have changed the value since.
//!    It is persistent, so it tells that on another connection and in another session, too. See `once`.
//! 3. If somebody else was faster, the value is read and the change made anew. Clients to which that
//!    happens more than once take turns, and each makes several changes when it is its turn. So a change costs the same
//!    with fifty clients as with five.
//! 4. Changes that are asked for on one path of one client while another is under way are made together. See `line`.
//! 5. The mark stays for the next change, so that a change costs one write also after a pause; it goes after a while without
//!    changes, or when the client closes. Marks of those that crashed are deleted by others who count there later, once
//!    nobody can need them any more. See `once`.

mod doubt;
mod encoding;
mod line;
mod rollover;
mod sight;
mod turns;
mod write;

use self::encoding::Encoding;
use self::line::{Change, Handle, Lines, Outcome};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::options::CounterOptions;
use crate::path;

const VERB: &str = "counting";

impl Client {
    /// A handle on the counter at `path`. Does no I/O.
    pub fn counter(&self, path: &str, options: CounterOptions) -> Result<Counter> {
        let session = self.session()?;
        path::recipe(path)?;
        let encoding = Encoding::of(session.options().naming, options.layout);
        let line = session.shelf.of::<Lines>().of(path, encoding);
        Ok(Counter { client: self.clone(), line })
    }
}

/// A number that many count on: `client.counter(path, options)`.
///
/// Every change is applied exactly once, also when its answer gets lost. Where that cannot be known any more, because no
/// server answers within the retry budget or somebody deleted the counter meanwhile, the answer is ConnectionLost and says
/// so. A counter that does not exist is 0, and the first change creates it.
///
/// As long as changes come, one node of ours stands below the counter for each client. It goes within a minute of the last,
/// a second after it once the client has no handle on this counter any more, and when the client closes.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let counter = client.counter("/counters/orders", Default::default())?;
/// assert_eq!(counter.add(5).await?, 5);
/// assert_eq!(counter.add(-2).await?, 3);
/// assert!(counter.compare_and_set(3, 10).await?);
/// assert_eq!(counter.get().await?, 10);
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Counter {
    client: Client,
    line: Handle,
}

impl Counter {
    /// Where the value is kept.
    pub fn path(&self) -> &str {
        &self.line.path
    }

    /// The value, no older than this call.
    pub async fn get(&self) -> Result<i64> {
        let session = self.client.session()?;
        let seen = self.line.look(&mut session.call(None), true).await;
        Ok(seen.map_err(|error| error.with_path(self.path()))?.value)
    }

    /// Adds `n`, which may be negative, and answers the new value. Beyond the range of the layout: Invalid, and nothing is
    /// added.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the change unless it is on its way already.
    pub async fn add(&self, n: i64) -> Result<i64> {
        match self.change(Change::Add(n)).await? {
            Outcome::Value(value) => Ok(value),
            _ => Err(self.out_of_range("n", n)),
        }
    }

    /// Sets the value to `new` if it is `old`, and answers whether it was.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the change unless it is on its way already.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let counter = client.counter("/counters/seats", Default::default())?;
    /// assert!(counter.compare_and_set(0, 100).await?);
    /// assert!(!counter.compare_and_set(0, 200).await?);
    /// assert_eq!(counter.get().await?, 100);
    /// # Ok(()) });
    /// ```
    pub async fn compare_and_set(&self, old: i64, new: i64) -> Result<bool> {
        if !self.line.encoding.range().contains(&new) {
            return Err(self.out_of_range("new", new));
        }
        Ok(self.change(Change::Swap { old, new }).await? == Outcome::Swapped)
    }

    async fn change(&self, change: Change) -> Result<Outcome> {
        let session = self.client.session()?;
        self.line.change(session, change).await.map_err(|error| error.with_path(self.path()))
    }

    fn out_of_range(&self, argument: &str, n: i64) -> Error {
        let range = self.line.encoding.range();
        let (least, most) = (range.start(), range.end());
        Error::invalid(
            argument,
            format!("{n} would take the counter out of {least} to {most}; nothing was changed"),
        )
        .with_path(self.path())
    }
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter").field("path", &self.line.path).finish_non_exhaustive()
    }
}
