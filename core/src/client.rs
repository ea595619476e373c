//! The client: one session with ZooKeeper, shared by any number of recipes and threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::futures::unless;
use crate::hosts;
use crate::log;
use crate::metrics::{Counters, Metrics};
use crate::options::ClientOptions;
use crate::process::{Process, UnlessForked};
use crate::session::clock::{Clock, Deadline};
use crate::session::delivery::{CallbackTimes, Subscription, Turn};
use crate::session::exit;
use crate::session::opening;
use crate::session::pending_callbacks::PendingCallbacks;
use crate::session::refusal::Failure;
use crate::session::system_clock::SystemClock;
#[cfg(feature = "zookeeper-client")]
use crate::session::wire::guest::Guest;
use crate::session::wire::{Dial, WireError};
use crate::session::{Session, State};

/// How long closing waits for those who listen to what was said.
const LISTENING: Duration = Duration::from_secs(1);

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
    inner: Arc<ClientInner>,
}

struct ClientInner {
    makes_handles_when_closed: AtomicBool,
    /// A forked child has neither its threads nor its locks.
    session: UnlessForked<Arc<Session>>,
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        if self.session.process().is_present() && !self.session.is_closing() {
            let session = self.session.clone();
            // Without a limit it cannot fail.
            session.clock().clone().spawn(Box::pin(async move { drop(session.close(None).await) }));
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
        let hosts = hosts::resolve(hosts)?;
        options.validate()?;
        opening::check(&hosts, &options)?;
        let counters = Arc::<Counters>::default();
        let dial = opening::transport(&counters);
        let open = Session::open(hosts, options, Arc::new(SystemClock), dial, counters);
        Ok(Client::of(exit::open_client(open).await?))
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
        Ok(Client::of(Session::open(hosts.to_owned(), options, clock, dial, Arc::default()).await?))
    }

    /// A client over a session of the crate `zookeeper-client`, version 0.11, which the application has already; with the feature
    /// of that name. The session stays the application's: closing the client deletes what it holds, and ends nothing. When the
    /// session has ended, calls answer Closed, and another one is for another client. Options that say how to connect are
    /// refused, and `session_timeout` is that of the session. docs/rust-guest.md says what such a client cannot tell.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = zookeeper_client::Client::connect("zk1:2181,zk2:2181/app").await?;
    /// let client = zkrecipes::Client::over(session.clone(), Default::default()).await?;
    /// let held = client.lock("/locks/report", Default::default())?.acquire().await?;
    /// # drop(held); Ok(()) }
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future leaves the session as it was.
    #[cfg(feature = "zookeeper-client")]
    pub async fn over(session: zookeeper_client::Client, options: ClientOptions) -> Result<Client> {
        options.validate()?;
        let default = ClientOptions::default();
        let of_a_connection = [
            ("auth", options.auth.is_empty()),
            ("sasl", options.sasl.is_none()),
            ("tls", options.tls.is_none()),
            ("read_only", options.read_only == default.read_only),
        ];
        if let Some((name, _)) = of_a_connection.iter().find(|(_, is_left_out)| !is_left_out) {
            return Err(Error::invalid(name, "belongs to the session, which is there already"));
        }
        // Of a connect string only the chroot is known.
        let hosts = format!("zookeeper-client{}", session.path());
        let dial = Box::new(Guest::new(session));
        let open = Session::open(hosts, options, Arc::new(SystemClock), dial, Arc::default());
        Ok(Client::of(exit::open_client(open).await?))
    }

    fn of(session: Arc<Session>) -> Client {
        Client {
            inner: Arc::new(ClientInner {
                session: UnlessForked::new(session),
                makes_handles_when_closed: AtomicBool::default(),
            }),
        }
    }

    /// The session, unless this process must not use it or it is closed.
    pub(crate) fn session(&self) -> Result<Arc<Session>> {
        self.process().check()?;
        let session = &self.inner.session;
        if session.is_closing() { Err(Error::closed("client")) } else { Ok(Arc::clone(session)) }
    }

    /// The same for a new handle.
    pub(crate) fn session_for_handle(&self) -> Result<Arc<Session>> {
        if !self.inner.makes_handles_when_closed.load(Ordering::Relaxed) {
            return self.session();
        }
        self.process().check()?;
        Ok(Arc::clone(&self.inner.session))
    }

    /// From now on a handle is made when the client is closed, too, and its verbs say so: for a language in which they reject and
    /// making it would throw.
    #[doc(hidden)]
    pub fn make_handles_when_closed(&self) {
        self.inner.makes_handles_when_closed.store(true, Ordering::Relaxed);
    }

    /// The process that it was connected in; no other one may use it.
    pub(crate) fn process(&self) -> Process {
        self.inner.session.process()
    }

    /// Replaces the list of servers, as when some are moved. A connection with a server of the new list stays; otherwise it goes
    /// on with another one in the same session, as after a break. The chroot has to be the same. A list that cannot be used is
    /// Invalid, and changes nothing.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # use zkrecipes::Client;
    /// # let client = Client::connect("embedded:", Default::default()).await?;
    /// let session = client.session_id();
    /// client.update_hosts("embedded:")?; // or "zk1:2181,zk2:2181,zk4:2181"
    /// assert_eq!(client.session_id(), session);
    /// # Ok(()) });
    /// ```
    pub fn update_hosts(&self, hosts: &str) -> Result<()> {
        let session = self.session()?;
        session.update_hosts(hosts::resolve(hosts)?)
    }

