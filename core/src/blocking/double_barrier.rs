//! What is done inside a double barrier, blocking.

use super::DoubleBarrier;
use crate::drive::check_may_wait;
use crate::error::Result;

impl DoubleBarrier {
    /// Enters, does the work on this thread, and leaves. A panic of it gives the round up.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        check_may_wait()?;
        self.enter(None)?;
        let mut withdrawing = Withdrawing(Some(self));
        let outcome = work();
        withdrawing.0 = None;
        self.leave(None)?;
        Ok(outcome)
    }
}

struct Withdrawing<'a>(Option<&'a DoubleBarrier>);

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        let _ = self.0.map(DoubleBarrier::withdraw);
    }
}
