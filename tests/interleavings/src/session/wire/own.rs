//! As `core/src/session/wire/own/mod.rs`, with a socket that the play fills, and the kernel that it needs.

#[path = "../../../../../core/src/session/wire/own/connection.rs"]
mod connection;
#[path = "../../../../../core/src/session/wire/own/driving.rs"]
#[allow(unused_imports)]
#[rustfmt::skip]
mod driving;
#[path = "../../../../../core/src/session/wire/own/mail.rs"]
mod mail;
#[path = "../../../../../core/src/session/wire/own/reading.rs"]
mod reading;
#[path = "../../../../../core/src/session/wire/own/seen.rs"]
mod seen;
#[path = "../../stands/socket.rs"]
mod socket;
#[path = "../../../../../core/src/session/wire/own/state.rs"]
mod state;
#[path = "../../stands/kernel.rs"]
pub(crate) mod system;

mod stream {
    pub(super) use super::system::Stream;
}

mod trust {
    use crate::session::wire::Trouble;

    /// Nothing here is under TLS.
    pub(super) enum Trust {}

    impl Trust {
        pub(super) fn refused(&self, _error: &std::io::Error) -> Option<Trouble> {
            match *self {}
        }
    }
}

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::pending;
use shuttle::future::block_on;
use tokio::sync::oneshot;

pub(crate) use self::connection::{Channel, Connection, Due};
pub(crate) use self::driving::{Drives, Parker, Woken, has_room};
pub(crate) use self::socket::Socket;
use self::system::Stream;
use super::machine::{Answering, Machine};
use super::{Event, WireError};
use crate::session::NoClock;

type Answer = oneshot::Sender<Result<Vec<u8>, WireError>>;
type Watcher = oneshot::Sender<Event>;

impl Answering for Answer {}

/// One that no server has been found for yet.
pub(crate) fn connection<C: Channel>() -> Arc<Connection<C>> {
    Connection::of(Machine::new(), Arc::new(NoClock), Arc::default())
}

/// A connection that is up, and its socket.
pub(crate) fn connected() -> (Arc<Connection<Socket>>, Arc<Stream>) {
    let (connection, stream) = (connection(), Arc::new(Stream::new()));
    let attempt = connection.look().dial.expect("it wants to connect").0;
    connection.connected(attempt, Ok(Socket::new(attempt, stream.clone())));
    (connection, stream)
}

/// The answer to one request.
pub(crate) struct Asked<C> {
    connection: Arc<Connection<C>>,
    answered: oneshot::Receiver<Result<Vec<u8>, WireError>>,
}

/// Asks, and is answered with the same number.
pub(crate) fn ask<C: Channel>(connection: &Arc<Connection<C>>, number: u8) -> Asked<C> {
    let (answer, answered) = oneshot::channel();
    connection.post(move |state, _| state.machine.request(number, answer));
    Asked { connection: connection.clone(), answered }
}

impl<C: Channel> Future for Asked<C> {
    type Output = Result<Vec<u8>, WireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.answered).poll(context);
        if polled.is_pending() {
            C::is_awaited(&self.connection);
        }
        polled.map(|answer| answer.expect("it is answered"))
    }
}

/// The task that serves a session, on a thread of its own, until the session is over. With a watchdog it takes the socket away from
/// a thread that does not come to it.
pub(crate) fn serve(connection: &Connection<Socket>, stream: &Stream, has_watchdog: bool) {
    let (mut ready, mut is_due) = (None, false);
    loop {
        let looked = connection.try_look(|state, now| state.visit(ready, is_due, now));
        let Some((due, more, is_watched)) = looked else {
            block_on(connection.is_called());
            continue;
        };
        (ready, is_due) = (more, false);
        if due.is_over {
            return;
        }
        if ready.is_some() {
            shuttle::thread::yield_now();
            continue;
        }
        let is_late = async {
            match has_watchdog && is_watched {
                true => stream.until_unread().await,
                false => pending().await,
            }
        };
        let mut told = pin!(stream.until_told());
        let (mut called, mut is_late) = (pin!(connection.is_called()), pin!(is_late));
        let comes = std::future::poll_fn(|context| {
            if told.as_mut().poll(context).is_ready() {
                return Poll::Ready(Comes::Told);
            }
            if called.as_mut().poll(context).is_ready() {
                return Poll::Ready(Comes::Called);
            }
            is_late.as_mut().poll(context).map(|()| Comes::Late)
        });
        match block_on(comes) {
            Comes::Told => {
                crate::happened("the I/O thread was told");
                ready = Some(reading::Extent::UntilShort);
            }
            Comes::Called => {}
            Comes::Late => {
                crate::happened("the I/O thread was due");
                is_due = true;
            }
        }
    }
}

/// Why the task that serves a session comes.
enum Comes {
    Told,
    Called,
    Late,
}

/// Has `work` done under the lock of the connection.
pub(crate) fn post<C: Channel>(connection: &Connection<C>, work: impl FnOnce() + Send + 'static) {
    connection.post(move |_, _| work());
}

/// What the task that serves a session does that has nothing to read.
pub(crate) fn until_over<C: Channel>(connection: &Connection<C>) {
    loop {
        match connection.try_look(|state, now| state.look(now).is_over) {
            Some(true) => return,
            Some(false) => {}
            None => crate::happened("found the lock taken"),
        }
        block_on(connection.is_called());
    }
}

/// Whose connection it is, as is seen without the lock.
pub(crate) fn whose<C>(connection: &Connection<C>) -> (u64, u128) {
    (connection.seen.session_id(), connection.seen.session_timeout().as_nanos())
}
