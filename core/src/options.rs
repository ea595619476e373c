//! What options are made of, and the validation that names the one at fault. The options themselves are in `generated`, of `api/`.

mod credentials;
#[expect(clippy::derivable_impls, reason = "what each is unless told is seen at a glance")]
mod generated;

use std::time::Duration;

use crate::error::{Error, Result};

pub use credentials::{Auth, SaslOptions};
pub(crate) use credentials::{is_pem, path_of};
pub use generated::{
    ClientOptions, CounterLayout, CounterOptions, ElectionLayout, ElectionOptions, GroupLayout, GroupOptions,
    LockOptions, PartitionerOptions, QueueLayout, QueueOptions, RetryOptions, TlsOptions,
};

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

impl ClientOptions {
    /// One more credential to present to the server.
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth.push(auth);
        self
    }

    /// Checks every option; the error names the one at fault.
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()?;
        if self.server_tick.is_some_and(|tick| tick > self.session_timeout / 2) {
            return Err(Error::invalid(
                "server_tick",
                "must be at most half of session_timeout: the servers grant no less than two ticks",
            ));
        }
        if self.retry.max < self.retry.base {
            return Err(Error::invalid("retry.max", "must not be shorter than retry.base"));
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
