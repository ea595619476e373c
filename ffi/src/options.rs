//! Options. Every struct begins with its own size, so later versions can add fields at the end: a field that the
//! caller's header does not know keeps its default, a field that this library does not know must be zero.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use zkrecipes::{
    AclChoice, AclEntry, Auth, ClientOptions, Error, LeaseMode, LockOptions, Naming, Result, RetryOptions,
    SaslOptions, TlsOptions,
};

use crate::input;

/// A C `bool` as it comes from outside, where any byte is possible.
#[repr(transparent)]
#[derive(Copy, Clone, Default)]
pub struct Flag(u8);

impl Flag {
    const ON: Flag = Flag(1);

    fn get(self, argument: &str) -> Result<bool> {
        match self.0 {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::invalid(argument, format_args!("{other} is neither true nor false"))),
        }
    }
}

/// Who may touch the nodes that we create.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_acl {
    /// ZKR_ACL_CREATOR when credentials are given, else ZKR_ACL_OPEN.
    ZKR_ACL_DEFAULT = 0,
    /// Everybody may do everything.
    ZKR_ACL_OPEN = 1,
    /// Only whoever presents the same credentials.
    ZKR_ACL_CREATOR = 2,
    /// The entries of acl_list.
    ZKR_ACL_LIST = 3,
}

/// Whose node names to use, so that others on the same path take part.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_naming {
    /// Apache Curator's.
    ZKR_NAMING_CURATOR = 0,
    /// kazoo's.
    ZKR_NAMING_KAZOO = 1,
    /// The recipes that ship with ZooKeeper.
    ZKR_NAMING_ZOOKEEPER = 2,
}

/// What the heartbeat of a holder proves.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_lease {
    /// That the quorum still honours the session.
    ZKR_LEASE_STRICT = 0,
    /// Less: around a partition two clients may both believe that they hold for a few seconds. It saves the servers a
    /// write per quarter of the session timeout.
    ZKR_LEASE_RELAXED = 1,
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

/// How a client connects and behaves. Start from ZKR_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_options {
    /// sizeof(zkr_options), as ZKR_OPTIONS_INIT sets it.
    pub size: usize,
    /// How long the server keeps the session of a silent client (10,000); the server may negotiate it.
    pub session_timeout_ms: i64,
    /// How long connecting may take before ZKR_CONNECTION_LOST (10,000); any negative is for ever.
    pub connect_timeout_ms: i64,
    /// Written into contender nodes so that people see who holds what; NULL is "host:pid".
    pub identity: *const c_char,
    /// Credentials to present to the server.
    pub auth: *const zkr_auth,
    pub auth_count: usize,
    /// Who may touch the nodes that we create.
    pub acl: GivenAcl,
    /// The entries for ZKR_ACL_LIST.
    pub acl_list: *const zkr_acl_entry,
    pub acl_count: usize,
    /// Speak TLS to the servers.
    pub tls: Flag,
    /// Whether the server's certificate must name its host (true).
    pub tls_verify_hostname: Flag,
    /// PEM files: the authorities to trust, our own certificate, its key.
    pub tls_ca: *const c_char,
    pub tls_cert: *const c_char,
    pub tls_key: *const c_char,
    /// SASL DIGEST-MD5; NULL is none.
    pub sasl_user: *const c_char,
    pub sasl_password: *const c_char,
    /// Whose node names to use (ZKR_NAMING_CURATOR).
    pub naming: GivenNaming,
    /// What the heartbeat of a holder proves (ZKR_LEASE_STRICT).
    pub lease: GivenLease,
    /// When the connection breaks: the first pause before trying again (50), the longest (5,000), and when to give up
    /// with ZKR_CONNECTION_LOST (any negative: after connect_timeout_ms).
    pub retry_base_ms: i64,
    pub retry_max_ms: i64,
    pub retry_give_up_after_ms: i64,
    /// Accept a server that lost its quorum and only reads.
    pub read_only: Flag,
}

