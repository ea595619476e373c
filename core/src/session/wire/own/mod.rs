//! Sessions over our own client: `Machine` knows the protocol, and this drives it over whatever carries bytes: sockets, of
//! which `serving` knows, or a simulated network.
//!
//! Whoever asks hands the request to the channel on its own thread, under the lock of the machine; inside it there is only
//! I/O that does not block, and parsing. If somebody else is in there, they hand it over: nobody who asks waits for the lock.
//! Who reads is said in `driving`: a thread that waits for its answer, or else a task on the I/O thread, which keeps pings
//! and connects, too. Answers are handed over outside the lock.

mod connection;
#[cfg(target_os = "linux")]
mod driving;
mod mail;
mod reading;
mod requests;
mod seen;
mod serving;
mod session;
mod socket;
mod state;
#[cfg_attr(not(target_os = "linux"), path = "stream_elsewhere.rs")]
mod stream;
#[cfg(target_os = "linux")]
mod system;
mod trust;

use std::sync::Arc;

use tokio::sync::oneshot;

pub use self::connection::{Channel, Connection, Due};
#[cfg(target_os = "linux")]
pub(crate) use self::driving::{Drives, Parker, Woken, forget_wakeups, has_room};
use self::session::OwnSession;
use self::socket::Socket;
use self::trust::Trust;
use super::machine::{Answering, Machine};
use super::open::Entry;
use super::{Dial, Event, Flight, LinkState, Noted, SessionIdentity, Wire, WireError};
use crate::error::Result;
use crate::hosts;
use crate::metrics::Counters;
use crate::options::ClientOptions;
use crate::runtime::{self, Later};
use crate::session::clock::Clock;
use crate::session::system_clock::SystemClock;

type Answer = oneshot::Sender<Result<Vec<u8>, WireError>>;
type Watcher = oneshot::Sender<Event>;

impl Answering for Answer {
    fn is_forsaken(&self) -> bool {
        self.is_closed()
    }
}

/// Opens sessions.
pub(crate) struct Own {
    pub(crate) counters: Arc<Counters>,
}

impl Dial for Own {
    fn dial(&self, hosts: &str, options: &ClientOptions, noted: &Arc<Noted>) -> Flight<Box<dyn Wire>> {
        let connection = Connection::new(hosts, options, Arc::new(SystemClock), noted.clone());
        let opened = connection.opened(hosts);
        match self.serve(connection, options) {
            Ok(()) => opened,
            Err(error) => Box::pin(std::future::ready(Err(WireError::Refused(error)))),
        }
    }

    fn close_outliving(
        &self,
        hosts: &str,
        options: &ClientOptions,
        session: SessionIdentity,
        near: Option<String>,
    ) -> Later<()> {
        let connection = Connection::closing(hosts, options, Arc::new(SystemClock), session, near.as_deref());
        let over = connection.over();
        match self.serve(connection, options) {
            Ok(()) => over,
            // Then no new session can be had, either.
            Err(_) => Box::pin(std::future::ready(())),
        }
    }
}

impl Own {
    fn serve(&self, connection: Arc<Connection<Socket>>, options: &ClientOptions) -> Result<()> {
        let trust = options.tls.as_ref().map(Trust::new).transpose()?.map(Arc::new);
        let serving = serving::serve(connection, trust, Entry::new(), self.counters.clone());
        runtime::spawn(Box::pin(serving));
        Ok(())
    }
}

/// For the task that serves the session.
impl<C: Channel> Connection<C> {
    /// A session that is to be had of these servers, on a clock that counts suspension. What each attempt to connect comes to
    /// is noted.
    pub fn new(
        hosts: &str,
        options: &ClientOptions,
        clock: Arc<dyn Clock>,
        noted: Arc<Noted>,
    ) -> Arc<Connection<C>> {
        let machine = Machine::new(hosts::servers(hosts), options.clone(), noted.clone(), clock.now());
        Connection::of(machine, clock, noted)
    }

    /// Only to close a session that a client has given up, at the server `near` first.
    pub fn closing(
        hosts: &str,
        options: &ClientOptions,
        clock: Arc<dyn Clock>,
        session: SessionIdentity,
        near: Option<&str>,
    ) -> Arc<Connection<C>> {
        let machine = Machine::closing(hosts::servers(hosts), options.clone(), session, near, clock.now());
        Connection::of(machine, clock, Arc::default())
    }

