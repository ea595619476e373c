//! Plain option structs, their defaults, and the validation that names the option at fault.

mod credentials;
mod recipe_options;
mod setters;

use std::time::Duration;

use crate::error::{Error, Result};

pub use credentials::{Auth, SaslOptions, TlsOptions};
pub(crate) use credentials::{is_pem, path_of};
pub use recipe_options::{
    CounterLayout, CounterOptions, ElectionLayout, ElectionOptions, GroupLayout, GroupOptions, QueueLayout,
    QueueOptions,
};

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
    /// How long the server keeps the session of a silent client; negotiated down or up by the server.
    pub session_timeout: Duration,
    /// How long `connect` tries before ConnectionLost.
    pub connect_timeout: Duration,
    /// Written into contender nodes so that people see who holds what; `host:pid` when not given.
    pub identity: Option<String>,
    /// Credentials to present to the server.
    pub auth: Vec<Auth>,
    /// Whether `auth` and `sasl` may travel over plain text, where everybody on the way can read the one, and guess the
    /// password of the other. Without it, they travel over TLS and to servers on this machine (`localhost`, 127.0.0.0/8,
    /// `::1`) only.
    pub allow_plaintext_auth: bool,
    /// Who may touch the nodes that we create.
    pub acl: AclChoice,
    /// Whether to refuse (Denied) a path that somebody else has made so that everybody may delete below it, where nodes of ours
    /// are not everybody's. Without it there is a warning in the log, once per path.
    pub refuse_open_parents: bool,
    /// TLS towards the server.
    pub tls: Option<TlsOptions>,
    /// SASL towards the server.
    pub sasl: Option<SaslOptions>,
    /// Whose node names to use, so that others on the same path take part.
    pub naming: Naming,
    /// How verbs retry when the connection breaks.
    pub retry: RetryOptions,
    /// What the heartbeat of a holder proves.
    pub lease: LeaseMode,
    /// The largest `tickTime` of every server that may lead, doubled for clients of an observer that follows a follower
    /// (`observerMasterPort`). With a tick of a quarter of the session timeout or less, a pause of half of that costs nothing
    /// that is held; without it, of three tenths. If it is shorter than the truth, what is held may be lost unnoticed.
    pub server_tick: Option<Duration>,
    /// Accept a server that lost its quorum and only reads.
    pub read_only: bool,
    /// How many requests may be on their way at once. What comes on top waits for an answer, and can be withdrawn meanwhile;
    /// heartbeats, pings and deletions do not wait.
    pub max_in_flight: u32,
}

impl Default for ClientOptions {
    fn default() -> Self {
        ClientOptions {
            session_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            identity: None,
            auth: Vec::new(),
            allow_plaintext_auth: false,
            acl: AclChoice::Default,
            refuse_open_parents: false,
            tls: None,
            sasl: None,
            naming: Naming::Curator,
            retry: RetryOptions::default(),
            lease: LeaseMode::Strict,
            server_tick: None,
            read_only: false,
            max_in_flight: 1000,
        }
    }
}

/// Who may touch the nodes that we create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AclChoice {
    /// `Creator` when `auth` or `sasl` is given, else `Open`.
    #[default]
    Default,
    /// Everybody may do everything.
    Open,
    /// Only clients with the same credentials.
    Creator,
    /// An explicit list.
    List(Vec<AclEntry>),
}

impl AclChoice {
    /// Whether it certainly lets who creates a node delete what is below it.
    pub(crate) fn lets_creators_delete(&self) -> bool {
        !matches!(self, AclChoice::List(_))
    }
}

/// One entry of an explicit access list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AclEntry {
    /// `world`, `auth`, `digest`, `ip`, `x509` or `sasl`.
    pub scheme: String,
    /// The identity under that scheme, `anyone` for `world`.
    pub id: String,
    /// Letters of `rwcda`: read, write, create, delete, admin.
    pub permissions: String,
}

/// Whose node names to use.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Naming {
    /// Apache Curator's, the default.
    #[default]
    Curator,
    /// kazoo's.
    Kazoo,
    /// The recipes that ship with ZooKeeper.
    Zookeeper,
}

/// How verbs retry when the connection breaks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RetryOptions {
    /// The first pause.
    pub base: Duration,
    /// The longest pause; pauses double up to it.
    pub max: Duration,
    /// After this long without a server a verb gives up with ConnectionLost; `connect_timeout` when not given.
    pub give_up_after: Option<Duration>,
}

impl Default for RetryOptions {
    fn default() -> Self {
        RetryOptions { base: Duration::from_millis(50), max: Duration::from_secs(5), give_up_after: None }
    }
}

/// What the heartbeat of a holder proves.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum LeaseMode {
    /// A quorum write that changes nothing: it proves that the quorum still honours the session.
    #[default]
    Strict,
    /// A `sync`: cheaper, and what is held is certain until two thirds of the session timeout after the newest answered
    /// request left. But a deposed leader answers it too, so that for a few seconds around a partition two clients may both
    /// believe that they hold.
    Relaxed,
}

/// What the options say of the lease.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct LeaseTerms {
    pub(crate) mode: LeaseMode,
    pub(crate) server_tick: Option<Duration>,
}

