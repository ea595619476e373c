//! Answers come in the order in which the requests were sent: an answer comes after those to all earlier requests, so
//! what was read earlier is never taken for newer. One task of the session waits for them, one after the other, as the
//! server gives them.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::process::Process;
use crate::runtime::{self, Later};

/// The requests that wait for their answers.
pub(super) struct Order {
    /// `None` once it is dropped in a forked child.
    sent: Option<UnboundedSender<Later<()>>>,
    process: Process,
}

impl Order {
    pub(super) fn new() -> Order {
        let (sent, mut waiting) = unbounded_channel::<Later<()>>();
        runtime::spawn(Box::pin(async move {
            while let Some(answered) = waiting.recv().await {
                // One that panics must not keep the others from their answers.
                let _ = AssertUnwindSafe(answered).catch_unwind().await;
            }
        }));
        Order { sent: Some(sent), process: Process::present() }
    }

    /// Waits for `answered` when all before it have been answered.
    pub(super) fn add(&self, answered: Later<()>) {
        if let Some(sent) = &self.sent {
            let _ = sent.send(answered);
        }
    }
}

impl Drop for Order {
    fn drop(&mut self) {
        if !self.process.is_present() {
            // A forked child: the task that would be told stayed with the parent.
            std::mem::forget(self.sent.take());
        }
    }
}
