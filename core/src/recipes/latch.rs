//! A latch: closed until it was counted down to nothing, and open from then on.
//!
//! ```text
//! /latches/imports                     how many are left, and how often it was opened: "latch 2 0"; persistent
//!     _c_GUID-change, _c_GUID-lock-…    marks and turns of those who count down, as of a counter
//! ```
//!
//! 1. Counting down, and resetting, are changes of a [counter](super::counter): one transaction, made once, also when its
//!    answer gets lost. Who counts down an open latch changes nothing. A latch whose node is missing has what the handle was
//!    made with; the first change creates it.
//! 2. Waiting begins with a look that is no older than the call, and goes on as a watch on the node. Who has seen it closed
//!    goes on when nothing is left, and also when it was opened since and has been reset: that is why the node says how often
//!    it was opened. If somebody deletes the node, nobody can know whether it was opened before: those who wait get NoNode.
//! 3. Nobody owns a count: who dies after counting down has counted down, and who dies before has not.

use std::fmt;
use std::time::Duration;

use super::counter::attempt::{Change, ChangeOutcome};
use super::counter::latch_value::{LatchValue, MOST};
use super::counter::pending_changes::{ChangesHandle, CountersOfClient};
use super::counter::value::Encoding;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::call::Call;
use crate::session::watching::Data;

impl Client {
    /// A handle on the latch at `path`, which has to be counted down `count` times, at least once. Who counts first decides: a
    /// latch that is there keeps what is left of it. Does no I/O.
    pub fn latch(&self, path: &str, count: usize) -> Result<Latch> {
        let session = self.session_for_handle()?;
        path::recipe(path)?;
        let encoding = Encoding::Latch(checked("count", count)?);
        let changes = session.extensions.of::<CountersOfClient>().of(path, encoding);
        Ok(Latch { client: self.clone(), changes })
    }
}

/// Closed until it was counted down as often as it says, by whomever: `client.latch(path, count)`. Clones are the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let imports = client.latch("/latches/imports", 2)?;
/// assert_eq!(imports.count_down(1).await?, 1);
/// assert_eq!(imports.count_down(1).await?, 0);
/// imports.wait(None).await?; // it is open, and stays so
/// imports.reset(5).await?;
/// assert_eq!(imports.remaining().await?, 5);
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Latch {
    client: Client,
    changes: ChangesHandle,
}

impl Latch {
    const WAIT: &'static str = "wait";

    /// The path of the latch.
    pub fn path(&self) -> &str {
        &self.changes.node.path
    }

    /// Counts it down by `n`, at least 1, and answers how much is left; 0 is open. It is counted down exactly once, also when the
    /// answer gets lost; ConnectionLost where that cannot be known any more.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws it unless it is on its way already.
    pub async fn count_down(&self, n: usize) -> Result<usize> {
        self.change("n", n, Change::CountDown).await
    }

    /// Sets how much is left to `count`, at least 1: it is closed. Who waits for it goes on waiting.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws it unless it is on its way already.
    pub async fn reset(&self, count: usize) -> Result<()> {
        self.change("count", count, Change::Reset).await.map(drop)
    }

    /// How much is left until it is open, no older than this call.
    pub async fn remaining(&self) -> Result<usize> {
        let session = self.client.session()?;
        let seen = self
            .read(&mut session.call(None).reading())
            .await
            .map_err(|error| error.with_path(self.path()))?;
        Ok(seen.0.remaining as usize)
    }

    /// Waits until it is open, at once if it is; Timeout after `limit`, which says how much is left, NoNode if somebody deletes it
    /// meanwhile. Waits through outages and into the next session. Who has seen it closed when it is opened goes on, also if it is
    /// reset at once.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let session = self.client.session()?;
        let mut call = session.wait(limit).timeout_says(NOT_OPENED).reading().waiting();
        let mut left = 0;
        self.until_open(&mut call, &mut left).await.map_err(|error| match error.kind() {
            ErrorKind::Timeout if left > 0 => {
                error.because(format!("it is to be counted down by {left} more")).with_path(self.path())
            }
            _ => error.with_path(self.path()),
        })
    }

    async fn until_open(&self, call: &mut Call, left: &mut u32) -> Result<()> {
        let (began, node) = self.read(call).await?;
        if began.remaining == 0 {
            return Ok(());
        }
        *left = began.remaining;
        if call.is_single_attempt() {
            return Err(Error::timeout(NOT_OPENED));
        }
        let (mut opened, mut node) = (began.opened, node);
        let mut watching = call.session().watch_node(Latch::WAIT, self.path()).current();
        loop {
            let Data(found) = call.wait_for(watching.next()).await??;
            let now = found.as_ref().map(|(_, stat)| stat.czxid);
            if node.is_none() {
                // The first change has made it.
                (node, opened) = (now, 0);
            } else if node != now {
                return Err(Error::new(ErrorKind::NoNode, DELETED));
            }
            let data = found.map(|(data, _)| data).unwrap_or_default();
            let seen = LatchValue::of(self.changes.node.encoding.decode(&data)?);
            if seen.remaining == 0 || seen.opened != opened {
                return Ok(());
            }
            *left = seen.remaining;
        }
    }

    /// What it says, and when its node was made, if it is there.
    async fn read(&self, call: &mut Call) -> Result<(LatchValue, Option<i64>)> {
        let seen = self.changes.node.read(call, true).await?;
        Ok((LatchValue::of(seen.value), seen.at.map(|at| at.czxid)))
    }

    async fn change(&self, argument: &str, n: usize, change: impl FnOnce(u32) -> Change) -> Result<usize> {
        let changed = async {
            let change = change(checked(argument, n)?);
            match self.changes.change(self.client.session()?, change).await? {
                ChangeOutcome::Value(value) => Ok(LatchValue::of(value).remaining as usize),
                other => Err(Error::new(ErrorKind::Internal, format!("a latch was changed to {other:?}"))),
            }
        };
        changed.await.map_err(|error: Error| error.with_path(self.path()))
    }
}

const NOT_OPENED: &str = "the latch was not opened";
const DELETED: &str = "the latch was deleted while it was waited for, and nobody can know whether it was opened before; wait again \
                       for what is there now";

fn checked(argument: &str, n: usize) -> Result<u32> {
    match u32::try_from(n) {
        Ok(n @ 1..=MOST) => Ok(n),
        _ => Err(Error::invalid(argument, format!("{n} is not between 1 and {MOST}"))),
    }
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch").field("path", &self.path()).finish_non_exhaustive()
    }
}
