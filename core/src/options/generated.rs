//! The options of clients and recipes. Generated from api/ by api/generate; do not edit.

use std::time::Duration;

use super::{AclChoice, Auth, LeaseMode, Naming, SaslOptions};
use crate::error::{Error, Result};

/// How a [`Client`](crate::Client) connects and behaves.
///
/// ```
/// use std::time::Duration;
/// use zkrecipes::ClientOptions;
/// let mut options = ClientOptions::default().session_timeout(Duration::from_secs(6)).identity("billing-3");
/// options.read_only = true; // the fields are there to be read and written, too
/// assert_eq!(options.connect_timeout, Duration::from_secs(10));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// How long the servers keep the session of a client that they do not hear from. After that, what it held is free for
    /// others. The servers may grant more or less: `client.session_timeout()` tells.
    pub session_timeout: Duration,
    /// How long connecting may take before `ConnectionLost`.
    pub connect_timeout: Duration,
    /// Written into contender nodes so that people see who holds what; `host:pid` when not given.
    pub identity: Option<String>,
    /// Credentials to present to the servers: a scheme such as `digest`, and a credential such as `user:password`.
    pub auth: Vec<Auth>,
    /// Whether `auth` and `sasl` may travel over plain text, where everybody on the way can read the one, and guess the
    /// password of the other. Without it, they travel over TLS and to servers on this machine (`localhost`, 127.0.0.0/8,
    /// `::1`) only.
    pub allow_plaintext_auth: bool,
    /// Whether to refuse (`Denied`) a path that somebody else has made so that everybody may delete below it, where nodes
    /// of ours are not everybody's. Without it there is a warning in the log, once per path.
    pub refuse_open_parents: bool,
    /// Who may touch the nodes that we create: everybody (`AclChoice::Open`), whoever presents the same credentials
    /// (`AclChoice::Creator`), or a list of scheme, id and letters of `rwcda`. By default `AclChoice::Creator` if
    /// credentials are given, else `AclChoice::Open`.
    pub acl: AclChoice,
    /// TLS towards the servers.
    pub tls: Option<TlsOptions>,
    /// SASL towards the servers, with DIGEST-MD5.
    pub sasl: Option<SaslOptions>,
    /// Whose node names to use, so that others on the same path take part: Curator's (`Naming::Curator`), kazoo's
    /// (`Naming::Kazoo`), or those of the recipes that ship with ZooKeeper (`Naming::Zookeeper`).
    pub naming: Naming,
    /// What the heartbeat of a holder proves. `LeaseMode::Strict`: that a majority of the servers still honours the
    /// session. `LeaseMode::Relaxed`: less, for less work of the servers; for a few seconds around a partition two clients
    /// may both believe that they hold.
    pub lease: LeaseMode,
    /// How calls try again when the connection breaks.
    pub retry: RetryOptions,
    /// Accept a server that has lost its majority and only reads.
    pub read_only: bool,
    /// The largest `tickTime` of every server that may lead; doubled for clients of an observer that follows a follower
    /// (`observerMasterPort`). With a quarter of the session timeout or less, a pause of half of that costs nothing that is
    /// held; without it, of three tenths. `zkrecipes doctor` says what to give.
    pub server_tick: Option<Duration>,
    /// How many requests may be on their way at once. What comes on top waits for an answer, and can be withdrawn
    /// meanwhile; heartbeats, pings and deletions do not wait.
    pub max_in_flight: u32,
}

impl Default for ClientOptions {
    fn default() -> Self {
        ClientOptions {
            session_timeout: Duration::from_millis(10_000),
            connect_timeout: Duration::from_millis(10_000),
            identity: None,
            auth: Default::default(),
            allow_plaintext_auth: false,
            refuse_open_parents: false,
            acl: AclChoice::Default,
            tls: None,
            sasl: None,
            naming: Naming::Curator,
            lease: LeaseMode::Strict,
            retry: Default::default(),
            read_only: false,
            server_tick: None,
            max_in_flight: 1_000,
        }
    }
}

impl ClientOptions {
    /// How long the servers keep the session of a client that they do not hear from.
    pub fn session_timeout(mut self, session_timeout: Duration) -> Self {
        self.session_timeout = session_timeout;
        self
    }