    /// The session, once it is there. Dropped before, it ends what may have begun.
    pub fn opened(self: &Arc<Self>, hosts: &str) -> Flight<Box<dyn Wire>> {
        let session = OwnSession::of(self, hosts);
        Box::pin(async move {
            session.connection.until_settled().await;
            match session.connection.link().state {
                LinkState::Up => {}
                LinkState::Denied => {
                    let refusal = session.connection.noted.refusal();
                    return Err(refusal.map_or(WireError::AuthFailed, WireError::Refused));
                }
                LinkState::Down | LinkState::Ended | LinkState::Unheard => {
                    return Err(WireError::ConnectionLoss);
                }
            }
            Ok(Box::new(session) as Box<dyn Wire>)
        })
    }

    /// Resolves when the session has ended.
    pub fn over(self: &Arc<Self>) -> Later<()> {
        let connection = self.clone();
        Box::pin(async move { connection.until(|link| link.state.is_over()).await })
    }

    /// Until there is a session, or there will be none. Meanwhile it has no pause where somebody has no time for that.
    async fn until_settled(&self) {
        let mut settled = std::pin::pin!(self.until(|link| link.state != LinkState::Down));
        loop {
            tokio::select! {
                biased;
                () = &mut settled => return,
                () = self.noted.is_session_wanted() => {
                    self.post(|state, now| state.machine.attempt_now(now));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake};
    use std::time::Duration;

    use futures_util::FutureExt;
    use zkrecipes_protocol::Welcome;

    use super::*;
    use crate::options::{RetryOptions, SaslOptions};
    use crate::session::system_clock::SystemClock;

    /// A socket whose other end is gone, or whose buffer is full.
    struct Stuck {
        attempt: u64,
        is_broken: bool,
    }

    impl Channel for Stuck {
        fn attempt(&self) -> u64 {
            self.attempt
        }

        fn send(&mut self, _: &mut Vec<u8>) -> io::Result<bool> {
            if self.is_broken { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(false) }
        }
    }

    /// Says whether the lock is free when it is called.
    struct Looks(Arc<Connection<Stuck>>, AtomicBool);

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.1.store(self.0.try_lock().is_some(), Ordering::SeqCst);
        }
    }

    #[test]
    fn who_is_woken_may_ask_at_once() {
        let clock = Arc::new(SystemClock);
        let connection =
            Connection::<Stuck>::new("zk.example.org", &ClientOptions::default(), clock, Arc::default());
        let looks = Arc::new(Looks(connection.clone(), AtomicBool::new(false)));
        let session = OwnSession::of(&connection, "");
        let mut flight = session.exists("/");
        assert!(flight.as_mut().poll(&mut Context::from_waker(&looks.clone().into())).is_pending());
        connection.give_up();
        assert!(looks.1.load(Ordering::SeqCst), "woken while the lock was taken, or not at all");
        assert_eq!(flight.now_or_never(), Some(Err(WireError::SessionEnded)));
    }

    /// A lease that was counted from a later one would outlast the session.
    #[test]
    fn a_session_was_asked_for_by_the_hello_that_was_answered() {
        let retry = RetryOptions::default().base(Duration::ZERO).max(Duration::ZERO);
        // It has a session before it is up: first it proves who it is.
        let options = ClientOptions::default().retry(retry).sasl(SaslOptions::new("user", "hunter2"));
        let clock = Arc::new(SystemClock);
        let connection = Connection::new("zk.example.org", &options, clock, Arc::default());
        let mut asked = Vec::new();
        for is_answered in [false, true, false] {
            let mut looks = std::iter::repeat_with(|| connection.look());
            let (attempt, _) = looks.find_map(|due| due.dial).expect("it wants to connect");
            connection.connected(attempt, Ok(Stuck { attempt, is_broken: false }));
            asked.push(connection.lock().asked);
            if is_answered {
                let granted = Welcome { timeout: 10_000, session: 7, password: &[3; 16], read_only: None };
                connection.received(attempt, &granted.frame());
            }
            connection.hung_up(attempt, "it breaks");
        }
        assert!(asked[0] < asked[1], "the first hello was not answered");
        assert_eq!(asked[1], asked[2], "the last one was for the same session");
    }

    #[test]
    fn what_cannot_be_sent_keeps_nobody_busy() {
        for is_broken in [true, false] {
            let clock = Arc::new(SystemClock);
            let connection =
                Connection::new("zk.example.org", &ClientOptions::default(), clock, Arc::default());
            let (attempt, _) = connection.look().dial.expect("it wants to connect");
            connection.connected(attempt, Ok(Stuck { attempt, is_broken }));
            // For the new connection, once.
            connection.is_called().now_or_never();
            assert_eq!(connection.look().is_blocked, !is_broken);
            assert!(connection.is_called().now_or_never().is_none(), "it looks again and again");
        }
    }
}
