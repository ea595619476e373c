//! Options. Every struct begins with its own size, so later versions can add fields at the end: a field that the
//! caller's header does not know keeps its default, a field that this library does not know must be zero.
//!
//! No struct has padding: what would be some is a reserved field. A later version may give it a meaning, in which zero
//! is what went without saying before; callers of today have zero there, and anything else is refused.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use zkrecipes::{AclChoice, AclEntry, Auth, Error, Result, SaslOptions, TlsOptions, time};

use crate::input;
pub(crate) use crate::sized::{Flag, SelfSized, read};

/// Who may touch the nodes that we create.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_acl {
    // --- generated from api: values of AclChoice
    /// ZKR_ACL_CREATOR when credentials are given, else ZKR_ACL_OPEN.
    ZKR_ACL_DEFAULT = 0,
    /// Everybody may do everything.
    ZKR_ACL_OPEN = 1,
    /// Only whoever presents the same credentials.
    ZKR_ACL_CREATOR = 2,
    /// The entries of acl_list.
    ZKR_ACL_LIST = 3,
    // --- end of generated
}

/// Whose node names to use, so that others on the same path take part.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_naming {
    // --- generated from api: values of Naming
    /// Apache Curator's.
    ZKR_NAMING_CURATOR = 0,
    /// kazoo's.
    ZKR_NAMING_KAZOO = 1,
    /// The recipes that ship with ZooKeeper.
    ZKR_NAMING_ZOOKEEPER = 2,
    // --- end of generated
}

/// What the heartbeat of a holder proves.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_lease {
    // --- generated from api: values of LeaseMode
    /// That the quorum still honours the session.
    ZKR_LEASE_STRICT = 0,
    /// Less: around a partition two clients may both believe that they hold for a few seconds. It saves the servers a
    /// write per eighth of the session timeout.
    ZKR_LEASE_RELAXED = 1,
    // --- end of generated
}

/// A zkr_acl from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenAcl(i32);

/// A zkr_naming from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenNaming(i32);

/// A zkr_lease from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenLease(i32);

/// A credential to present to the server, such as scheme "digest" and credential "user:password".
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_auth {
    pub scheme: *const c_char,
    pub credential: *const c_void,
    pub credential_size: usize,
}

/// One entry of an explicit access list.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_acl_entry {
    /// "world", "auth", "digest", "ip", "x509" or "sasl".
    pub scheme: *const c_char,
    /// The identity under that scheme, "anyone" for "world".
    pub id: *const c_char,
    /// Letters of "rwcda": read, write, create, delete, admin.
    pub permissions: *const c_char,
}

// --- generated from api: options of the client in C

