//! Which node the parent of the items is. Ours stays, and says so by its data. Others make it as a container, which is collected
//! when it is empty: then there may be another one, whose numbers begin at 0 again, and a request that is on its way would
//! mean a later item of the same name. A transaction can check no more of a node than its data version. So before a consumer
//! reads items below a parent without data, or a put is taken back there, the client raises the version of that from 0 to a random one:
//! it writes no data, so many times, in one transaction. What it writes because of what it has read checks that version; a parent that was made again
//! has another one.
//!
//! Peers look at the children of that node, and not at its data.

use std::sync::Mutex;

use crate::error::Result;
use crate::mutex::lock;
use crate::session::call::Call;
use crate::session::random;
use crate::session::refusal::refusal;
use crate::session::wire::{Applied, Stat, WireError, Write};

/// The highest random version: of so many parents made again while a request is under way, one passes for the one before. To raise
/// the version takes as many parts of a transaction, 32 on average or 2 KB, once for each parent.
const HIGHEST: usize = 64;

pub(super) struct ItemsParent {
    path: String,
    known: Mutex<Option<KnownParent>>,
}

#[derive(Copy, Clone)]
struct KnownParent {
    /// What was last done to it: what was learned before is older.
    mzxid: i64,
    version: i32,
    /// Ours, or somebody else's who has written something.
    has_data: bool,
    /// We may not write it: nothing can be checked.
    is_denied: bool,
    /// A write was refused because of it.
    is_doubted: bool,
}

impl KnownParent {
    fn new(stat: &Stat) -> KnownParent {
        let (is_denied, is_doubted) = (false, false);
        let has_data = stat.data_length > 0;
        KnownParent { mzxid: stat.mzxid, version: stat.version, has_data, is_denied, is_doubted }
    }

    fn is_unmarked(&self) -> bool {
        self.version == 0 && !self.has_data && !self.is_denied
    }
}

/// That the parent of the items has that version.
pub(super) fn check(items: &str, version: i32) -> Write {
    Write::Check { path: items.to_owned(), version: Some(version) }
}

impl ItemsParent {
    pub(super) fn new(path: &str) -> ItemsParent {
        ItemsParent { path: path.to_owned(), known: Mutex::default() }
    }

    /// What some server has told of it.
    pub(super) fn learn(&self, stat: &Stat) {
        let mut known = lock(&self.known);
        if known.is_none_or(|known| known.mzxid < stat.mzxid) {
            *known = Some(KnownParent::new(stat));
        }
    }

    /// A write was refused because it has another version by now.
    pub(super) fn doubt(&self) {
        if let Some(known) = &mut *lock(&self.known) {
            known.is_doubted = true;
        }
    }

    fn deny(&self) {
        if let Some(known) = &mut *lock(&self.known) {
            known.is_denied = true;
        }
    }

    /// What checks that it is the same, if it can be checked; `None` while it is not known: see [`ItemsParent::settle`].
    pub(super) fn proof(&self) -> Option<Option<Write>> {
        let known = lock(&self.known).filter(|known| !known.is_doubted && !known.is_unmarked())?;
        Some((known.version != 0).then(|| check(&self.path, known.version)))
    }

    /// Gives it a version if it was found to have none.
    pub(super) async fn mark_if_unmarked(&self, call: &mut Call, verb: &str) -> Result<()> {
        if lock(&self.known).is_some_and(|known| known.is_unmarked() && !known.is_doubted) {
            self.settle(call, verb).await?;
        }
        Ok(())
    }

    /// Looks what it is, unless that is known, and gives it a version if it has none. False if there is no such node.
    pub(super) async fn settle(&self, call: &mut Call, verb: &str) -> Result<bool> {
        loop {
            let known = *lock(&self.known);
            match known {
                Some(known) if !known.is_doubted && !known.is_unmarked() => return Ok(true),
                Some(known) if !known.is_doubted => self.mark(call, verb).await?,
                _ => {
                    let synced = call.ask(verb, |server| server.sync(&self.path)).await;
                    synced.map_err(|failure| failure.about(verb, &self.path))?;
                    let found = call.ask(verb, |server| server.exists(&self.path)).await;
                    let found = found.map_err(|failure| failure.about(verb, &self.path))?;
                    *lock(&self.known) = found.as_ref().map(KnownParent::new);
                    if found.is_none() {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Where it was not done, it is looked at again.
    async fn mark(&self, call: &mut Call, verb: &str) -> Result<()> {
        let server_session = call.server_session(verb).await?;
        let write =
            |version| Write::Set { path: self.path.clone(), data: Vec::new(), version: Some(version) };
        let writes: Vec<_> = (0..=random::below(HIGHEST) as i32).map(write).collect();
        let marked = call.receive(verb, server_session.multi(&writes)).await?;
        match marked.map(|applied| applied.into_iter().next_back()) {
            Ok(Some(Applied::Set(stat))) => self.learn(&stat),
            Ok(_) => self.doubt(),
            Err(WireError::Part { error, .. }) if *error == WireError::NoAuth => self.deny(),
            // Somebody else was faster, or it is gone.
            Err(WireError::Part { .. }) => self.doubt(),
            Err(error) if error.is_unanswered() => {
                self.doubt();
                call.retry_after_loss(verb).await?;
            }
            Err(error) => return Err(refusal(error, verb, &self.path)),
        }
        Ok(())
    }
}