/// How a lock behaves. Start from ZKR_LOCK_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_lock_options {
    /// sizeof(zkr_lock_options), as ZKR_LOCK_OPTIONS_INIT sets it.
    pub size: usize,
    /// The handle is the owner: nested acquisitions count. Never share such a handle between threads that must exclude
    /// each other.
    pub reentrant: Flag,
    /// How many times waiters of this process may pass the turn on in memory before they let others in (0: never).
    pub local_handoff: u32,
}

/// A struct that begins with its size.
pub(crate) trait SelfSized: Copy {
    const INIT: &'static str;
    /// Where the fields of version 0.1 end: every caller has at least those.
    const LEAST: usize;
    fn defaults() -> Self;
}

// Larger than any version of these structs will be: what claims more is not one of them.
const ABSURD: usize = 4096;

/// Reads a sized struct; NULL is the defaults.
pub(crate) fn read<T: SelfSized>(given: *const T) -> Result<T> {
    let mut options = T::defaults();
    if given.is_null() {
        return Ok(options);
    }
    let invalid = |problem: String| Error::invalid("options", problem);
    // SAFETY: the header asks for a struct that begins with its size and is as large as it says.
    let size = unsafe { given.cast::<usize>().read_unaligned() };
    if !(T::LEAST..=ABSURD).contains(&size) {
        return Err(invalid(format!("its size says {size}; initialise it with {}", T::INIT)));
    }
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes are there in both; every field takes any bytes, which is why flags and choices are not
    // Rust's own bool and enum.
    let unknown = unsafe {
        std::ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut options).cast::<u8>(), known);
        std::slice::from_raw_parts(given.cast::<u8>().add(known), size - known)
    };
    if unknown.iter().any(|byte| *byte != 0) {
        return Err(invalid(format!(
            "a field is set that zkrecipes {} does not know; build against the header of the library in use",
            zkrecipes::version()
        )));
    }
    Ok(options)
}

impl SelfSized for zkr_options {
    const INIT: &'static str = "ZKR_OPTIONS_INIT";
    const LEAST: usize = size_of::<zkr_options>();

    fn defaults() -> zkr_options {
        zkr_options {
            size: size_of::<zkr_options>(),
            session_timeout_ms: 10_000,
            connect_timeout_ms: 10_000,
            identity: std::ptr::null(),
            auth: std::ptr::null(),
            auth_count: 0,
            acl: GivenAcl(0),
            acl_list: std::ptr::null(),
            acl_count: 0,
            tls: Flag::default(),
            tls_verify_hostname: Flag::ON,
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
            read_only: Flag::default(),
        }
    }
}

impl SelfSized for zkr_lock_options {
    const INIT: &'static str = "ZKR_LOCK_OPTIONS_INIT";
    const LEAST: usize = size_of::<zkr_lock_options>();

    fn defaults() -> zkr_lock_options {
        zkr_lock_options { size: size_of::<zkr_lock_options>(), reentrant: Flag::default(), local_handoff: 0 }
    }
}