/// How a client connects and behaves. Start from ZKR_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_options {
    /// sizeof(zkr_options), as ZKR_OPTIONS_INIT sets it.
    pub size: usize,
    /// How long the servers keep the session of a client that they do not hear from. After that, what it held is free for
    /// others. The servers may grant more or less: zkr_client_session_timeout tells. Unless told: 10,000.
    pub session_timeout_ms: i64,
    /// How long connecting may take before ZKR_CONNECTION_LOST. Any negative is for ever. Unless told: 10,000.
    pub connect_timeout_ms: i64,
    /// Written into contender nodes so that people see who holds what; host:pid when not given.
    pub identity: *const c_char,
    /// Credentials to present to the servers: a scheme such as digest, and a credential such as user:password.
    pub auth: *const zkr_auth,
    /// How many credentials there are at auth.
    pub auth_count: usize,
    /// Who may touch the nodes that we create: everybody (ZKR_ACL_OPEN), whoever presents the same credentials
    /// (ZKR_ACL_CREATOR), or a list of scheme, id and letters of rwcda. By default ZKR_ACL_CREATOR if credentials are
    /// given, else ZKR_ACL_OPEN.
    pub acl: GivenAcl,
    /// Zero.
    pub reserved_1: u32,
    /// The entries, for ZKR_ACL_LIST.
    pub acl_list: *const zkr_acl_entry,
    /// How many entries there are at acl_list.
    pub acl_count: usize,
    /// TLS towards the servers. Set it to true together with what it needs.
    pub tls: Flag,
    /// Whether the server's certificate must name the host of the connect string. Unless told: true.
    pub tls_verify_hostname: Flag,
    /// Zero.
    pub reserved_2: [u8; 6],
    /// The authorities to trust, and their revocation lists if there are any. It must be given.
    pub tls_ca: *const c_char,
    /// Our own certificate and what leads from it to an authority, for servers that ask who we are; together with tls_key.
    pub tls_cert: *const c_char,
    /// The private key of tls_cert, without a passphrase.
    pub tls_key: *const c_char,
    /// Who we are.
    pub sasl_user: *const c_char,
    /// How we prove it; it does not travel itself.
    pub sasl_password: *const c_char,
    /// Whose node names to use, so that others on the same path take part: Curator's (ZKR_NAMING_CURATOR), kazoo's
    /// (ZKR_NAMING_KAZOO), or those of the recipes that ship with ZooKeeper (ZKR_NAMING_ZOOKEEPER). Unless told:
    /// ZKR_NAMING_CURATOR.
    pub naming: GivenNaming,
    /// What the heartbeat of a holder proves. ZKR_LEASE_STRICT: that a majority of the servers still honours the session.
    /// ZKR_LEASE_RELAXED: less, for less work of the servers; for a few seconds around a partition two clients may both
    /// believe that they hold. Unless told: ZKR_LEASE_STRICT.
    pub lease: GivenLease,
    /// The first pause before a call tries again. Unless told: 50.
    pub retry_base_ms: i64,
    /// The longest pause; pauses double up to it. Unless told: 5,000.
    pub retry_max_ms: i64,
    /// How long a call goes without a server before ZKR_CONNECTION_LOST; connect_timeout_ms if it is not given. Any
    /// negative is not given.
    pub retry_give_up_after_ms: i64,
    /// Accept a server that has lost its majority and only reads.
    pub read_only: Flag,
    /// Zero.
    pub reserved_3: [u8; 7],
    /// Whether auth and sasl may travel over plain text, where everybody on the way can read the one, and guess the
    /// password of the other. Without it, they travel over TLS and to servers on this machine (localhost, 127.0.0.0/8, ::1)
    /// only.
    pub allow_plaintext_auth: Flag,
    /// Zero.
    pub reserved_4: [u8; 7],
    /// The largest tickTime of every server that may lead; doubled for clients of an observer that follows a follower
    /// (observerMasterPort). With a quarter of the session timeout or less, a pause of half of that costs nothing that is
    /// held; without it, of three tenths. zkrecipes doctor says what to give. 0: nobody knows.
    pub server_tick_ms: i64,
    /// Whether to refuse (ZKR_DENIED) a path that somebody else has made so that everybody may delete below it, where nodes
    /// of ours are not everybody's. Without it there is a warning in the log, once per path.
    pub refuse_open_parents: Flag,
    /// Zero.
    pub reserved_5: [u8; 7],
    /// How many requests may be on their way at once. What comes on top waits for an answer, and can be withdrawn
    /// meanwhile; heartbeats, pings and deletions do not wait. Unless told: 1,000.
    pub max_in_flight: u32,
    /// Zero.
    pub reserved_6: u32,
    /// Whether a revocation list in tls_ca still counts when its time has passed (its nextUpdate). Without it, the
    /// certificates that the list is about are refused then: nobody says which were revoked since.
    pub tls_allow_expired_crls: Flag,
    /// Zero.
    pub reserved_7: [u8; 7],
}

impl SelfSized for zkr_options {
    const INIT: &'static str = "ZKR_OPTIONS_INIT";
    const LEAST: usize = std::mem::offset_of!(zkr_options, reserved_3) + size_of::<[u8; 7]>();
    const NAMED_OTHERWISE: &'static [(&'static str, &'static str)] = &[
        ("session_timeout", "session_timeout_ms"),
        ("connect_timeout", "connect_timeout_ms"),
        ("retry.base", "retry_base_ms"),
        ("retry.max", "retry_max_ms"),
        ("retry.give_up_after", "retry_give_up_after_ms"),
        ("server_tick", "server_tick_ms"),
    ];

    fn defaults() -> zkr_options {
        zkr_options {
            size: size_of::<zkr_options>(),
            session_timeout_ms: 10_000,
            connect_timeout_ms: 10_000,
            identity: std::ptr::null(),
            auth: std::ptr::null(),
            auth_count: 0,
            acl: GivenAcl(0),
            reserved_1: 0,
            acl_list: std::ptr::null(),
            acl_count: 0,
            tls: Flag(0),
            tls_verify_hostname: Flag(1),
            reserved_2: [0; 6],
            tls_ca: std::ptr::null(),
            tls_cert: std::ptr::null(),
            tls_key: std::ptr::null(),
            sasl_user: std::ptr::null(),
            sasl_password: std::ptr::null(),
            naming: GivenNaming(0),
            lease: GivenLease(0),
            retry_base_ms: 50,
            retry_max_ms: 5_000,
            retry_give_up_after_ms: -1,
            read_only: Flag(0),
            reserved_3: [0; 7],
            allow_plaintext_auth: Flag(0),
            reserved_4: [0; 7],
            server_tick_ms: 0,
            refuse_open_parents: Flag(0),
            reserved_5: [0; 7],
            max_in_flight: 1_000,
            reserved_6: 0,
            tls_allow_expired_crls: Flag(0),
            reserved_7: [0; 7],
        }
    }

    fn reserved(&self) -> Vec<u8> {
        [
            &self.reserved_1.to_ne_bytes()[..],
            &self.reserved_2[..],
            &self.reserved_3[..],
            &self.reserved_4[..],
            &self.reserved_5[..],
            &self.reserved_6.to_ne_bytes()[..],
            &self.reserved_7[..],
        ]
        .concat()
    }
}

