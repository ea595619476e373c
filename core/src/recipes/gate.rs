//! The gate of a handle: acquires through one handle take place one after the other, in the order of the calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::OwnedMutexGuard;

use super::held::Held;
use crate::error::{Error, Result};
use crate::futures::unless;
use crate::session::Session;

/// How long an acquire waits for what its own handle keeps and nobody else has in hand before that is said.
const FORGOTTEN: Duration = Duration::from_secs(1);
/// The same if somebody has it in hand: it may well be released yet.
const LONG: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Gate {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Whether it has been said that an acquire waits for what the handle itself keeps.
    has_warned: AtomicBool,
}

/// The owner of this has passed the gate. The next one passes when this is dropped.
pub(super) type Pass = OwnedMutexGuard<()>;

impl Gate {
    /// Takes a place in the queue, when it is called, and says whether it has passed already. Without time to wait, a gate that
    /// is not open is a timeout.
    pub(super) fn queue(
        &self,
        limit: Option<Duration>,
    ) -> (bool, impl Future<Output = Result<Pass>> + Send + use<>) {
        let may_wait = limit != Some(Duration::ZERO);
        let mut turn = Box::pin(self.turn.clone().lock_owned());
        // The first poll takes the place in the queue, or the turn itself; tokio must not answer "later" to spread the load.
        let now = match may_wait {
            true => tokio::task::unconstrained(&mut turn).now_or_never(),
            false => self.pass_now(),
        };
        let has_passed = now.is_some();
        let passing = async move {
            match now {
                Some(pass) => Ok(pass),
                None if may_wait => Ok(turn.await),
                None => Err(Error::timeout("not acquired")),
            }
        };
        (has_passed, passing)
    }

    /// Without waiting, if it is open.
    pub(super) fn pass_now(&self) -> Option<Pass> {
        self.turn.clone().try_lock_owned().ok()
    }

    /// How many have passed it or wait.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        Arc::strong_count(&self.turn) - 1
    }

    /// Waits at the gate, and says so when that takes long because of what this very handle keeps: perhaps nobody will
    /// ever release it.
    pub(super) async fn pass<T>(
        &self,
        session: &Session,
        place: impl Future<Output = T>,
        kept: impl Fn() -> Option<Held>,
    ) -> T {
        let mut place = std::pin::pin!(place);
        if let Some(passed) = (&mut place).now_or_never() {
            return passed;
        }
        let mut waited = Duration::ZERO;
        for next in [FORGOTTEN, LONG] {
            let until = session.now() + (next - waited);
            if let Some(passed) = unless(&mut place, session.clock().sleep_until(until)).await {
                return passed;
            }
            waited = next;
            if kept().is_some_and(|kept| self.warn_of(&kept, waited)) {
                break;
            }
        }
        place.await
    }

    /// Says once that the handle keeps what others wait for. Sooner if nobody else has it in hand.
    fn warn_of(&self, kept: &Held, waited: Duration) -> bool {
        if (kept.is_only_kept() || waited >= LONG) && !self.has_warned.swap(true, Ordering::AcqRel) {
            tracing::warn!(
                target: "zkrecipes",
                event = "own_handle_waits",
                path = kept.path(),
                node = kept.node(),
                "an acquire has waited for {} s for its own handle, which holds already: a handle keeps what it acquired until \
                 that is released, even when the object that acquire returned is gone. Release it, or give every owner a \
                 handle of its own",
                waited.as_secs()
            );
        }
        self.has_warned.load(Ordering::Acquire)
    }
}
