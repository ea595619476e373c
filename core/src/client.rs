//! The client: one session with ZooKeeper, shared by any number of recipes and threads.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::hosts;
use crate::nodes::Nodes;
use crate::options::{ClientOptions, LockOptions};
use crate::recipes::lock::Lock;
use crate::recipes::multi_lock::MultiLock;
use crate::recipes::read_write_lock::ReadWriteLock;
use crate::recipes::semaphore::Semaphore;
use crate::recipes::sequencer;
use crate::runtime;
use crate::session::clock::Clock;
use crate::session::delivery::Subscription;
use crate::session::system_clock::SystemClock;
use crate::session::wire::Dial;
use crate::session::wire::zookeeper::ZooKeeper;
use crate::session::{Session, State};

/// A connection to ZooKeeper. Clones are the same client; the last one to go closes the session in the background.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::{Client, State};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// assert_eq!(client.state(), State::Connected);
/// client.close(None).await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    session: ManuallyDrop<Arc<Session>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if runtime::check_process().is_err() {
            // The threads behind the session stayed with the parent, and so did its locks: touch nothing.
            return;
        }
        // SAFETY: taken once, in drop.
        let session = unsafe { ManuallyDrop::take(&mut self.session) };
        if !session.is_closing() {
            session.clock().clone().spawn(Box::pin(async move {
                if let Err(error) = session.close(None).await {
                    tracing::debug!(%error, "closing a dropped client");
                }
            }));
        }
    }
}

impl Client {
    /// Connects to the servers of a ZooKeeper connect string such as `zk1:2181,zk2:2181/app`, or to `embedded:`, a
    /// server inside this process for development and tests. An empty string means the environment's
    /// `ZKRECIPES_HOSTS`.
    ///
    /// # Cancel safety
    /// Dropping the future leaves no session behind.
    pub async fn connect(hosts: &str, options: ClientOptions) -> Result<Client> {
        runtime::check_process()?;
        let hosts = hosts::resolve(hosts)?;
        Client::connect_over(Box::new(ZooKeeper), Arc::new(SystemClock), &hosts, options).await
    }

    /// The same over another transport and clock: simulations run the recipes under virtual time.
    #[doc(hidden)]
    pub async fn connect_over(
        dial: Box<dyn Dial>,
        clock: Arc<dyn Clock>,
        hosts: &str,
        options: ClientOptions,
    ) -> Result<Client> {
        options.validate()?;
        let session = Session::open(hosts.to_owned(), options, clock, dial).await?;
        Ok(Client { inner: Arc::new(Inner { session: ManuallyDrop::new(session) }) })
    }

    /// The session, unless this process must not use it or it is closed.
    pub(crate) fn session(&self) -> Result<Arc<Session>> {
        runtime::check_process()?;
        let session = &self.inner.session;
        if session.is_closing() { Err(Error::closed("client")) } else { Ok(Arc::clone(session)) }
    }

    /// Closes: who waits gets Closed, what is held is released with the session, background deletions are awaited for
    /// at most `limit`. Closing twice is fine.
    pub async fn close(&self, limit: Option<Duration>) -> Result<()> {
        runtime::check_process()?;
        self.inner.session.close(limit).await
    }

    /// The same without waiting.
    pub fn close_in_background(&self) {
        if runtime::check_process().is_ok() {
            let session = Arc::clone(&self.inner.session);
            session.clock().clone().spawn(Box::pin(async move {
                let _ = session.close(None).await;
            }));
        }
    }

    /// How the client stands with ZooKeeper.
    pub fn state(&self) -> State {
        match runtime::check_process() {
            Ok(()) if !self.inner.session.is_closing() => self.inner.session.state(),
            _ => State::Closed,
        }
    }

    /// The id of the current session; another one after an expiry. 0 when closed.
    pub fn session_id(&self) -> u64 {
        self.session().map_or(0, |session| session.epoch().session_id())
    }

    /// The session timeout as negotiated with the server.
    pub fn session_timeout(&self) -> Duration {
        self.session().map_or(Duration::ZERO, |session| session.epoch().session_timeout())
    }

    /// How long the server certainly still honours the session; zero while nothing is held.
    pub fn lease_remaining(&self) -> Duration {
        self.session().map_or(Duration::ZERO, |session| session.epoch().lease_remaining())
    }

    /// Calls back at every change of state, in order.
    pub fn on_state(&self, callback: impl Fn(State) + Send + Sync + 'static) -> Subscription {
        match runtime::check_process() {
            Ok(()) => self.inner.session.on_state(callback),
            Err(_) => Subscription::nothing(),
        }
    }

    /// Hands every callback of this client to `sink` instead of the library's own threads. The first call decides.
    pub fn deliver_through(&self, sink: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        if runtime::check_process().is_ok() {
            self.inner.session.delivery.divert(sink);
        }
    }

    /// A handle on the lock at `path`. Does no I/O.
    pub fn lock(&self, path: &str, options: LockOptions) -> Result<Lock> {
        self.session()?;
        Lock::new(self.clone(), path, options)
    }

    /// A handle on the read/write lock at `path`. Does no I/O.
    pub fn read_write_lock(&self, path: &str) -> Result<ReadWriteLock> {
        self.session()?;
        ReadWriteLock::new(self, path)
    }

    /// Several locks of this client as one: all or none. Does no I/O.
    pub fn multi_lock(&self, locks: &[Lock]) -> Result<MultiLock> {
        self.session()?;
        MultiLock::new(self, locks)
    }

    /// A handle on the semaphore at `path` with so many permits. Does no I/O.
    pub fn semaphore(&self, path: &str, permits: usize) -> Result<Semaphore> {
        self.session()?;
        Semaphore::new(self.clone(), path, permits)
    }

    /// Whether the acquisition that a sequencer stands for still stands, as the quorum sees it now.
    pub async fn check_sequencer(&self, sequencer: &str) -> Result<bool> {
        sequencer::check(self, sequencer).await
    }

    /// Resolves when the acquisition that a sequencer stands for no longer stands.
    pub async fn watch_sequencer(&self, sequencer: &str) -> Result<()> {
        sequencer::watch(self, sequencer).await
    }

    pub(crate) fn is_same(&self, other: &Client) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Plain operations on nodes.
    pub fn nodes(&self) -> Nodes {
        Nodes::new(self.clone())
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("state", &self.state()).finish_non_exhaustive()
    }
}