impl zkr_options {
    pub(crate) fn convert(&self) -> Result<ClientOptions> {
        Ok(ClientOptions {
            session_timeout: millis("session_timeout_ms", self.session_timeout_ms)?,
            connect_timeout: zkrecipes::time::from_millis("connect_timeout_ms", self.connect_timeout_ms)
                .unwrap_or(FOR_EVER),
            identity: input::optional_text("identity", self.identity)?,
            auth: input::slice("auth", self.auth, self.auth_count)?
                .iter()
                .map(auth)
                .collect::<Result<_>>()?,
            acl: self.acl()?,
            tls: self.tls()?,
            sasl: self.sasl()?,
            naming: match choice("naming", self.naming.0, &NAMINGS)? {
                zkr_naming::ZKR_NAMING_CURATOR => Naming::Curator,
                zkr_naming::ZKR_NAMING_KAZOO => Naming::Kazoo,
                zkr_naming::ZKR_NAMING_ZOOKEEPER => Naming::Zookeeper,
            },
            lease: match choice("lease", self.lease.0, &LEASES)? {
                zkr_lease::ZKR_LEASE_STRICT => LeaseMode::Strict,
                zkr_lease::ZKR_LEASE_RELAXED => LeaseMode::Relaxed,
            },
            retry: RetryOptions {
                base: millis("retry_base_ms", self.retry_base_ms)?,
                max: millis("retry_max_ms", self.retry_max_ms)?,
                give_up_after: zkrecipes::time::from_millis(
                    "retry_give_up_after_ms",
                    self.retry_give_up_after_ms,
                ),
            },
            read_only: self.read_only.get("read_only")?,
        })
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
        let verify_hostname = self.tls_verify_hostname.get("tls_verify_hostname")?;
        let ca = input::optional_text("tls_ca", self.tls_ca)?;
        let cert = input::optional_text("tls_cert", self.tls_cert)?;
        let key = input::optional_text("tls_key", self.tls_key)?;
        if self.tls.get("tls")? {
            return Ok(Some(TlsOptions { ca, cert, key, verify_hostname }));
        }
        if ca.is_some() || cert.is_some() || key.is_some() {
            return Err(Error::invalid("tls", "is off although TLS files are given; set it to true"));
        }
        Ok(None)
    }

    fn sasl(&self) -> Result<Option<SaslOptions>> {
        let user = input::optional_text("sasl_user", self.sasl_user)?;
        let password = input::optional_text("sasl_password", self.sasl_password)?;
        match (user, password) {
            (Some(user), Some(password)) => Ok(Some(SaslOptions { user, password })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(Error::invalid("sasl_password", "is NULL although sasl_user is given")),
            (None, Some(_)) => Err(Error::invalid("sasl_user", "is NULL although sasl_password is given")),
        }
    }
}

impl zkr_lock_options {
    pub(crate) fn convert(&self) -> Result<LockOptions> {
        Ok(LockOptions { reentrant: self.reentrant.get("reentrant")?, local_handoff: self.local_handoff })
    }
}

// The longest that the core takes for an option; the wire counts milliseconds in 31 bits.
const FOR_EVER: Duration = Duration::from_millis(i32::MAX as u64);

fn millis(argument: &str, given: i64) -> Result<Duration> {
    match u64::try_from(given) {
        Ok(ms) => Ok(Duration::from_millis(ms)),
        Err(_) => Err(Error::invalid(argument, format_args!("{given} is negative; give milliseconds"))),
    }
}

fn auth(given: &zkr_auth) -> Result<Auth> {
    Ok(Auth {
        scheme: input::text("auth.scheme", given.scheme)?,
        credential: input::bytes("auth.credential", given.credential, given.credential_size)?,
    })
}

fn acl_entry(given: &zkr_acl_entry) -> Result<AclEntry> {
    Ok(AclEntry {
        scheme: input::text("acl_list.scheme", given.scheme)?,
        id: input::text("acl_list.id", given.id)?,
        permissions: input::text("acl_list.permissions", given.permissions)?,
    })
}

// In the order of their values.
const ACLS: [zkr_acl; 4] =
    [zkr_acl::ZKR_ACL_DEFAULT, zkr_acl::ZKR_ACL_OPEN, zkr_acl::ZKR_ACL_CREATOR, zkr_acl::ZKR_ACL_LIST];
const NAMINGS: [zkr_naming; 3] =
    [zkr_naming::ZKR_NAMING_CURATOR, zkr_naming::ZKR_NAMING_KAZOO, zkr_naming::ZKR_NAMING_ZOOKEEPER];
const LEASES: [zkr_lease; 2] = [zkr_lease::ZKR_LEASE_STRICT, zkr_lease::ZKR_LEASE_RELAXED];

/// A choice from C, where an enum can have any value.
pub(crate) fn choice<T: Copy>(argument: &str, given: i32, all: &[T]) -> Result<T> {
    let known = usize::try_from(given).ok().and_then(|index| all.get(index));
    known.copied().ok_or_else(|| Error::invalid(argument, format_args!("{given} is none of its choices")))
}
