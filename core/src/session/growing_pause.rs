//! The pause between one attempt and the next of what goes on in the background. Those of a call are in `call`.

use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;

/// Pauses that double as long as one attempt fails after the other.
pub(crate) struct GrowingPause {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl GrowingPause {
    pub(crate) fn new(first: Duration, longest: Duration) -> GrowingPause {
        GrowingPause { first, next: first, longest }
    }

    /// How long the next one is; the one after it is longer.
    pub(crate) fn next(&mut self) -> Duration {
        let next = self.next;
        self.next = (self.next * 2).min(self.longest);
        next
    }

    /// An attempt did not fail.
    pub(crate) fn restart(&mut self) {
        self.next = self.first;
    }

    pub(crate) async fn pass(&mut self, clock: &Arc<dyn Clock>) {
        let until = clock.now() + self.next();
        clock.sleep_until(until).await;
    }
}
