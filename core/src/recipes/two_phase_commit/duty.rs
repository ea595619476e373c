//! A coordinator's duty: what it has begun or taken over is decided, whether or not somebody waits for the outcome.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use super::Inner;
use super::layout::Layout;
use super::transaction::{Part, Transaction};
use crate::mutex::lock;
use crate::session::Session;

/// By nonce, what this coordinator sees to.
#[derive(Default)]
pub(super) struct Duties(Mutex<HashMap<String, Weak<Transaction>>>);

/// Somebody sees to it, until this is dropped.
struct Attending(Arc<Transaction>);

impl Drop for Attending {
    fn drop(&mut self) {
        self.0.is_attended.send_replace(false);
    }
}

impl Inner {
    /// Sees to it from now on that this transaction is decided: the commit when all votes are there, the abort when its time
    /// is over. Until then its coordinator is there, whoever still has a handle; the end of the client ends it.
    pub(super) fn attend(&self, transaction: &Arc<Transaction>) {
        let Ok(session) = self.client.session() else { return };
        if transaction.known.get().is_some() || transaction.is_attended.send_replace(true) {
            return;
        }
        let mut attended = lock(&self.duties.0);
        attended.retain(|_, transaction| transaction.strong_count() > 0);
        attended.insert(transaction.key.nonce.clone(), Arc::downgrade(transaction));
        drop(attended);
        let (attending, alive) = (Attending(transaction.clone()), self.alive.clone());
        let (layout, about) = (self.layout.clone(), session.clone());
        session.clock().spawn(Box::pin(async move {
            fulfil(&attending.0, &layout, &about).await;
            drop(attending);
            drop(alive);
        }));
    }

    /// The transaction of this nonce, if it is attended to.
    pub(super) fn attended(&self, nonce: &str) -> Option<Arc<Transaction>> {
        lock(&self.duties.0).get(nonce).and_then(Weak::upgrade)
    }
}

async fn fulfil(transaction: &Transaction, layout: &Layout, session: &Arc<Session>) {
    let mut call = session.call(None);
    call.insist();
    if let Err(error) = transaction.decided(layout, session, &mut call, Part::Duty).await {
        tracing::debug!(target: "zkrecipes", event = "transaction_unattended", id = transaction.key.id, %error, "whoever waits for the outcome of a transaction decides it now");
    }
}