    /// How long connecting may take before `ConnectionLost`.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.connect_timeout = connect_timeout;
        self
    }

    /// Written into contender nodes so that people see who holds what; `host:pid` when not given.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// Whether `auth` and `sasl` may travel over plain text, where everybody on the way can read the one, and guess the
    /// password of the other.
    pub fn allow_plaintext_auth(mut self, allow_plaintext_auth: bool) -> Self {
        self.allow_plaintext_auth = allow_plaintext_auth;
        self
    }

    /// Whether to refuse (`Denied`) a path that somebody else has made so that everybody may delete below it, where nodes
    /// of ours are not everybody's.
    pub fn refuse_open_parents(mut self, refuse_open_parents: bool) -> Self {
        self.refuse_open_parents = refuse_open_parents;
        self
    }

    /// Who may touch the nodes that we create: everybody (`AclChoice::Open`), whoever presents the same credentials
    /// (`AclChoice::Creator`), or a list of scheme, id and letters of `rwcda`.
    pub fn acl(mut self, acl: AclChoice) -> Self {
        self.acl = acl;
        self
    }

    /// TLS towards the servers.
    pub fn tls(mut self, tls: TlsOptions) -> Self {
        self.tls = Some(tls);
        self
    }

    /// SASL towards the servers, with DIGEST-MD5.
    pub fn sasl(mut self, sasl: SaslOptions) -> Self {
        self.sasl = Some(sasl);
        self
    }

    /// Whose node names to use, so that others on the same path take part: Curator's (`Naming::Curator`), kazoo's
    /// (`Naming::Kazoo`), or those of the recipes that ship with ZooKeeper (`Naming::Zookeeper`).
    pub fn naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// What the heartbeat of a holder proves.
    pub fn lease(mut self, lease: LeaseMode) -> Self {
        self.lease = lease;
        self
    }

    /// How calls try again when the connection breaks.
    pub fn retry(mut self, retry: RetryOptions) -> Self {
        self.retry = retry;
        self
    }

    /// Accept a server that has lost its majority and only reads.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// The largest `tickTime` of every server that may lead; doubled for clients of an observer that follows a follower
    /// (`observerMasterPort`).
    pub fn server_tick(mut self, server_tick: Duration) -> Self {
        self.server_tick = Some(server_tick);
        self
    }

    /// How many requests may be on their way at once.
    pub fn max_in_flight(mut self, max_in_flight: u32) -> Self {
        self.max_in_flight = max_in_flight;
        self
    }
}

/// TLS towards the server: every one that the connect string names, at its secure port.
///
/// `ca`, `cert` and `key` are each the path of a PEM file or PEM itself: what contains `-----BEGIN` is PEM. Files are read
/// whenever a connection is made, so that renewed ones count from the next connection on.
///
/// ```
/// use zkrecipes::{ClientOptions, TlsOptions};
/// let tls = TlsOptions::default().ca("/etc/zk/ca.pem").cert("/etc/zk/me.pem").key("/etc/zk/me.key");
/// let options = ClientOptions::default().tls(tls);
/// assert!(options.tls.is_some_and(|tls| tls.verify_hostname));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct TlsOptions {
    /// The authorities to trust, and their revocation lists if there are any. It must be given.
    pub ca: Option<String>,
    /// Our own certificate and what leads from it to an authority, for servers that ask who we are; together with `key`.
    pub cert: Option<String>,
    /// The private key of `cert`, without a passphrase.
    pub key: Option<String>,
    /// Whether the server's certificate must name the host of the connect string.
    pub verify_hostname: bool,
    /// Whether a revocation list in `ca` still counts when its time has passed (its `nextUpdate`). Without it, the
    /// certificates that the list is about are refused then: nobody says which were revoked since.
    pub allow_expired_crls: bool,
}

impl Default for TlsOptions {
    fn default() -> Self {
        TlsOptions { ca: None, cert: None, key: None, verify_hostname: true, allow_expired_crls: false }
    }
}

impl TlsOptions {
    /// The authorities to trust, and their revocation lists if there are any.
    pub fn ca(mut self, ca: impl Into<String>) -> Self {
        self.ca = Some(ca.into());
        self
    }

    /// Our own certificate and what leads from it to an authority, for servers that ask who we are; together with `key`.
    pub fn cert(mut self, cert: impl Into<String>) -> Self {
        self.cert = Some(cert.into());
        self
    }

