//! What every command takes: which servers, and how to appear there.

use std::sync::OnceLock;
use std::time::Duration;

use zeroize::Zeroizing;
use zkrecipes::drive::log::{self, Level, Listener};
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Auth, Client, ClientOptions, SaslOptions, TlsOptions};

use crate::args;
use crate::contenders::Onlooker;
use crate::outcome::{self, Failure, Outcome};

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
    /// How long to try to reach a server (10s)
    #[arg(long, global = true, value_name = "TIME", value_parser = args::duration)]
    connect_timeout: Option<Duration>,
    /// Such as digest:user:password, as often as needed; otherwise ZKRECIPES_AUTH, which other users of the machine
    /// cannot see with ps
    // Taken apart later: what is wrong with a value is told together with the value.
    #[arg(long, global = true, value_name = "SCHEME:CREDENTIAL")]
    auth: Vec<Zeroizing<String>>,
    /// Present it over plain text to other machines, too
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
    /// SASL with DIGEST-MD5; otherwise ZKRECIPES_SASL
    #[arg(long, global = true, value_name = "USER:PASSWORD")]
    sasl: Option<Zeroizing<String>>,
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
        options.connect_timeout = self.connect_timeout.unwrap_or(options.connect_timeout);
        options.identity = self.identity;
        for given in &self.auth {
            options.auth.push(auth(given, "--auth")?);
        }
        options.allow_plaintext_auth = self.allow_plaintext_auth;
        let tls = Tls { ca: self.tls_ca, cert: self.tls_cert, key: self.tls_key };
        options.tls = tls.options(!self.tls_no_verify_hostname);
        options.sasl = match (self.sasl, secret("ZKRECIPES_SASL")) {
            (Some(given), _) => Some(sasl(&given, "--sasl")?),
            (None, Some(given)) => Some(sasl(&given, "ZKRECIPES_SASL")?),
            (None, None) => None,
        };
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
        if options.auth.is_empty()
            && let Some(given) = secret("ZKRECIPES_AUTH")
        {
            options.auth.push(auth(&given, "ZKRECIPES_AUTH")?);
        }
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

/// What the command line says of TLS.
struct Tls {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<Zeroizing<String>>,
}

impl Tls {
    /// With what the environment adds; `None` for plain text.
    fn options(self, verify_hostname: bool) -> Option<TlsOptions> {
        let mut options = TlsOptions::default().verify_hostname(verify_hostname);
        options.ca = self.ca.or_else(|| variable("ZKRECIPES_TLS_CA"));
        // A certificate and its key come from one place.
        let (cert, key) = match (self.cert, self.key) {
            (None, None) => (variable("ZKRECIPES_TLS_CERT"), secret("ZKRECIPES_TLS_KEY")),
            given => given,
        };
        (options.cert, options.key) = (cert, key.map(|mut key| std::mem::take(&mut *key)));
        let is_asked_for = options.ca.is_some() || options.cert.is_some() || options.key.is_some();
        (is_asked_for || !verify_hostname).then_some(options)
    }
}

/// The servers that the environment names.
fn from_environment() -> Outcome<String> {
    let Some(given) = variable("ZKRECIPES_HOSTS") else {
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

/// A variable of the environment; an empty one is none.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn secret(name: &str) -> Option<Zeroizing<String>> {
    variable(name).map(Zeroizing::new)
}

/// The message does not repeat what was given: it may be a password.
fn auth(given: &str, from: &str) -> Outcome<Auth> {
    match given.split_once(':') {
        Some((scheme, credential)) if !scheme.is_empty() => Ok(Auth::new(scheme, credential)),
        _ => Err(Failure::usage(format!("{from} is scheme:credential, such as digest:user:password"))),
    }
}

/// As above.
fn sasl(given: &str, from: &str) -> Outcome<SaslOptions> {
    match given.split_once(':') {
        Some((user, password)) if !user.is_empty() => Ok(SaslOptions::new(user, password)),
        _ => Err(Failure::usage(format!("{from} is user:password"))),
    }
}
