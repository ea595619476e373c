//! Writes that are applied only while what is held stands, and waiting for them before the turn is passed on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Hold, Tenure};
use crate::error::{LostReason, Result};
use crate::session::call::refusal;
use crate::session::epoch::Tenant;
use crate::session::wire::{WireError, Write};

impl Hold {
    /// Applies `writes` in one transaction that the server refuses once our node is gone. A lost answer is never
    /// retried: the writes may have been applied.
    pub(crate) async fn write_guarded(self: &Arc<Self>, writes: &[Write]) -> Result<()> {
        if !self.is_held() {
            return Err(self.not_held());
        }
        let _writing = Writing::on(self);
        if self.tenure() != Tenure::Held {
            // Let go by another thread meanwhile: whoever counts what is being written has not counted this.
            return Err(self.not_held());
        }
        let mut guarded = self.checks();
        let own = guarded.len();
        guarded.extend_from_slice(writes);
        let mut call = self.session.call(None);
        match call.briefly("a guarded write", self.epoch.multi(&guarded)).await? {
            Ok(_) => Ok(()),
            Err(WireError::Part { index, error }) if index < own && *error == WireError::NoNode => {
                self.lose(LostReason::Deleted);
                Err(self.not_held())
            }
            Err(WireError::Part { index, error }) => {
                let path = writes.get(index.saturating_sub(own)).map_or(&*self.path, Write::path);
                Err(refusal(*error, "a guarded write", path))
            }
            Err(error) => Err(refusal(error, "a guarded write", &self.path)),
        }
    }

    /// Resolves when every guarded write is answered.
    pub(super) async fn until_written(&self) {
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            written.as_mut().enable();
            if self.writing.load(Ordering::Acquire) == 0 {
                return;
            }
            written.await;
        }
    }
}

/// A guarded write whose answer is still out.
struct Writing<'a>(&'a Hold);

impl Writing<'_> {
    fn on(hold: &Hold) -> Writing<'_> {
        hold.writing.fetch_add(1, Ordering::AcqRel);
        Writing(hold)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if self.0.writing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.written.notify_waiters();
        }
    }
}