    /// The private key of `cert`, without a passphrase.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Whether the server's certificate must name the host of the connect string.
    pub fn verify_hostname(mut self, verify_hostname: bool) -> Self {
        self.verify_hostname = verify_hostname;
        self
    }

    /// Whether a revocation list in `ca` still counts when its time has passed (its `nextUpdate`).
    pub fn allow_expired_crls(mut self, allow_expired_crls: bool) -> Self {
        self.allow_expired_crls = allow_expired_crls;
        self
    }
}

/// How verbs retry when the connection breaks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RetryOptions {
    /// The first pause before a call tries again.
    pub base: Duration,
    /// The longest pause; pauses double up to it.
    pub max: Duration,
    /// How long a call goes without a server before `ConnectionLost`; `connect_timeout` if it is not given.
    pub give_up_after: Option<Duration>,
}

impl Default for RetryOptions {
    fn default() -> Self {
        RetryOptions {
            base: Duration::from_millis(50),
            max: Duration::from_millis(5_000),
            give_up_after: None,
        }
    }
}

impl RetryOptions {
    /// The first pause before a call tries again.
    pub fn base(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// The longest pause; pauses double up to it.
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// How long a call goes without a server before `ConnectionLost`; `connect_timeout` if it is not given.
    pub fn give_up_after(mut self, give_up_after: Duration) -> Self {
        self.give_up_after = Some(give_up_after);
        self
    }
}

impl ClientOptions {
    /// Whether each is within its range; the error names the one that is not.
    pub(crate) fn check_ranges(&self) -> Result<()> {
        is_time("session_timeout", self.session_timeout)?;
        is_time("connect_timeout", self.connect_timeout)?;
        if let Some(identity) = &self.identity {
            if identity.is_empty() {
                return Err(Error::invalid("identity", "must not be empty; leave it out for host:pid"));
            }
            if identity.len() > 1_024 {
                return Err(Error::invalid(
                    "identity",
                    "must be at most 1,024 bytes: every contender node carries it",
                ));
            }
        }
        is_time("retry.base", self.retry.base)?;
        is_time("retry.max", self.retry.max)?;
        if let Some(server_tick) = self.server_tick {
            is_time("server_tick", server_tick)?;
        }
        if self.max_in_flight == 0 {
            return Err(Error::invalid("max_in_flight", "must be at least 1"));
        }

        Ok(())
    }
}

/// How a [`Counter`](crate::Counter) behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterOptions {
    /// Whose counter it takes part in: Curator's `DistributedAtomicLong`, 64 bits (`CounterLayout::Atomic`), or
    /// `SharedCount`, 32 bits (`CounterLayout::Shared`). kazoo has one layout of its own, which `naming` chooses.
    pub layout: CounterLayout,
}

impl Default for CounterOptions {
    fn default() -> Self {
        CounterOptions { layout: CounterLayout::Atomic }
    }
}

impl CounterOptions {
    /// Whose counter it takes part in: Curator's `DistributedAtomicLong`, 64 bits (`CounterLayout::Atomic`), or
    /// `SharedCount`, 32 bits (`CounterLayout::Shared`).
    pub fn layout(mut self, layout: CounterLayout) -> Self {
        self.layout = layout;
        self
    }
}

/// How a counter keeps its value where the naming is Curator's.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CounterLayout {
    /// Curator's DistributedAtomicLong: 64 bits.
    #[default]
    Atomic,
    /// Curator's SharedCount: 32 bits.
    Shared,
}

/// How an [`Election`](crate::Election) behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionOptions {
    /// Whose election it takes part in: Curator's `LeaderLatch` (`ElectionLayout::Latch`) or `LeaderSelector`
    /// (`ElectionLayout::Selector`). kazoo has one layout of its own, which `naming` chooses.
    pub layout: ElectionLayout,
    /// How much it is to lead: of all who stand the one with the highest priority. A leader with a lower one is asked to
    /// hand over. Peers that know of no priorities stand in the order in which they came, as those of one priority do.
    pub priority: i32,
    /// How long the work of a term of `run` may go on that somebody has asked for, such as a candidate with a higher
    /// priority. Then the leadership is lost.
    pub drain: Duration,
}

impl Default for ElectionOptions {
    fn default() -> Self {
        ElectionOptions { layout: ElectionLayout::Latch, priority: 0, drain: Duration::from_millis(1_000) }
    }
}

