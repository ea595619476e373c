//! As `core/src/session/mod.rs`, with a session of which there is only what these parts ask.

use std::sync::Arc;

#[path = "../../../core/src/session/clock.rs"]
pub(crate) mod clock;
#[path = "../../../core/src/session/contenders_ahead.rs"]
pub(crate) mod contenders_ahead;
#[path = "../../../core/src/session/delivery.rs"]
pub(crate) mod delivery;
#[path = "../../../core/src/session/extensions.rs"]
mod extensions;
#[path = "../../../core/src/session/flag.rs"]
pub(crate) mod flag;
#[path = "../../../core/src/session/pending_callbacks.rs"]
pub(crate) mod pending_callbacks;
#[path = "../../../core/src/session/random.rs"]
pub(crate) mod random;
#[path = "../../../core/src/session/waiting_calls.rs"]
mod waiting_calls;
pub(crate) mod wire;
#[path = "../../../core/src/session/withdrawal.rs"]
pub(crate) mod withdrawal;

use clock::{Clock, Later, Moment};
use extensions::Extensions;
use server_session::ServerSession;
use waiting_calls::{WaitingCall, WaitingCalls};

pub(crate) struct Session {
    pub(crate) extensions: Extensions,
    waiting_calls: WaitingCalls,
    server_session: Arc<ServerSession>,
    clock: Arc<dyn Clock>,
}

impl Session {
    pub(crate) fn new() -> Arc<Session> {
        let (extensions, waiting_calls) = (Extensions::default(), WaitingCalls::default());
        let server_session = ServerSession::new();
        Arc::new(Session { extensions, waiting_calls, server_session, clock: Arc::new(NoClock) })
    }

    pub(crate) fn server_session(&self) -> Arc<ServerSession> {
        self.server_session.clone()
    }

    pub(crate) fn identity(&self) -> &str {
        "a client"
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Time stands still.
    pub(crate) async fn until_stuck(self: Arc<Self>) {
        std::future::pending().await
    }
}

/// It stands still, so nobody is helped by a time that is over.
pub(crate) struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Moment {
        Moment(1)
    }

    fn sleep_until(&self, _at: Moment) -> Later<()> {
        Box::pin(std::future::pending())
    }

    fn spawn(&self, task: Later<()>) {
        crate::runtime::spawn(task);
    }

    fn alarm(&self, _at: Moment, _alarm: Box<dyn FnOnce() + Send>) {}
}

/// A call that waits at a path, for the plays of that.
pub(crate) struct Waits(WaitingCall);

impl Waits {
    pub(crate) fn at(session: &Arc<Session>, path: &str, number: u64) -> Waits {
        Waits(WaitingCall::at(session, path, number))
    }

    pub(crate) async fn turn(&self, server_session: &Arc<ServerSession>) {
        self.0.turn(server_session).await;
    }

    pub(crate) fn has_queued_in(&self, server_session: &Arc<ServerSession>) {
        self.0.has_queued_in(server_session);
    }
}

pub(crate) mod call {
    use crate::error::Result;

    /// One that nobody withdraws, and that has time.
    pub(crate) struct Call;

    impl Call {
        pub(crate) async fn until_those_before_have_queued(&mut self) -> Result<()> {
            Ok(())
        }

        pub(crate) fn is_single_attempt(&self) -> bool {
            false
        }

        pub(crate) fn has_queued(&self) {}

        pub(crate) async fn wait_for<T>(&self, future: impl Future<Output = T>) -> Result<T> {
            Ok(future.await)
        }
    }
}

pub(crate) mod server_session {
    use std::sync::Arc;
    use std::time::Duration;

    use super::wire::{Event, Flight, Link, LinkState, Stat, Watch};

    pub(crate) trait Tenant: Send + Sync {
        fn is_written(self: Arc<Self>);
    }

    /// One that lives, on one connection, and whose lease is certain.
    pub(crate) struct ServerSession {
        pub(crate) watched_paths: Arc<()>,
    }

    impl ServerSession {
        pub(crate) fn new() -> Arc<ServerSession> {
            Arc::new(ServerSession { watched_paths: Arc::new(()) })
        }

        pub(crate) fn session_id(&self) -> u64 {
            7
        }

        pub(crate) fn session_timeout(&self) -> Duration {
            Duration::from_secs(8)
        }

        pub(crate) fn link(&self) -> Link {
            Link { generation: 1, state: LinkState::Up }
        }

        pub(crate) fn is_firm(&self) -> bool {
            true
        }

        pub(crate) fn has_ended(&self) -> bool {
            false
        }

        pub(crate) async fn until_ended(&self) {
            std::future::pending().await
        }

        pub(crate) fn watch_data(&self, _path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
            Box::pin(std::future::pending())
        }

        /// Nothing happens to it.
        pub(crate) fn watch_exists(&self, _path: &str) -> Flight<(Option<Stat>, Watch)> {
            let watch: Watch = Box::pin(std::future::pending::<Event>());
            Box::pin(std::future::ready(Ok((None, watch))))
        }
    }

    pub(crate) mod shared_lists {
        use std::any::Any;
        use std::ops::Deref;
        use std::sync::{Arc, OnceLock};

        pub(crate) type SharedNames = Arc<Listed>;

        pub(crate) struct Listed(pub(crate) Vec<String>, pub(crate) OnceLock<Box<dyn Any + Send + Sync>>);

        impl Listed {
            pub(crate) fn read_once<T: Send + Sync + 'static>(
                &self,
                read: impl FnOnce(&[String]) -> T,
            ) -> &T {
                let made = self.1.get_or_init(|| Box::new(read(&self.0)));
                made.downcast_ref().expect("a list is read in one way only")
            }
        }

        impl Deref for Listed {
            type Target = [String];

            fn deref(&self) -> &[String] {
                &self.0
            }
        }
    }
}
