//! What every command takes: which servers, and how to appear there.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use zeroize::Zeroizing;
use zkrecipes::drive::log::{self, Level, Listener};
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, ClientOptions};

use crate::args;
use crate::contenders::Onlooker;
use crate::credentials::{self, Tls};
use crate::outcome::{self, Failure, Outcome};
use crate::skipped;

/// The options of every command.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Common {
    /// Servers, such as zk1:2181,zk2:2181/app; otherwise ZKRECIPES_HOSTS
    #[arg(long, global = true)]
    hosts: Option<String>,
    /// How long the servers keep the session of a silent client (10s)
    #[arg(long, global = true, value_name = "TIME", value_parser = args::duration)]
    session_timeout: Option<Duration>,
    /// The largest tickTime of every server that may lead; doctor says what to give
    #[arg(long, global = true, value_name = "TIME", value_parser = args::duration)]
    server_tick: Option<Duration>,
    /// How long to try to reach a server (10s)
    #[arg(long, global = true, value_name = "TIME", value_parser = args::duration)]
    connect_timeout: Option<Duration>,
    /// Refuse paths below which everybody may delete, for whoever made them let them: else a warning tells of it
    #[arg(long, global = true)]
    refuse_open_parents: bool,
    /// Such as digest:user:password, as often as needed; otherwise ZKRECIPES_AUTH, which other users of the machine
    /// cannot see with ps
    // Taken apart later: what is wrong with a value is told together with the value.
    #[arg(long, global = true, value_name = "SCHEME:CREDENTIAL")]
    auth: Vec<Zeroizing<String>>,
    /// A file with the same, one in a line, that nobody else may read; otherwise ZKRECIPES_AUTH_FILE
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "auth")]
    auth_file: Option<PathBuf>,
    /// Present it, or prove who we are by --sasl, over plain text to other machines, too
    #[arg(long, global = true)]
    allow_plaintext_auth: bool,
    /// Speak TLS, and trust these authorities (PEM); otherwise ZKRECIPES_TLS_CA
    #[arg(long, global = true, value_name = "FILE")]
    tls_ca: Option<String>,
    /// Our own certificate (PEM); otherwise ZKRECIPES_TLS_CERT
    #[arg(long, global = true, value_name = "FILE")]
    tls_cert: Option<String>,
    /// Its private key (PEM); otherwise ZKRECIPES_TLS_KEY
    #[arg(long, global = true, value_name = "FILE")]
    tls_key: Option<Zeroizing<String>>,
    /// Take a certificate that is for another host
    #[arg(long, global = true)]
    tls_no_verify_hostname: bool,
    /// Go by a revocation list whose time has passed
    #[arg(long, global = true)]
    tls_allow_expired_crls: bool,
    /// SASL with DIGEST-MD5; otherwise ZKRECIPES_SASL
    #[arg(long, global = true, value_name = "USER:PASSWORD")]
    sasl: Option<Zeroizing<String>>,
    /// A file with the same, that nobody else may read; otherwise ZKRECIPES_SASL_FILE
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "sasl")]
    sasl_file: Option<PathBuf>,
    /// Say on stderr what happens to the client; twice for every detail
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// What others see as the holder (host:pid)
    #[arg(long, global = true, value_name = "NAME")]
    identity: Option<String>,
    /// Whose node names to use: curator, kazoo or zookeeper (curator); whoever only looks recognises them all, and needs
    /// it only for a semaphore of kazoo's that nobody holds
    #[arg(long, global = true, value_name = "NAMES")]
    naming: Option<String>,
}

/// How long the end of a command may take: what is left then ends with the session.
const CLOSING: Duration = Duration::from_secs(2);

/// What the library says of itself goes to stderr from now on.
fn listen(level: Level) {
    static STDERR: OnceLock<Listener> = OnceLock::new();
    STDERR.get_or_init(|| log::to_stderr(level)).set_level(level);
}

impl Common {
    /// Runs `body` with a client, which is closed afterwards.
    pub(crate) fn with_client<T>(
        self,
        cancel: &CancelToken,
        body: impl FnOnce(&Client) -> Outcome<T>,
    ) -> Outcome<T> {
        self.looking(cancel, |onlooker| body(&onlooker.client))
    }

    /// Runs `body` with somebody who can look at any path, and who leaves afterwards.
    pub(crate) fn looking<T>(
        self,
        cancel: &CancelToken,
        body: impl FnOnce(&Onlooker) -> Outcome<T>,
    ) -> Outcome<T> {
        skipped::listen();
        let onlooker = self.connect(cancel)?;
        let outcome = body(&onlooker);
        // Not confirmed: the session ends by itself, and everything of it.
        let _ = drive::wait(async move { onlooker.close(CLOSING).await }, None, None);
        outcome
    }

    /// The servers and the options, with what the environment adds.
    pub(crate) fn resolved(self) -> Outcome<(String, ClientOptions)> {
        match self.verbose {
            0 => {}
            1 => listen(Level::Info),
            _ => listen(Level::Debug),
        }
        let mut options = ClientOptions::default();
        options.session_timeout = self.session_timeout.unwrap_or(options.session_timeout);
        options.server_tick = self.server_tick;
        options.connect_timeout = self.connect_timeout.unwrap_or(options.connect_timeout);
        options.identity = self.identity;
        options.auth = credentials::auth(&self.auth, self.auth_file.as_deref())?;
        options.allow_plaintext_auth = self.allow_plaintext_auth;
        options.refuse_open_parents = self.refuse_open_parents;
        let tls = Tls { ca: self.tls_ca, cert: self.tls_cert, key: self.tls_key };
        options.tls = tls.options(!self.tls_no_verify_hostname, self.tls_allow_expired_crls);
        options.sasl = credentials::sasl(self.sasl.as_ref(), self.sasl_file.as_deref())?;
        if let Some(naming) = self.naming {
            options.naming = naming.parse()?;
        }
        let hosts = match self.hosts {
            Some(given) if given.is_empty() => {
                return Err(Failure::usage("--hosts is empty; write host:port, separated by commas"));
            }
            Some(given) => drive::resolve_hosts(&given)?,
            None => from_environment()?,
        };
        Ok((hosts, options))
    }

    fn connect(self, cancel: &CancelToken) -> Outcome<Onlooker> {
        let (hosts, options) = self.resolved()?;
        let connecting = async move {
            let client = Client::connect(&hosts, options.clone()).await?;
            Ok(Onlooker::new(client, hosts, options))
        };
        Ok(drive::wait(connecting, Some(cancel), None)?)
    }
}

/// The servers that the environment names.
fn from_environment() -> Outcome<String> {
    let Some(given) = credentials::variable("ZKRECIPES_HOSTS") else {
        return Err(Failure::usage(
            "no servers are named: give --hosts zk1:2181,zk2:2181 or set ZKRECIPES_HOSTS",
        ));
    };
    let hosts = drive::resolve_hosts("")?;
    if given.starts_with("embedded:") {
        // The log says it as well, but only to those who ask for it.
        outcome::say(
            "WARNING: ZKRECIPES_HOSTS is embedded: this command has a server of its own, in memory, and nobody else sees what \
             it does there",
        );
    }
    Ok(hosts)
}
