//! What logs and metrics hear of an acquire: how long it waited, and for whom. A recipe does nothing for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::contenders::Contender;
use super::handle::Recipe;
use crate::error::{Error, ErrorKind};
use crate::log;
use crate::session::clock::Moment;
use crate::session::{Session, unless};
use crate::turn::hold::Hold;

/// A wait is told of when it has lasted so long, and again each time as much has passed. Tests have less time.
static LONG_MS: AtomicU64 = AtomicU64::new(60_000);

/// For tests: when a wait is long.
pub fn tell_waits_after(long: Duration) {
    LONG_MS.store(long.as_millis() as u64, Ordering::Relaxed);
}

/// One acquire, from its call to its end. One that is dropped before was withdrawn.
pub(super) struct Waiting {
    session: Arc<Session>,
    began: Moment,
    is_long: bool,
    is_over: bool,
}

impl Waiting {
    pub(super) fn begin(session: &Arc<Session>) -> Waiting {
        session.counters.waiting.rise();
        Waiting { session: session.clone(), began: session.now(), is_long: false, is_over: false }
    }

    /// Runs `taking`, and tells who holds what it waits for when that takes long.
    pub(super) async fn through<T>(
        &mut self,
        path: &str,
        recipe: &Arc<dyn Recipe>,
        taking: impl Future<Output = T>,
    ) -> T {
        let mut taking = std::pin::pin!(taking);
        let long = Duration::from_millis(LONG_MS.load(Ordering::Relaxed));
        let mut next = self.began + long;
        loop {
            let clock = self.session.clock().clone();
            if let Some(taken) = unless(&mut taking, clock.sleep_until(next)).await {
                return taken;
            }
            next = next + long;
            self.is_long = true;
            self.tell(path, recipe.clone());
        }
    }

    /// The wait goes on meanwhile.
    fn tell(&self, path: &str, recipe: Arc<dyn Recipe>) {
        let (path, waited) = (path.to_owned(), self.session.now().since(self.began));
        let call = self.session.call(Some(Duration::from_secs(5)));
        self.session.clock().spawn(Box::pin(async move {
            let word = recipe.word();
            let holder = recipe.holder(call).await.ok().flatten();
            let holder =
                holder.map(|Contender { identity, node, since, .. }| log::Holder { identity, node, since });
            log::waiting_long(&path, word, waited, holder);
        }));
    }

    /// It nests in what was acquired before, which is no acquisition of its own.
    pub(super) fn nests(mut self) {
        self.is_over = true;
    }

    pub(super) fn fails(mut self, error: &Error) {
        self.is_over = true;
        let counters = &self.session.counters;
        match error.kind() {
            ErrorKind::Timeout => counters.timeouts.one(),
            ErrorKind::Cancelled => counters.cancellations.one(),
            _ => counters.failures.one(),
        }
    }

    pub(super) fn succeeds(mut self, hold: &Hold) {
        self.is_over = true;
        let counters = &self.session.counters;
        let waited = self.session.now().since(self.began);
        counters.acquisitions.one();
        counters.waits.record(waited);
        if hold.passes() > 0 {
            counters.local_hand_offs.one();
        }
        log::acquired(|| hold.tenancy(), waited, self.is_long);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.session.counters.waiting.fall();
        if !self.is_over {
            self.session.counters.cancellations.one();
        }
    }
}
