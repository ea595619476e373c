//! The counter: one node whose data is the value.
//!
//! ```text
//! /counters/orders                     the value: persistent, and never deleted by us
//!     _c_GUID-change                   a mark of each client that counts: which of its changes was made last; persistent
//!     _c_GUID-lock-0000000007          who queues for a turn, while many count; ephemeral
//! ```
//!
//! 1. A change reads the value, unless we wrote it last, and is one transaction: set the value if the node still has the
//!    version that was read, and write down in our mark that change number *k* was made.
//! 2. If the answer gets lost, the mark tells whether the change was made, for everybody may have changed the value since.
//!    It is persistent, so it tells that on another connection and in another session, too. Where it cannot tell, because
//!    somebody deleted it or the counter, the answer is ConnectionLost. See [`attempt`].
//! 3. If somebody else was faster, the transaction is refused: the value is read and the change made anew. Clients to which
//!    that happens more than once take turns, and each makes several changes when it is its turn. So a change costs the same
//!    with fifty clients as with five. See [`fairness`].
//! 4. Changes that are asked for on one path of one client while another is under way are made together. See
//!    [`pending_changes`].
//! 5. The mark stays for the next change, so that a change costs one write also after a pause; it goes after a while without
//!    changes, or when the client closes.
//! 6. Who is killed before its transaction arrives has changed nothing; who is killed after it has made the change, and
//!    nobody is told. It leaves its mark. Others who count there later delete that, once nobody can need it any more, see
//!    `session::once`. A turn ends with the session of who had it, and others count without one after a second.
//!
//! What may be asked for is a [`Change`]: what it makes of the value is all that one kind has of its own. A latch is counted
//! down in the same way, see [`super::latch`].
//! [`value`] is the node: how the value is its data, and how versions that run over are kept from guarding nothing.

pub(super) mod attempt;
mod fairness;
pub(super) mod latch_value;
pub(super) mod pending_changes;
pub(super) mod value;

use self::attempt::{Change, ChangeOutcome};
use self::pending_changes::{ChangesHandle, CountersOfClient};
use self::value::Encoding;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::feed::{Feed, Source};
use crate::options::CounterOptions;
use crate::path;
use crate::session::watching::{Data, Watching};

impl Client {
    /// A handle on the counter at `path`. Does no I/O.
    pub fn counter(&self, path: &str, options: CounterOptions) -> Result<Counter> {
        let session = self.session_for_handle()?;
        path::recipe(path)?;
        let encoding = Encoding::of(session.options().naming, options.layout);
        let changes = session.extensions.of::<CountersOfClient>().of(path, encoding);
        Ok(Counter { client: self.clone(), changes })
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
    changes: ChangesHandle,
}

impl Counter {
    /// Where the value is kept.
    pub fn path(&self) -> &str {
        &self.changes.node.path
    }

    /// The value, no older than this call.
    pub async fn get(&self) -> Result<i64> {
        let session = self.client.session()?;
        let seen = self.changes.node.read(&mut session.call(None), true).await;
        Ok(seen.map_err(|error| error.with_path(self.path()))?.value)
    }

    /// Adds `n`, which may be negative, and answers the new value. Beyond the range of the layout: Invalid, and nothing is
    /// added.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the change unless it is on its way already.
    pub async fn add(&self, n: i64) -> Result<i64> {
        match self.change(Change::Add(n)).await? {
            ChangeOutcome::Value(value) => Ok(value),
            _ => Err(self.out_of_range("n", n)),
        }
    }

    /// Sets the value, whatever it was. Beyond the range of the layout: Invalid, and nothing is changed.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the change unless it is on its way already.
    pub async fn set(&self, value: i64) -> Result<()> {
        self.check_range("value", value)?;
        self.change(Change::Set(value)).await.map(drop)
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
        self.check_range("new", new)?;
        Ok(self.change(Change::Swap { old, new }).await? == ChangeOutcome::Swapped)
    }

    /// The value now, and whenever it has changed: always the latest; 0 where nobody has counted.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let counter = client.counter("/counters/visitors", Default::default())?;
    /// let mut feed = counter.watch();
    /// assert_eq!(feed.next().await.transpose()?, Some(0));
    /// counter.add(2).await?;
    /// assert_eq!(feed.next().await.transpose()?, Some(2));
    /// # Ok(()) });
    /// ```
    pub fn watch(&self) -> Feed<i64> {
        let session = self.client.session();
        let watching = session.map(|session| session.watch_node("watch", self.path()).current());
        Feed::new(FollowedCounter { watching, encoding: self.changes.node.encoding, told: None })
    }

    async fn change(&self, change: Change) -> Result<ChangeOutcome> {
        let session = self.client.session()?;
        self.changes.change(session, change).await.map_err(|error| error.with_path(self.path()))
    }

    fn check_range(&self, argument: &str, value: i64) -> Result<()> {
        match self.changes.node.encoding.range().contains(&value) {
            true => Ok(()),
            false => Err(self.out_of_range(argument, value)),
        }
    }

    fn out_of_range(&self, argument: &str, n: i64) -> Error {
        let range = self.changes.node.encoding.range();
        let (least, most) = (range.start(), range.end());
        Error::invalid(
            argument,
            format!("{n} would take the counter out of {least} to {most}; nothing was changed"),
        )
        .with_path(self.path())
    }
}

struct FollowedCounter {
    watching: Result<Watching<Data>>,
    encoding: Encoding,
    told: Option<i64>,
}

impl Source<i64> for FollowedCounter {
    async fn next(&mut self) -> Result<i64> {
        let watching = self.watching.as_mut().map_err(|error| error.clone())?;
        loop {
            let Data(found) = watching.next().await?;
            let data = found.map(|(data, _)| data).unwrap_or_default();
            let value = self.encoding.decode(&data).map_err(|error| error.with_path(watching.path()))?;
            // The node may have been written without a change of the value.
            if self.told.replace(value) != Some(value) {
                return Ok(value);
            }
        }
    }
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter").field("path", &self.changes.node.path).finish_non_exhaustive()
    }
}
