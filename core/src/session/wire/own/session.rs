//! What a session hands out: answers on their way, watches, and what is followed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use zkrecipes_protocol::{Op, Reader, Reply, Request};

use super::state::ConnectionState;
use super::{Answer, Channel, Connection, Watcher};
use crate::hosts;
use crate::session::clock::Moment;
use crate::session::wire::machine::{Letter, Wanted, WatchId, WatchSubject};
use crate::session::wire::{Event, Following, Watch, WireError};

/// A session as the recipes have it. Dropped, it ends.
pub(super) struct OwnSession<C: Channel> {
    pub(super) connection: Arc<Connection<C>>,
    pub(super) chroot: String,
    _ends: AtTheEnd<C>,
}

/// What the machine does when this is dropped, unless that is the child of a fork.
struct AtTheEnd<C: Channel> {
    connection: Arc<Connection<C>>,
    work: Option<Box<Ending<C>>>,
}

type Ending<C> = dyn FnOnce(&mut ConnectionState<C>, Moment) + Send + Sync;

impl<C: Channel> AtTheEnd<C> {
    fn of(connection: &Arc<Connection<C>>, work: Box<Ending<C>>) -> AtTheEnd<C> {
        AtTheEnd { connection: connection.clone(), work: Some(work) }
    }

    /// It does nothing any more.
    fn forget(mut self) {
        self.work = None;
    }
}

impl<C: Channel> Drop for AtTheEnd<C> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take()
            && self.connection.process.is_present()
        {
            self.connection.post(work);
        }
    }
}

/// An answer on its way. Nobody knows what became of a request that has none.
pub(super) struct Answered<C> {
    connection: Arc<Connection<C>>,
    op: Op,
    answered: oneshot::Receiver<Result<Vec<u8>, WireError>>,
}

impl<C: Channel> Future for Answered<C> {
    type Output = Result<Vec<u8>, WireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.answered).poll(context);
        if polled.is_pending() {
            C::is_awaited(&self.connection);
        }
        polled.map(|answer| answer.unwrap_or(Err(WireError::ConnectionLoss)))
    }
}

impl<C: Channel> Answered<C> {
    /// What `read` makes of the reply.
    pub(super) async fn read<T>(self, read: impl FnOnce(Reply<'_>) -> Option<T>) -> Result<T, WireError> {
        let op = self.op;
        let body = self.await?;
        // Nobody knows what became of a request whose answer cannot be read.
        let reply = Reply::read(op, &mut Reader::new(&body)).ok();
        reply.and_then(read).ok_or(WireError::ConnectionLoss)
    }
}

pub(super) fn send<C: Channel>(
    connection: &Arc<Connection<C>>,
    letter: Letter,
    watch: Option<Wanted<Watcher>>,
) -> Answered<C> {
    let op = letter.op();
    let (answer, answered): (Answer, _) = oneshot::channel();
    connection.post(move |state, now| state.machine.request(letter, answer, watch, now));
    Answered { connection: connection.clone(), op, answered }
}

impl<C: Channel> OwnSession<C> {
    pub(super) fn of(connection: &Arc<Connection<C>>, hosts: &str) -> OwnSession<C> {
        let chroot = hosts::chroot(hosts).to_owned();
        let _ends = AtTheEnd::of(connection, Box::new(|state, now| state.machine.close(now)));
        OwnSession { connection: connection.clone(), chroot, _ends }
    }

    /// Sends a request. Its answer is what `read` makes of the reply.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        request: &Request<'_>,
        read: impl FnOnce(Reply<'_>) -> Option<T> + Send + 'static,
    ) -> Pin<Box<dyn Future<Output = Result<T, WireError>> + Send>> {
        self.ask_on(None, request, read)
    }

    /// The same on the connection of this generation alone, if one is given.
    pub(super) fn ask_on<T: Send + 'static>(
        &self,
        generation: Option<u64>,
        request: &Request<'_>,
        read: impl FnOnce(Reply<'_>) -> Option<T> + Send + 'static,
    ) -> Pin<Box<dyn Future<Output = Result<T, WireError>> + Send>> {
        Box::pin(send(&self.connection, Letter::of(request).on(generation), None).read(read))
    }

    /// The same for a request that sets a watch.
    pub(super) fn ask_and_watch<T: Send + 'static>(
        &self,
        request: &Request<'_>,
        kind: WatchSubject,
        path: &str,
        read: impl FnOnce(Reply<'_>) -> Option<T> + Send + 'static,
    ) -> (impl Future<Output = Result<T, WireError>> + Send + 'static, Watch) {
        let (watcher, told) = oneshot::channel();
        let id = WatchId(self.connection.watches.fetch_add(1, Ordering::Relaxed));
        let answered =
            send(&self.connection, Letter::of(request), Some(Wanted::new(kind, path, id, watcher)));
        let path = path.to_owned();
        let unwatch =
            Box::new(move |state: &mut ConnectionState<C>, now| state.machine.unwatch(kind, &path, id, now));
        let unheard = AtTheEnd::of(&self.connection, unwatch);
        let event = async move {
            // Without a word: the session has ended, or the watch was never set.
            let event = told.await.unwrap_or(Event::SessionEnded);
            unheard.forget();
            event
        };
        (answered.read(read), Watch::new(Box::pin(event)))
    }

    pub(super) fn follow(&self, path: String) -> Option<Following> {
        let connection = self.connection.clone();
        if !connection.with(|state, now| state.machine.follow(&path, now)) {
            return None;
        }
        let followed = path.clone();
        let unfollow =
            Box::new(move |state: &mut ConnectionState<C>, now| state.machine.unfollow(&followed, now));
        let following = AtTheEnd::of(&connection, unfollow);
        Some(Box::new(move || {
            let (watcher, told) = oneshot::channel();
            let path = path.clone();
            following.connection.post(move |state, _| state.machine.hear(&path, watcher));
            Box::pin(
                async move { !matches!(told.await, Err(_) | Ok(Event::Unwatched | Event::SessionEnded)) },
            )
        }))
    }
}