impl zkr_options {
    pub(crate) fn convert(&self) -> Result<zkrecipes::ClientOptions> {
        let mut options = zkrecipes::ClientOptions::default();
        options.session_timeout = input::millis("session_timeout_ms", self.session_timeout_ms)?;
        options.connect_timeout =
            time::from_millis("connect_timeout_ms", self.connect_timeout_ms).unwrap_or(FOR_EVER);
        options.identity = input::optional_text("identity", self.identity)?;
        options.auth = self.auth()?;
        options.allow_plaintext_auth = self.allow_plaintext_auth.get("allow_plaintext_auth")?;
        options.refuse_open_parents = self.refuse_open_parents.get("refuse_open_parents")?;
        options.acl = self.acl()?;
        options.tls = self.tls()?;
        options.sasl = self.sasl()?;
        options.naming = match choice(
            "naming",
            self.naming.0,
            &[zkr_naming::ZKR_NAMING_CURATOR, zkr_naming::ZKR_NAMING_KAZOO, zkr_naming::ZKR_NAMING_ZOOKEEPER],
        )? {
            zkr_naming::ZKR_NAMING_CURATOR => zkrecipes::Naming::Curator,
            zkr_naming::ZKR_NAMING_KAZOO => zkrecipes::Naming::Kazoo,
            zkr_naming::ZKR_NAMING_ZOOKEEPER => zkrecipes::Naming::Zookeeper,
        };
        options.lease = match choice(
            "lease",
            self.lease.0,
            &[zkr_lease::ZKR_LEASE_STRICT, zkr_lease::ZKR_LEASE_RELAXED],
        )? {
            zkr_lease::ZKR_LEASE_STRICT => zkrecipes::LeaseMode::Strict,
            zkr_lease::ZKR_LEASE_RELAXED => zkrecipes::LeaseMode::Relaxed,
        };
        options.retry.base = input::millis("retry_base_ms", self.retry_base_ms)?;
        options.retry.max = input::millis("retry_max_ms", self.retry_max_ms)?;
        options.retry.give_up_after =
            time::from_millis("retry_give_up_after_ms", self.retry_give_up_after_ms);
        options.read_only = self.read_only.get("read_only")?;
        if self.server_tick_ms != 0 {
            options.server_tick = Some(input::millis("server_tick_ms", self.server_tick_ms)?);
        }
        options.max_in_flight = self.max_in_flight;

        Ok(options)
    }

    fn tls_options(&self) -> Result<zkrecipes::TlsOptions> {
        let mut options = zkrecipes::TlsOptions::default();
        options.ca = input::optional_text("tls_ca", self.tls_ca)?;
        options.cert = input::optional_text("tls_cert", self.tls_cert)?;
        options.key = input::optional_text("tls_key", self.tls_key)?;
        options.verify_hostname = self.tls_verify_hostname.get("tls_verify_hostname")?;
        options.allow_expired_crls = self.tls_allow_expired_crls.get("tls_allow_expired_crls")?;

        Ok(options)
    }
}
// --- end of generated

/// The error about options with their names in C.
pub(crate) fn named_as_in_c(error: &Error) -> Error {
    let named = zkr_options::NAMED_OTHERWISE.iter();
    let message = named.fold(error.message(), |message, (name, in_c)| message.replace(name, in_c));
    Error::new(error.kind(), message)
}

impl zkr_options {
    fn auth(&self) -> Result<Vec<Auth>> {
        input::slice("auth", self.auth, self.auth_count)?.iter().map(auth).collect()
    }

    fn acl(&self) -> Result<AclChoice> {
        match choice("acl", self.acl.0, &ACLS)? {
            zkr_acl::ZKR_ACL_DEFAULT => Ok(AclChoice::Default),
            zkr_acl::ZKR_ACL_OPEN => Ok(AclChoice::Open),
            zkr_acl::ZKR_ACL_CREATOR => Ok(AclChoice::Creator),
            zkr_acl::ZKR_ACL_LIST => {
                let entries = input::slice("acl_list", self.acl_list, self.acl_count)?;
                Ok(AclChoice::List(entries.iter().map(acl_entry).collect::<Result<_>>()?))
            }
        }
    }