    /// As whom the server knows this client, by the address it comes from, by `auth`, by `sasl` and by its certificate: each as
    /// `scheme:id`, which is what an access list names. Of digest credentials it is the user alone. Servers tell that since
    /// 3.7; older ones make it Invalid. Retried within the retry budget.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::{Auth, Client, ClientOptions};
    ///
    /// let options = ClientOptions::default().auth(Auth::new("digest", "billing:secret"));
    /// let client = Client::connect("embedded:", options).await?;
    /// assert!(client.whoami().await?.contains(&"digest:billing".to_owned()));
    /// # Ok(()) });
    /// ```
    pub async fn whoami(&self) -> Result<Vec<String>> {
        const VERB: &str = "whoami";
        let mut call = self.session()?.call(None).reading();
        let answer = call.ask(VERB, |server| server.who_am_i()).await;
        answer.map_err(|failure| match failure {
            Failure::Refused(WireError::Unimplemented) => Error::new(
                ErrorKind::Invalid,
                "invalid request: this ZooKeeper does not tell as whom it knows a client; servers of 3.7 and later do",
            ),
            failure => failure.about(VERB, "/"),
        })
    }

    /// Closes the client: calls that wait get Closed, what is held is released with the session, background deletions
    /// are awaited for at most `limit`, and those who listen to logs and spans have heard of it when this returns, unless they
    /// take longer than a second. Closing twice is fine. Timeout: no server has confirmed the end of the session by then. The client
    /// is closed all the same, and the servers end the session after its timeout.
    pub async fn close(&self, limit: Option<Duration>) -> Result<()> {
        self.process().check()?;
        let session = &self.inner.session;
        let end = Deadline::after(session.now(), limit).at();
        let closed = session.close(limit).await;
        let patience = session.now() + LISTENING;
        let patience = session.clock().sleep_until(end.map_or(patience, |end| end.min(patience)));
        let _ = unless(log::until_said(), patience).await;
        closed
    }

    /// The same without waiting.
    pub fn close_in_background(&self) {
        if self.process().is_present() {
            let session = &self.inner.session;
            session.begin_closing(Deadline::after(session.now(), None));
        }
    }

    /// What this client still owes its user.
    pub(crate) fn pending_callbacks(&self) -> Arc<PendingCallbacks> {
        self.inner.session.delivery.pending_callbacks.clone()
    }

    /// From now on no callback is begun.
    pub(crate) fn silence(&self) {
        self.inner.session.delivery.silence();
    }

    /// For a face that calls callbacks where the core does not see how long they take.
    #[doc(hidden)]
    pub fn callback_times(&self) -> CallbackTimes {
        self.inner.session.delivery.times()
    }

    /// How the client stands with ZooKeeper.
    pub fn state(&self) -> State {
        self.session().map_or(State::Closed, |session| session.state())
    }

    /// The id of the current session; another one after an expiry. 0 when closed.
    pub fn session_id(&self) -> u64 {
        self.session().map_or(0, |session| session.server_session().session_id())
    }

    /// The session timeout as negotiated with the server.
    pub fn session_timeout(&self) -> Duration {
        self.session().map_or(Duration::ZERO, |session| session.server_session().session_timeout())
    }

    /// How long the server certainly still honours the session; zero while nothing is held.
    pub fn lease_remaining(&self) -> Duration {
        self.session().map_or(Duration::ZERO, |session| session.server_session().lease_remaining())
    }

    /// What this client has done and seen since it connected, and how it stands.
    pub fn metrics(&self) -> Metrics {
        self.inner.session.counters.snapshot()
    }

    /// The nodes that recipes of this client went on without since it connected, because they may not be read or what they say is
    /// not understood, by path, and why: `denied`, `encoding`, `children` of an item that somebody has made nodes below, or `size` of
    /// one that is too large to be taken. The log names each, too (`skipped`). The last thousand at most; one that can be read again
    /// stays among them. Asks no server.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::{Client, CreateMode};
    ///
    /// let client = Client::connect("embedded:", Default::default()).await?;
    /// client.nodes().ensure("/services/web").await?;
    /// client.nodes().create("/services/web/one", b"not what it should be", CreateMode::Ephemeral).await?;
    /// let services = client.discovery("/services")?;
    /// assert!(services.instances("web").await?.is_empty());
    /// assert_eq!(client.skipped()["/services/web/one"], "encoding");
    /// # Ok(()) });
    /// ```
    pub fn skipped(&self) -> BTreeMap<String, String> {
        match self.process().is_present() {
            true => self.inner.session.skipped(),
            false => BTreeMap::new(),
        }
    }

    /// Calls back at every change of state, in order. Where the client is closed already it tells `Closed`, once. A callback that
    /// owns a clone of this client keeps it until it is unsubscribed or the client is closed.
    pub fn on_state(&self, callback: impl Fn(State) + Send + Sync + 'static) -> Subscription {
        match self.process().is_present() {
            true => self.inner.session.on_state(callback),
            false => Subscription::nothing(),
        }
    }

    /// Hands every callback of this client to `sink` instead of the library's own threads. The first call decides.
    /// What comes [`Turn::Ahead`] should not wait for what comes in order.
    pub fn deliver_through(&self, sink: impl Fn(Turn, Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        if self.process().is_present() {
            self.inner.session.delivery.divert(sink);
        }
    }

    pub(crate) fn is_same(&self, other: &Client) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("state", &self.state()).finish_non_exhaustive()
    }
}
