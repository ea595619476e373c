//! The counter: one node whose data is the value, which many clients change; each change is made exactly once.
//!
//! # Nodes
//!
//! ```text
//! /counters/orders                     the value: persistent; the first change creates it as 0, and nobody deletes it
//!     _c_GUID-change                   a mark: persistent; each client that counts creates and deletes one of its own
//!     _c_GUID-lock-0000000007          a place in the line for a turn: ephemeral; created and deleted by who counts
//! ```
//!
//! A mark says how many transactions its client has made with it, and for how long that client may need it. It exists
//! because the value and the version of the counter do not tell who made a change: others may have changed the counter
//! since. All handles of a client on one counter have one mark, with a GUID that is new with each mark. The client
//! keeps the name in memory, and so finds the mark from any later session, since it is persistent.
//!
//! # Steps
//!
//! 1. A client reads the value and its version. If the node is missing, it first creates it as 0, in a write of its
//!    own. In two cases it does not read, and goes by what it wrote last: as long as it has the turn (see 5), and for
//!    three transactions after a read that showed that nobody else had written since its last one. If others have
//!    written meanwhile, the server refuses the next step.
//! 2. One transaction makes the change: it sets the value if the counter still has the version that was read, and
//!    writes into the mark which number this transaction has. The first one creates the mark ([`attempt`]).
//! 3. If another client was faster, the transaction is refused: the client reads the value and makes the change anew.
//! 4. What is asked for while a transaction of the client is under way goes into its next one, in order, as one new
//!    value ([`pending_changes`]). A change that would leave the range, or a `compare_and_set` that does not find its
//!    old value, changes nothing there and is answered so; the others are made.
//! 5. A client that is refused twice in three changes queues for a turn; where four marks and places stand below the
//!    counter, it queues after the first refusal. It creates a place there and waits until that is the first one, as
//!    for a lock. Then it makes up to 16 transactions, or up to 40 where many count, and deletes its place: the next
//!    one has the turn. Others may write without a turn: turns only make refusals rare, so that a change costs the same
//!    with fifty clients as with five ([`fairness`]).
//!
//! If two clients create the counter at once, one succeeds, and the other one reads it. An empty node is 0. A latch is
//! counted down in the same way, but its first change creates the node in step 2, see [`super::latch`].
//!
//! # Who may be killed where
//!
//! - A client before its transaction arrives: nothing is changed. After that all changes in the transaction are made,
//!   although nobody was told. Its mark stays.
//! - A client that has the turn, or queues: its place goes with its session. When the first in the line stays the same
//!   for a second, the others count without a turn.
//!
//! # What a lost answer means
//!
//! The client reads the counter and its mark behind a quorum write, which changes nothing: when it is answered, all
//! that was sent before in that session is decided. What it then sees holds for all changes in the transaction.
//!
//! - The mark says the number of the transaction: its changes were made.
//! - The mark says less, and the counter has another version: they were not made. They never will be, even if the
//!   transaction is still on its way, since a version does not come back. They are made anew.
//! - The mark is missing, this transaction would have created it, and the counter has another version: they were not
//!   made either, if it is too early for others to have deleted the mark. They are made anew.
//! - The mark says less or is missing, and the counter has the same version: the transaction is sent again. Of the two
//!   at most one finds that version.
//! - Else nobody can know, and the answer is ConnectionLost: somebody deleted the mark or the counter, or no server
//!   answers within the retry budget. The client deletes the mark, and the next change has a new one.
//!
//! # What is bounded, and what is cleaned up
//!
//! - A client deletes its mark when it closes, and when it has made no change for as long as its session timeout and
//!   retry budget together, a minute at most; a second after the last change if it has no handle on the counter any
//!   more.
//! - The mark of a client that was killed stays. It says how long that client may need it: three times as long as its
//!   session timeout and retry budget together. Clients that count where others' marks stand look at those in the
//!   background, and delete a mark that has not changed for so long. If nobody counts there again, it stays for ever.
//! - The server's version of a node wraps, and a write at the version -1 would be applied at any version. A change of
//!   ours that begins at -2 sets the counter twice, and so leaves it at 0. If a write of others has left it at -1, a
//!   change also creates a node that looks like a mark. Its name is made from that write, so only one client can create
//!   it. It is deleted like the mark of a client that was killed, after an hour ([`value`]).
//!
//! # Beside others
//!
//! The data is that of Curator's `DistributedAtomicLong` or `SharedCount`, or of kazoo's `Counter`, as naming and
//! layout say ([`value`]). Their clients may count at the same node, by version as we do; they know of no marks and no
//! turns.

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
/// As long as changes come, one node of ours stands below the counter for each client. The client deletes that node within a
/// minute of its last change, a second after it if it has no handle on this counter any more, and when it closes.
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
        let seen = self.changes.node.read(&mut session.call(None).reading(), true).await;
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
