//! A setter for each option, so that options are written as one expression: outside this crate the structs cannot be
//! written as literals, because a later version may add a field.

use std::time::Duration;

use super::{
    AclChoice, Auth, ClientOptions, CounterLayout, CounterOptions, ElectionLayout, ElectionOptions,
    GroupLayout, GroupOptions, LeaseMode, LockOptions, Naming, QueueLayout, QueueOptions, RetryOptions,
    SaslOptions, TlsOptions,
};

/// `field: type` becomes a consuming method of that name; `= value` says how the argument becomes the field's value.
macro_rules! setters {
    ($options:ident { $($(#[$doc:meta])* $field:ident: $type:ty = $value:expr;)* }) => {
        impl $options {$(
            $(#[$doc])*
            pub fn $field(mut self, $field: $type) -> Self {
                self.$field = $value;
                self
            }
        )*}
    };
}

setters! { ClientOptions {
    /// How long the server keeps the session of a silent client.
    session_timeout: Duration = session_timeout;
    /// How long `connect` tries before ConnectionLost.
    connect_timeout: Duration = connect_timeout;
    /// The name of a holder that others see, instead of `host:pid`.
    identity: impl Into<String> = Some(identity.into());
    /// Who may touch the nodes that we create.
    acl: AclChoice = acl;
    /// Whether `auth` and `sasl` may travel over plain text to servers of other machines.
    allow_plaintext_auth: bool = allow_plaintext_auth;
    /// Whether to refuse a path that somebody else has made so that everybody may delete below it.
    refuse_open_parents: bool = refuse_open_parents;
    /// TLS towards the server.
    tls: TlsOptions = Some(tls);
    /// SASL towards the server.
    sasl: SaslOptions = Some(sasl);
    /// Whose node names to use.
    naming: Naming = naming;
    /// How verbs retry when the connection breaks.
    retry: RetryOptions = retry;
    /// What the heartbeat of a holder proves.
    lease: LeaseMode = lease;
    /// The largest tick of every server that may lead.
    server_tick: Duration = Some(server_tick);
    /// Whether to accept a server that lost its quorum and only reads.
    read_only: bool = read_only;
    /// How many requests may be on their way at once.
    max_in_flight: u32 = max_in_flight;
} }

impl ClientOptions {
    /// One more credential to present to the server.
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth.push(auth);
        self
    }
}

setters! { TlsOptions {
    /// PEM of the authorities to trust.
    ca: impl Into<String> = Some(ca.into());
    /// PEM of our own certificate.
    cert: impl Into<String> = Some(cert.into());
    /// PEM of our own key.
    key: impl Into<String> = Some(key.into());
    /// Whether the server's certificate must name its host.
    verify_hostname: bool = verify_hostname;
    /// Whether a revocation list still counts when its time has passed.
    allow_expired_crls: bool = allow_expired_crls;
} }

setters! { RetryOptions {
    /// The first pause.
    base: Duration = base;
    /// The longest pause.
    max: Duration = max;
    /// How long without a server a verb goes on before it answers ConnectionLost.
    give_up_after: Duration = Some(give_up_after);
} }

setters! { LockOptions {
    /// Whether the handle is the owner, so that nested acquisitions count.
    reentrant: bool = reentrant;
    /// How many times waiters of one client may pass the turn on in memory before they let others in.
    local_handoff: u32 = local_handoff;
} }

setters! { CounterOptions {
    /// Which of Curator's counters takes part.
    layout: CounterLayout = layout;
} }

setters! { GroupOptions {
    /// Where the members are.
    layout: GroupLayout = Some(layout);
} }

setters! { ElectionOptions {
    /// Which of Curator's elections takes part.
    layout: ElectionLayout = layout;
} }

setters! { QueueOptions {
    /// How many items there may be.
    max_items: usize = Some(max_items);
    /// Whether an item goes when the session of the client that put it ends.
    ephemeral: bool = ephemeral;
    /// Over how many nodes the items are spread.
    shards: usize = shards;
    /// How often an item is claimed before it goes to the dead letters; zero for no end.
    max_attempts: u32 = max_attempts;
    /// Whose queue it takes part in.
    layout: QueueLayout = layout;
} }
