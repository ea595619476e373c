//! The gate of a handle: acquires through one handle take place one after the other, in the order of the calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::OwnedMutexGuard;

use super::held::Held;
use crate::futures::unless;
use crate::session::Session;
use crate::session::clock::Later;

/// How long an acquire waits for what its own handle keeps and nobody else has in hand before that is said.
const FORGOTTEN: Duration = Duration::from_secs(1);
/// The same if somebody has it in hand: it may well be released yet.
const LONG: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Gate {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Whether it has been said that an acquire waits for what the handle itself keeps.
    has_warned: AtomicBool,
}

/// The owner of this has passed the gate. The next one passes when this is dropped.
pub(super) type Pass = OwnedMutexGuard<()>;

/// How an acquire stands at the gate.
pub(super) enum PlaceAtGate {
    Passed(Pass),
    Waits(Later<Pass>),
    /// It had no time to wait, or is not at the gate any more.
    Refused,
}

impl Gate {
    /// Takes a place in the queue, when it is called. Without time to wait, there is none at a gate that is not open.
    pub(super) fn queue(&self, limit: Option<Duration>) -> PlaceAtGate {
        // As a rule nobody else is here. It is a fair lock: while anybody waits for it, it is not to be had so.
        if let Some(pass) = self.pass_now() {
            return PlaceAtGate::Passed(pass);
        }
        if limit == Some(Duration::ZERO) {
            return PlaceAtGate::Refused;
        }
        let mut turn = Box::pin(self.turn.clone().lock_owned());
        // The first poll takes the place in the queue; tokio must not answer "later" to spread the load.
        match tokio::task::unconstrained(&mut turn).now_or_never() {
            Some(pass) => PlaceAtGate::Passed(pass),
            None => PlaceAtGate::Waits(turn),
        }
    }

    /// Without waiting, if it is open.
    pub(super) fn pass_now(&self) -> Option<Pass> {
        self.turn.clone().try_lock_owned().ok()
    }

    pub(super) fn turn(&self) -> impl Future<Output = Pass> + use<> {
        self.turn.clone().lock_owned()
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