impl ElectionOptions {
    /// Whose election it takes part in: Curator's `LeaderLatch` (`ElectionLayout::Latch`) or `LeaderSelector`
    /// (`ElectionLayout::Selector`).
    pub fn layout(mut self, layout: ElectionLayout) -> Self {
        self.layout = layout;
        self
    }

    /// How much it is to lead: of all who stand the one with the highest priority.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// How long the work of a term of `run` may go on that somebody has asked for, such as a candidate with a higher
    /// priority.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }
}

/// Whose election it takes part in where the naming is Curator's.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ElectionLayout {
    /// Curator's LeaderLatch.
    #[default]
    Latch,
    /// Curator's LeaderSelector.
    Selector,
}

impl ElectionOptions {
    /// Whether each is within its range; the error names the one that is not.
    pub(crate) fn check_ranges(&self) -> Result<()> {
        is_time("drain", self.drain)?;

        Ok(())
    }
}

/// How a [`Group`](crate::Group) behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupOptions {
    /// Whose group it takes part in: Curator's `GroupMember` (`GroupLayout::Member`), kazoo's `Party`
    /// (`GroupLayout::Party`) or `ShallowParty` (`GroupLayout::ShallowParty`). By default `GroupLayout::Party` where
    /// `naming` is kazoo's, else `GroupLayout::Member`.
    pub layout: Option<GroupLayout>,
    /// Whether `join` takes its name at once from a member that has it, such as the one that this process was before it
    /// crashed, which would keep the name until its session timeout. Of two processes that are both there the one that
    /// joins last is the member.
    pub replace: bool,
}

impl Default for GroupOptions {
    fn default() -> Self {
        GroupOptions { layout: None, replace: false }
    }
}

impl GroupOptions {
    /// Whose group it takes part in: Curator's `GroupMember` (`GroupLayout::Member`), kazoo's `Party`
    /// (`GroupLayout::Party`) or `ShallowParty` (`GroupLayout::ShallowParty`).
    pub fn layout(mut self, layout: GroupLayout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Whether `join` takes its name at once from a member that has it, such as the one that this process was before it
    /// crashed, which would keep the name until its session timeout.
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }
}

/// How a group keeps its members.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum GroupLayout {
    /// Curator's GroupMember: the node has the name of the member.
    Member,
    /// kazoo's Party: the name of the member is the data of its node, so it has no other data.
    Party,
    /// kazoo's ShallowParty: the name of the member is in that of its node, so it has no other data.
    ShallowParty,
}

/// How a [`Lock`](crate::Lock) behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockOptions {
    /// The handle is the owner: nested acquisitions count. Never share such a handle between threads or tasks that must
    /// exclude each other.
    pub reentrant: bool,
    /// How many times waiters of one client may pass the turn on in memory before others get theirs. They then share a
    /// fencing token, and only the pair of token and `passes` rises strictly.
    pub local_handoff: u32,
}

impl Default for LockOptions {
    fn default() -> Self {
        LockOptions { reentrant: false, local_handoff: 0 }
    }
}

impl LockOptions {
    /// The handle is the owner: nested acquisitions count.
    pub fn reentrant(mut self, reentrant: bool) -> Self {
        self.reentrant = reentrant;
        self
    }

    /// How many times waiters of one client may pass the turn on in memory before others get theirs.
    pub fn local_handoff(mut self, local_handoff: u32) -> Self {
        self.local_handoff = local_handoff;
        self
    }
}

/// How a member of a [`Partitioner`](crate::Partitioner) behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionerOptions {
    /// How much of the partitions this member is to have, beside the weights of the others.
    pub weight: u32,
    /// What the member is called. A process that is started again under the same name gets what it had, and nothing moves.
    pub name: Option<String>,
    /// How long a partition that is to move may still be worked on. Then it is taken away: it is lost.
    pub drain: Duration,
}

impl Default for PartitionerOptions {
    fn default() -> Self {
        PartitionerOptions { weight: 1, name: None, drain: Duration::from_millis(30_000) }
    }
}

impl PartitionerOptions {
    /// How much of the partitions this member is to have, beside the weights of the others.
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// What the member is called.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How long a partition that is to move may still be worked on.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }
}

impl PartitionerOptions {
    /// Whether each is within its range; the error names the one that is not.
    pub(crate) fn check_ranges(&self) -> Result<()> {
        if self.weight == 0 {
            return Err(Error::invalid("weight", "must be at least 1"));
        }
        is_time("drain", self.drain)?;

        Ok(())
    }
}

