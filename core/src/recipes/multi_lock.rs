//! Several locks as one: all or none.
//!
//! 1. Sort by path, so that no two multi-locks wait for each other.
//! 2. Queue for one after the other; whatever ends this early gives back what was won.
//! 3. Waiting took time, so one transaction checks at the end that every node still stands; if not, start again.

use std::sync::Arc;
use std::time::Duration;

use super::contenders::{self, Contender};
use super::handle::{Granted, Handle, Steps, forwards_to_held};
use super::held::Held;
use super::lock::Lock;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::wire::{WireError, Write};
use crate::turn;
use crate::turn::grant::Grant;
use crate::turn::name::Kind;
use crate::turn::place::Queue;

/// Several locks of one client that are acquired and released together. Losing one loses all.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::Client;
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let from = client.lock("/accounts/alice", Default::default())?;
/// let to = client.lock("/accounts/bob", Default::default())?;
/// let both = client.multi_lock(&[from, to])?;
/// let held = both.acquire().await?;
/// assert_eq!(held.fencing_tokens().len(), 2);
/// held.release().await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct MultiLock {
    handle: Arc<Handle>,
    paths: Arc<[String]>,
}

impl MultiLock {
    pub(crate) fn new(client: &Client, locks: &[Lock]) -> Result<MultiLock> {
        let mut paths: Vec<_> = locks.iter().map(|lock| lock.path().to_owned()).collect();
        paths.sort_unstable();
        if paths.is_empty() {
            return Err(Error::invalid("locks", "is empty; give at least one lock"));
        }
        if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid(
                "locks",
                format!("{} is there twice and would wait for itself", twice[0]),
            ));
        }
        if locks.iter().any(|lock| !lock.is_plain_of(client)) {
            return Err(Error::invalid(
                "locks",
                "all must be plain locks of this client: they share its session",
            ));
        }
        Ok(MultiLock {
            handle: Handle::new(client.clone(), &paths.join(" "), true, false),
            paths: paths.into(),
        })
    }

    /// The paths that are locked, in the order in which they are acquired and in which the tokens come.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Waits for all of them.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub fn acquire(&self) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.acquire_within(None)
    }

    /// Waits for all of them for at most `limit`; `None` for ever.
    pub fn acquire_within(
        &self,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.handle.acquire(limit, self.steps())
    }

    /// Takes all of them if all are free, or answers `None`.
    pub fn try_acquire(&self) -> impl Future<Output = Result<Option<Held>>> + Send + use<> {
        let attempt = self.acquire_within(Some(Duration::ZERO));
        async move {
            match attempt.await {
                Ok(held) => Ok(Some(held)),
                Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    /// For the faces; see [`Granted`].
    pub fn acquire_kept(
        &self,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Granted>> + Send + use<> {
        self.handle.acquire_kept(limit, self.steps())
    }

    fn steps(&self) -> Steps {
        let paths = self.paths.clone();
        Box::new(move |session, mut call| {
            Box::pin(async move { take_all(&session, &mut call, &paths).await })
        })
    }

    /// Who holds the locks and who waits for them, in the order of the paths; a contender's node is its whole path.
    pub async fn contenders(&self) -> Result<Vec<Contender>> {
        let mut call = self.handle.client.session()?.call(None);
        let mut all = Vec::new();
        for path in self.paths() {
            let found = contenders::of_lock(&mut call, path).await?.into_iter();
            all.extend(
                found.map(|contender| Contender { node: path::join(path, &contender.node), ..contender }),
            );
        }
        Ok(all)
    }

    /// Asks for the locks: the contender whose node is named, or whoever holds any of them. See [`Lock::revoke`].
    pub async fn revoke(&self, contender: Option<&str>, force_after: Option<Duration>) -> Result<bool> {
        let asked = match contender {
            Some(node) if self.paths.iter().any(|path| contenders::queues_under(path, node)) => {
                vec![node.to_owned()]
            }
            Some(node) => return Err(contenders::unknown(node)),
            None => contenders::holding(self.contenders().await?).collect(),
        };
        contenders::revoke(&self.handle, asked, force_after).await
    }
}

forwards_to_held!(MultiLock);

impl std::fmt::Debug for MultiLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MultiLock").field("paths", &self.paths).finish_non_exhaustive()
    }
}

async fn take_all(session: &Arc<Session>, call: &mut Call, paths: &[String]) -> Result<Grant> {
    let verb = "acquire";
    loop {
        let mut all: Option<Grant> = None;
        for path in paths {
            let naming = session.options().naming;
            let queue = Queue { session, path, kind: Kind::Lock, naming, verb };
            let next = turn::take(&queue, call).await?;
            all = match all {
                None => Some(next),
                Some(won) => won.join(next),
            };
            if all.is_none() {
                break;
            }
        }
        // The session ended while we waited for a later one: what was won before is gone.
        let Some(all) = all else { continue };
        if paths.len() == 1 {
            return Ok(all);
        }
        let checks: Vec<_> =
            all.nodes().map(|node| Write::Check { path: node.path.clone(), version: None }).collect();
        loop {
            match call.briefly(verb, all.epoch.multi(&checks)).await? {
                Ok(_) if all.epoch.is_firm() => return Ok(all),
                Ok(_) => call.until(verb, all.epoch.until_firm()).await?,
                // One of them is gone: from the start.
                Err(WireError::Part { .. } | WireError::SessionEnded) => break,
                Err(WireError::ConnectionLoss) => call.retry_after_loss(verb).await?,
                Err(error) => return Err(refusal(error, verb, "")),
            }
        }
    }
}
