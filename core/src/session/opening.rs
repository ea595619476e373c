//! Opening a session: with the credentials that may travel there, again until a server answers, and with the reason when
//! none will ever take us.

use std::sync::Arc;

use super::clock::Clock;
use super::server_session::ServerSession;
use super::wire::own::Own;
use super::wire::{Dial, Noted, WireError};
use crate::error::{Error, ErrorKind, Result};
use crate::hosts;
use crate::log;
use crate::metrics::Counters;
use crate::options::ClientOptions;
use crate::tls::{self, Tls};

/// What options and servers have to do with each other.
pub(crate) fn check(hosts: &str, options: &ClientOptions) -> Result<()> {
    if let Some(tls) = &options.tls {
        Tls::read(tls)?;
    }
    check_servers(hosts, options)
}

/// The same of other servers, for options that were checked.
pub(super) fn check_servers(hosts: &str, options: &ClientOptions) -> Result<()> {
    match &options.tls {
        None => check_plaintext(hosts, options),
        Some(_) => tls::check_names(hosts),
    }
}

/// What speaks to the servers.
pub(crate) fn transport(counters: &Arc<Counters>) -> Box<dyn Dial> {
    Box::new(Own { counters: counters.clone() })
}

/// Refuses to send a credential where everybody on the way can read it, or can guess from what it sees, unless that is asked
/// for. What DIGEST-MD5 sends is enough to try passwords against, as many a second as a machine can hash.
fn check_plaintext(hosts: &str, options: &ClientOptions) -> Result<()> {
    let is_readable = options.auth.iter().any(|auth| !auth.credential.is_empty());
    let (option, danger) = match (is_readable, &options.sasl) {
        _ if options.allow_plaintext_auth => return Ok(()),
        (true, _) => {
            ("auth", "it would travel to {server} in plain text, where everybody on the way can read it")
        }
        (false, Some(_)) => (
            "sasl",
            "a proof of the password would travel to {server} in plain text, from which everybody on the way can guess it",
        ),
        (false, None) => return Ok(()),
    };
    match hosts::servers(hosts).into_iter().find(|server| !server.is_on_this_machine()) {
        None => Ok(()),
        Some(server) => {
            let danger = danger.replace("{server}", &server.to_string());
            let problem = format!("{danger}; give tls, or accept that with allow_plaintext_auth");
            Err(Error::invalid(option, problem))
        }
    }
}

/// The first server session, within `connect_timeout`.
pub(super) async fn first(
    hosts: &str,
    options: &ClientOptions,
    clock: &Arc<dyn Clock>,
    dial: &dyn Dial,
    counters: &Arc<Counters>,
) -> Result<Arc<ServerSession>> {
    let until = clock.now() + options.connect_timeout;
    let noted = Arc::<Noted>::default();
    loop {
        let failure = tokio::select! {
            biased;
            dialled = once(hosts, options, clock, dial, counters, &noted) => match dialled {
                Ok(server_session) => return Ok(server_session),
                Err(failure) => failure,
            },
            () = clock.sleep_until(until) => WireError::ConnectionLoss,
        };
        if let Some(refusal) = final_refusal(&failure) {
            return Err(refusal);
        }
        if let WireError::Other(problem) | WireError::BadRequest(problem) = failure {
            return Err(Error::invalid("hosts", format!("{problem} in {}", hosts::named(hosts))));
        }
        if clock.now() >= until {
            return Err(noted.refusal().unwrap_or_else(|| {
                let error = Error::new(
                    ErrorKind::ConnectionLost,
                    format!(
                        "no ZooKeeper server answered at {} within {:?}; check the address, that the servers run, whether \
                         the port wants tls, and connect_timeout",
                        hosts::named(hosts),
                        options.connect_timeout
                    ),
                );
                match noted.told() {
                    told if told.is_empty() => error,
                    told => error.because(told),
                }
            }));
        }
        log::connect_failed(failure.cause(), options.retry.base);
        clock.sleep_until(clock.now() + options.retry.base).await;
    }
}

/// One attempt; what becomes of it with each server is noted.
pub(super) async fn once(
    hosts: &str,
    options: &ClientOptions,
    clock: &Arc<dyn Clock>,
    dial: &dyn Dial,
    counters: &Arc<Counters>,
    noted: &Arc<Noted>,
) -> Result<Arc<ServerSession>, WireError> {
    let began = clock.now();
    let wire = dial.dial(hosts, options, noted).await?;
    // A server may have come up long after that.
    let asked = wire.asked().unwrap_or(began);
    counters.sessions.one();
    let (access, terms) = (options.access(), options.terms());
    Ok(ServerSession::new(wire, clock.clone(), hosts, access, terms, asked, counters.clone()))
}

/// What a failure says that no further attempt would change.
pub(super) fn final_refusal(failure: &WireError) -> Option<Error> {
    match failure {
        WireError::AuthFailed => Some(Error::new(
            ErrorKind::Denied,
            "the server refused our credentials; check auth (scheme and credential) and sasl (user and password)",
        )),
        WireError::Refused(error) => Some(error.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Auth, SaslOptions};

    #[test]
    fn credentials_travel_in_plain_text_to_this_machine_only_unless_that_is_asked_for() {
        let none = ClientOptions::default;
        for (name, options) in [
            ("auth", none().auth(Auth::new("digest", "user:hunter2"))),
            ("sasl", none().sasl(SaslOptions::new("user", "hunter2"))),
        ] {
            for near in ["localhost:2181", "127.0.0.1:1,127.9.9.9:2/app", "[::1]:2181", "LOCALHOST"] {
                check_plaintext(near, &options).unwrap_or_else(|error| panic!("{near}: {error}"));
            }
            for far in ["zk1", "127.0.0.1:1,zk1:2", "10.0.0.1:2181", "localhost.example.org", "[::2]:2181"] {
                let error = check_plaintext(far, &options).expect_err(far).to_string();
                assert!(error.starts_with(&format!("invalid {name}: ")), "{error}");
                assert!(error.contains("allow_plaintext_auth") && !error.contains("hunter2"), "{error}");
                check_plaintext(far, &options.clone().allow_plaintext_auth(true)).expect("asked for");
                check_plaintext(far, &none()).expect("there is nothing to read");
            }
        }
    }
}
