//! Several locks as one: all or none.
//!
//! 1. Sort by path, so that no two multi-locks wait for each other.
//! 2. Queue for one after the other; whatever ends this early gives back what was won.
//! 3. Waiting took time, so one transaction checks at the end that every node still stands; if not, start again.

use std::ops::Deref;
use std::sync::Arc;

use super::contenders::{self, Contender, SeenContender};
use super::handle::{Handle, Meanwhile, Recipe, TakingTurn};
use super::lock::Lock;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::refusal::refusal;
use crate::session::wire::WireError;
use crate::turn;
use crate::turn::grant::Grant;
use crate::turn::name::Kind;
use crate::turn::place::TurnRequest;

/// Several locks of one client that are acquired and released together. Losing one loses all. Its verbs are those of every
/// [`Handle`].
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
#[derive(Clone, Debug)]
pub struct MultiLock {
    handle: Handle,
    paths: Arc<[String]>,
}

impl Deref for MultiLock {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Client {
    /// Several locks of this client as one: all or none. Does no I/O.
    pub fn multi_lock(&self, locks: &[Lock]) -> Result<MultiLock> {
        self.session_for_handle()?;
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
        if locks.iter().any(|lock| !lock.is_plain_of(self)) {
            return Err(Error::invalid(
                "locks",
                "all must be plain locks of this client: they share its session",
            ));
        }
        let place = paths.join(" ");
        let paths: Arc<[String]> = paths.into();
        let all = Arc::new(All { paths: paths.clone() });
        Ok(MultiLock { handle: Handle::new(self, place, Meanwhile::Waits, all), paths })
    }
}

impl MultiLock {
    /// The paths that are locked, in the order in which they are acquired and in which the tokens come.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The fencing tokens of what this handle holds, in the order of [`MultiLock::paths`].
    pub fn fencing_tokens(&self) -> Result<Vec<u64>> {
        self.held()?.current_tokens()
    }
}

struct All {
    paths: Arc<[String]>,
}

impl Recipe for All {
    fn word(&self) -> &'static str {
        "multi-lock of"
    }

    fn take<'a>(self: Arc<Self>, session: Arc<Session>, call: &'a mut Call, _: usize) -> TakingTurn<'a> {
        Box::pin(async move { take_all(&session, call, &self.paths).await })
    }

    /// In the order of the paths; a contender's node is its whole path.
    fn contenders(self: Arc<Self>, mut call: Call) -> Later<Result<Vec<Contender>>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for path in &*self.paths {
                let found = contenders::of_lock(&mut call, path).await?.into_iter();
                let whole = |one: Contender| Contender { node: path::join(path, &one.node), ..one };
                all.extend(found.map(whole));
            }
            Ok(all)
        })
    }

    fn seen(&self, parent: &str, first: SeenContender) -> Contender {
        let one = first.contender(true);
        Contender { node: path::join(parent, &one.node), ..one }
    }

    fn locate(&self, node: &str) -> Option<String> {
        let is_one = self.paths.iter().any(|path| contenders::queues_under(path, node, Kind::Lock));
        is_one.then(|| node.to_owned())
    }
}

async fn take_all(session: &Arc<Session>, call: &mut Call, paths: &[String]) -> Result<Grant> {
    let verb = "acquire";
    loop {
        let mut all: Option<Grant> = None;
        for path in paths {
            let queue = TurnRequest { passes: true, ..TurnRequest::of(session, path, Kind::Lock) };
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
        let began = session.now();
        loop {
            match call.receive(verb, all.server_session.check(all.checks())).await? {
                Ok(_) if all.server_session.is_firm_enough(began) => return Ok(all),
                Ok(_) => call.until(verb, all.server_session.until_firm_or_soon()).await?,
                // One of them is gone: from the start.
                Err(WireError::Part { .. } | WireError::SessionEnded) => break,
                Err(WireError::ConnectionLoss) => call.retry_after_loss(verb).await?,
                Err(error) => return Err(refusal(error, verb, "")),
            }
        }
    }
}