impl LeaseTerms {
    /// Whether the servers tell each other so often that the heartbeat before last is settled when the next one leaves.
    pub(crate) fn is_quick(self, timeout: Duration) -> bool {
        self.mode == LeaseMode::Strict && self.server_tick.is_some_and(|tick| tick <= timeout / 4)
    }
}

/// How a [`Lock`](crate::Lock) behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockOptions {
    /// The handle is the owner: nested acquisitions count. Never share such a handle between threads or tasks that
    /// must exclude each other.
    pub reentrant: bool,
    /// How many times waiters of one client may pass the turn on in memory before they let others in; 0 for never. They
    /// then share a fencing token, and only the pair with [`Held::passes`](crate::Held::passes) rises strictly.
    pub local_handoff: u32,
}

impl ClientOptions {
    /// Checks every option; the error names the one at fault.
    pub fn validate(&self) -> Result<()> {
        // The wire carries milliseconds in a signed 32 bit number.
        let most = Duration::from_millis(i32::MAX as u64);
        let positive = |name: &str, value: Duration| match value {
            value if value < Duration::from_millis(1) => {
                Err(Error::invalid(name, "must be at least one millisecond"))
            }
            value if value > most => Err(Error::invalid(name, "must be at most 24 days")),
            _ => Ok(()),
        };
        positive("session_timeout", self.session_timeout)?;
        positive("connect_timeout", self.connect_timeout)?;
        if let Some(tick) = self.server_tick {
            positive("server_tick", tick)?;
            if tick > self.session_timeout / 2 {
                return Err(Error::invalid(
                    "server_tick",
                    "must be at most half of session_timeout: the servers grant no less than two ticks",
                ));
            }
        }
        positive("retry.base", self.retry.base)?;
        positive("retry.max", self.retry.max)?;
        if self.retry.max < self.retry.base {
            return Err(Error::invalid("retry.max", "must not be shorter than retry.base"));
        }
        if let Some(identity) = &self.identity {
            if identity.is_empty() {
                return Err(Error::invalid("identity", "must not be empty; leave it out for host:pid"));
            }
            if identity.len() > 1024 {
                return Err(Error::invalid(
                    "identity",
                    "must be at most 1,024 bytes: every contender node carries it",
                ));
            }
        }
        if self.max_in_flight == 0 {
            return Err(Error::invalid("max_in_flight", "must be at least 1"));
        }
        self.check_credentials()?;
        if let AclChoice::List(entries) = &self.acl {
            if entries.is_empty() {
                return Err(Error::invalid("acl", "an empty list would let nobody in"));
            }
            for entry in entries {
                entry.validate()?;
            }
        }
        Ok(())
    }

    pub(crate) fn terms(&self) -> LeaseTerms {
        LeaseTerms { mode: self.lease, server_tick: self.server_tick }
    }

    pub(crate) fn give_up_after(&self) -> Duration {
        self.retry.give_up_after.unwrap_or(self.connect_timeout)
    }

    /// Whether access lists are in play: with credentials, or with a list of our own.
    pub(crate) fn is_restricted(&self) -> bool {
        self.has_credentials() || self.access() != AclChoice::Open
    }

    /// The access list that nodes of ours are created with.
    pub(crate) fn access(&self) -> AclChoice {
        match &self.acl {
            AclChoice::Default if self.has_credentials() => AclChoice::Creator,
            AclChoice::Default => AclChoice::Open,
            chosen => chosen.clone(),
        }
    }
}

impl AclEntry {
    /// An entry of an access list: a scheme, an identity under it, and letters of `rwcda`.
    pub fn new(scheme: impl Into<String>, id: impl Into<String>, permissions: impl Into<String>) -> AclEntry {
        AclEntry { scheme: scheme.into(), id: id.into(), permissions: permissions.into() }
    }

    fn validate(&self) -> Result<()> {
        if self.scheme.is_empty() {
            return Err(Error::invalid("acl", "an entry needs a scheme such as world or digest"));
        }
        if self.permissions.is_empty() || self.permissions.chars().any(|letter| !"rwcda".contains(letter)) {
            return Err(Error::invalid(
                "acl",
                format!(
                    "permissions {:?} must be letters of rwcda (read, write, create, delete, admin)",
                    self.permissions
                ),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(options: ClientOptions) -> String {
        options.validate().unwrap_err().to_string()
    }

    #[test]
    fn a_bad_option_is_named() {
        let base = ClientOptions::default;
        assert!(problem(base().session_timeout(Duration::ZERO)).contains("session_timeout"));
        assert!(problem(base().identity("")).contains("identity"));
        assert!(problem(base().max_in_flight(0)).contains("max_in_flight"));
        assert!(problem(base().server_tick(Duration::ZERO)).contains("server_tick"));
        let half = base().session_timeout / 2;
        assert!(problem(base().server_tick(half + Duration::from_millis(1))).contains("server_tick"));
        base().server_tick(half).validate().expect("half is possible");
        assert!(problem(base().acl(AclChoice::Creator)).contains("acl"));
        assert!("other".parse::<Naming>().unwrap_err().to_string().contains("naming"));
    }
}
