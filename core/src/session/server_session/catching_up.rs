//! Catching up. A server may lag behind what another one has told us. A `sync` has it come as far as the leader, and one does
//! for everybody on the same connection: hundreds who follow something cost one. Only what is told first to a follower must be
//! as of its beginning: that takes a `sync` of its own.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::Shared;
use tokio::sync::oneshot;

use super::ServerSession;
use crate::mutex::lock;
use crate::session::wire::{Flight, WireError};

/// The `sync` that left last.
#[derive(Default)]
pub(super) struct CatchingUp(Mutex<Option<Sent>>);

/// A `sync`, and where it was sent.
struct Sent {
    session_id: u64,
    /// On which connection.
    generation: u64,
    answer: Shared<Flight<()>>,
}

impl Sent {
    fn is_refused(&self) -> bool {
        self.answer.peek().is_some_and(Result::is_err)
    }

    fn is_on(&self, server_session: &ServerSession, generation: u64) -> bool {
        self.session_id == server_session.session_id() && self.generation == generation
    }
}

impl ServerSession {
    /// Resolves when the server has come as far as the leader was when this connection began, or further. If that is to be
    /// asked, it is now: what the caller asks next is answered behind it.
    pub(crate) fn catch_up(self: &Arc<Self>, path: &str) -> Flight<()> {
        let generation = self.link().generation;
        let mut last = lock(&self.catching_up.0);
        if let Some(sent) = last.as_ref().filter(|sent| sent.generation == generation && !sent.is_refused()) {
            return Box::pin(sent.answer.clone());
        }
        let sent = self.send_sync(path, generation);
        let answer = sent.answer.clone();
        *last = Some(sent);
        Box::pin(answer)
    }

    fn send_sync(self: &Arc<Self>, path: &str, generation: u64) -> Sent {
        let (sync, (answer, answered)) = (self.sync(path), oneshot::channel());
        // In a task of its own: whoever waits for it may stop to.
        self.clock.spawn(Box::pin(async move {
            let _ = answer.send(sync.await);
        }));
        let answered: Flight<()> =
            Box::pin(async move { answered.await.unwrap_or(Err(WireError::ConnectionLoss)) });
        Sent { session_id: self.session_id(), generation, answer: answered.shared() }
    }
}

/// When a follower began. What it is told first is no older, wherever it is read, and however many nodes that takes.
#[derive(Default)]
pub(crate) struct Beginning(Mutex<Option<Sent>>);

impl Beginning {
    /// A `sync` that somebody else sent on that connection was answered: from now on it is as if the beginning were then.
    pub(crate) fn has_come(&self, server_session: &ServerSession, generation: u64) {
        let answer: Flight<()> = Box::pin(std::future::ready(Ok(())));
        *lock(&self.0) =
            Some(Sent { session_id: server_session.session_id(), generation, answer: answer.shared() });
    }

    /// Resolves when the server has come as far as the leader was at the beginning. What the caller asks next is answered behind
    /// it.
    pub(crate) fn behind(&self, server_session: &Arc<ServerSession>, path: &str) -> Flight<()> {
        let generation = server_session.link().generation;
        let mut begun = lock(&self.0);
        match &*begun {
            Some(sent) if !sent.is_on(server_session, generation) => {
                drop(begun);
                // This connection was made later.
                server_session.catch_up(path)
            }
            Some(sent) if !sent.is_refused() => Box::pin(sent.answer.clone()),
            _ => {
                let sent = server_session.send_sync(path, generation);
                let answer = sent.answer.clone();
                *begun = Some(sent);
                Box::pin(answer)
            }
        }
    }
}