/// How a [`Queue`](crate::Queue), a [`PriorityQueue`](crate::PriorityQueue) or a [`DelayQueue`](crate::DelayQueue) behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueOptions {
    /// How many items there may be; without it there is no bound. All who put have to give the same number; a full queue
    /// makes them wait.
    pub max_items: Option<usize>,
    /// Whether an item goes when the session of the client that put it ends.
    pub ephemeral: bool,
    /// Over how many nodes the items are spread. More than one is faster, and keeps the order only within each.
    pub shards: usize,
    /// How often an item is claimed before it goes to the dead letters, 16 times unless told; 0 for no end.
    pub max_attempts: u32,
    /// Whose queue it takes part in: Curator's `SimpleDistributedQueue` and ZooKeeper's own, or kazoo's `Queue` where
    /// `naming` is kazoo's (`QueueLayout::Simple`); Curator's `DistributedQueue` (`QueueLayout::Distributed`); kazoo's
    /// `LockingQueue` (`QueueLayout::Locking`). Priority and delay queues have one layout with each naming.
    pub layout: QueueLayout,
    /// For how long the key of a put counts, by the servers' clock: the same key within that time puts once. All who put
    /// with keys should give the same.
    pub key_window: Duration,
}

impl Default for QueueOptions {
    fn default() -> Self {
        QueueOptions {
            max_items: None,
            ephemeral: false,
            shards: 1,
            max_attempts: 16,
            layout: QueueLayout::Simple,
            key_window: Duration::from_millis(600_000),
        }
    }
}

impl QueueOptions {
    /// How many items there may be; without it there is no bound.
    pub fn max_items(mut self, max_items: usize) -> Self {
        self.max_items = Some(max_items);
        self
    }

    /// Whether an item goes when the session of the client that put it ends.
    pub fn ephemeral(mut self, ephemeral: bool) -> Self {
        self.ephemeral = ephemeral;
        self
    }

    /// Over how many nodes the items are spread.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = shards;
        self
    }

    /// How often an item is claimed before it goes to the dead letters, 16 times unless told; 0 for no end.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = max_attempts;
        self
    }

    /// Whose queue it takes part in: Curator's `SimpleDistributedQueue` and ZooKeeper's own, or kazoo's `Queue` where
    /// `naming` is kazoo's (`QueueLayout::Simple`); Curator's `DistributedQueue` (`QueueLayout::Distributed`); kazoo's
    /// `LockingQueue` (`QueueLayout::Locking`).
    pub fn layout(mut self, layout: QueueLayout) -> Self {
        self.layout = layout;
        self
    }

    /// For how long the key of a put counts, by the servers' clock: the same key within that time puts once.
    pub fn key_window(mut self, key_window: Duration) -> Self {
        self.key_window = key_window;
        self
    }
}

/// Whose queue it takes part in.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum QueueLayout {
    /// Curator's SimpleDistributedQueue, which is ZooKeeper's own recipe; kazoo's Queue where the naming is kazoo's.
    #[default]
    Simple,
    /// Curator's DistributedQueue, with its item encoding.
    Distributed,
    /// kazoo's LockingQueue, where the naming is kazoo's.
    Locking,
}

impl QueueOptions {
    /// Whether each is within its range; the error names the one that is not.
    pub(crate) fn check_ranges(&self) -> Result<()> {
        if let Some(max_items) = self.max_items
            && max_items == 0
        {
            return Err(Error::invalid("max_items", "is 0; give at least 1, or leave it out"));
        }
        if self.shards == 0 {
            return Err(Error::invalid("shards", "is 0; give at least 1, or leave it out"));
        }
        if self.shards > 100 {
            return Err(Error::invalid("shards", format!("{} are too many; take at most 100", self.shards)));
        }
        is_time("key_window", self.key_window)?;

        Ok(())
    }
}

fn is_time(name: &str, value: Duration) -> Result<()> {
    // The wire carries milliseconds in a signed 32 bit number.
    match value {
        value if value < Duration::from_millis(1) => {
            Err(Error::invalid(name, "must be at least one millisecond"))
        }
        value if value > Duration::from_millis(i32::MAX as u64) => {
            Err(Error::invalid(name, "must be at most 24 days"))
        }
        _ => Ok(()),
    }
}
