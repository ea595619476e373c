//! Catching up. A server may lag behind what another one has told us. A `sync` has it come as far as the leader, and one does
//! for everybody on the same connection: hundreds who follow something cost one.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::Shared;
use tokio::sync::oneshot;

use super::{Epoch, lock};
use crate::session::wire::{Flight, WireError};

/// The `sync` that left last.
#[derive(Default)]
pub(super) struct CatchingUp(Mutex<Option<Sent>>);

struct Sent {
    /// On which connection.
    generation: u64,
    answer: Shared<Flight<()>>,
}

impl Sent {
    fn is_refused(&self) -> bool {
        self.answer.peek().is_some_and(Result::is_err)
    }
}

impl Epoch {
    /// Resolves when the server has come as far as the leader was when this connection began, or further. If that is to be
    /// asked, it is now: what the caller asks next is answered behind it.
    pub(crate) fn catch_up(self: &Arc<Self>, path: &str) -> Flight<()> {
        let generation = self.link().generation;
        let mut last = lock(&self.catching_up.0);
        if let Some(sent) = last.as_ref().filter(|sent| sent.generation == generation && !sent.is_refused()) {
            return Box::pin(sent.answer.clone());
        }
        let (sync, (answer, answered)) = (self.sync(path), oneshot::channel());
        // In a task of its own: whoever waits for it may stop to.
        self.clock.spawn(Box::pin(async move {
            let _ = answer.send(sync.await);
        }));
        let answered: Flight<()> =
            Box::pin(async move { answered.await.unwrap_or(Err(WireError::ConnectionLoss)) });
        let answer = answered.shared();
        *last = Some(Sent { generation, answer: answer.clone() });
        Box::pin(answer)
    }
}