    fn tls(&self) -> Result<Option<TlsOptions>> {
        let options = self.tls_options()?;
        if self.tls.get("tls")? {
            return Ok(Some(options));
        }
        if options.ca.is_some() || options.cert.is_some() || options.key.is_some() {
            return Err(Error::invalid("tls", "is off although TLS files are given; set it to true"));
        }
        Ok(None)
    }

    fn sasl(&self) -> Result<Option<SaslOptions>> {
        let user = input::optional_text("sasl_user", self.sasl_user)?;
        let password = input::optional_text("sasl_password", self.sasl_password)?;
        let given = (user.is_some(), password.is_some());
        // They overwrite the password, however this ends.
        let options = SaslOptions::new(user.unwrap_or_default(), password.unwrap_or_default());
        match given {
            (true, true) => Ok(Some(options)),
            (false, false) => Ok(None),
            (true, false) => Err(Error::invalid("sasl_password", "is NULL although sasl_user is given")),
            (false, true) => Err(Error::invalid("sasl_user", "is NULL although sasl_password is given")),
        }
    }
}

// The longest that the core takes for an option; the wire counts milliseconds in 31 bits.
const FOR_EVER: Duration = Duration::from_millis(i32::MAX as u64);

fn auth(given: &zkr_auth) -> Result<Auth> {
    let scheme = input::text("auth.scheme", given.scheme)?;
    Ok(Auth::new(scheme, input::bytes("auth.credential", given.credential, given.credential_size)?))
}

fn acl_entry(given: &zkr_acl_entry) -> Result<AclEntry> {
    let scheme = input::text("acl_list.scheme", given.scheme)?;
    let id = input::text("acl_list.id", given.id)?;
    Ok(AclEntry::new(scheme, id, input::text("acl_list.permissions", given.permissions)?))
}

// In the order of their values.
const ACLS: [zkr_acl; 4] =
    [zkr_acl::ZKR_ACL_DEFAULT, zkr_acl::ZKR_ACL_OPEN, zkr_acl::ZKR_ACL_CREATOR, zkr_acl::ZKR_ACL_LIST];

/// A choice from C, where an enum can have any value.
pub(crate) fn choice<T: Copy>(argument: &str, given: i32, all: &[T]) -> Result<T> {
    let known = usize::try_from(given).ok().and_then(|index| all.get(index));
    known.copied().ok_or_else(|| Error::invalid(argument, format_args!("{given} is none of its choices")))
}

#[cfg(test)]
#[path = "../../core/tests/support/freed.rs"]
mod freed;

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &std::ffi::CStr = c"digest:planted-hunter2";

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_least_size_of_every_struct_is_that_of_version_0_1() {
        assert_eq!(zkr_options::LEAST, 160);
        assert_eq!(crate::lock::zkr_lock_options::LEAST, 16);
    }

    #[test]
    fn a_secret_is_overwritten_whatever_else_is_wrong() {
        let auth = |scheme| zkr_auth {
            scheme,
            credential: SECRET.as_ptr().cast(),
            credential_size: SECRET.count_bytes(),
        };
        let both = [auth(c"digest".as_ptr()), auth(std::ptr::null())];
        let with = |set: &dyn Fn(&mut zkr_options)| {
            let mut options = zkr_options::defaults();
            set(&mut options);
            let convert = || assert!(options.convert().is_err());
            freed::holding(SECRET.to_bytes(), convert)
        };
        let bad = c"\xff".as_ptr();
        type Set<'a> = &'a dyn Fn(&mut zkr_options);
        let wrong: [(&str, Set); 6] = [
            ("the second credential", &|options| (options.auth, options.auth_count) = (both.as_ptr(), 2)),
            ("tls is off", &|options| options.tls_key = SECRET.as_ptr()),
            ("tls is neither", &|options| (options.tls, options.tls_key) = (Flag(7), SECRET.as_ptr())),
            ("no user", &|options| options.sasl_password = SECRET.as_ptr()),
            ("no text for a user", &|options| {
                (options.sasl_user, options.sasl_password) = (bad, SECRET.as_ptr());
            }),
            ("what comes later", &|options| {
                (options.tls, options.tls_key) = (Flag(1), SECRET.as_ptr());
                (options.sasl_user, options.sasl_password) = (c"me".as_ptr(), SECRET.as_ptr());
                options.retry_max_ms = -1;
            }),
        ];
        for (what, set) in wrong {
            assert_eq!(with(set), 0, "{what}");
        }
    }
}
