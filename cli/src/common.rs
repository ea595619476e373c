//! What every command takes: which servers, and how to appear there.

use std::time::Duration;

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Auth, Client, ClientOptions};

use crate::args::Words;
use crate::contenders::Onlooker;
use crate::outcome::{Failure, Outcome};

/// The options of every command.
#[derive(Default)]
pub(crate) struct Common {
    hosts: Option<String>,
    options: ClientOptions,
}

/// How long the end of a command may take: what is left then ends with the session.
const CLOSING: Duration = Duration::from_secs(2);

impl Common {
    /// Whether the option is one of these; takes its value then.
    pub(crate) fn accept(&mut self, option: &str, words: &mut Words) -> Outcome<bool> {
        match option {
            "--hosts" => self.hosts = Some(words.value(option)?),
            "--session-timeout" => self.options.session_timeout = words.duration(option)?,
            "--connect-timeout" => self.options.connect_timeout = words.duration(option)?,
            "--auth" => self.options.auth.push(auth(&words.value(option)?, option)?),
            "--identity" => self.options.identity = Some(words.value(option)?),
            "--naming" => self.options.naming = words.value(option)?.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

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

    fn connect(self, cancel: &CancelToken) -> Outcome<Onlooker> {
        let Common { hosts, mut options } = self;
        let hosts = hosts.or_else(|| variable("ZKRECIPES_HOSTS")).ok_or_else(|| {
            Failure::usage("no servers are named: give --hosts zk1:2181,zk2:2181 or set ZKRECIPES_HOSTS")
        })?;
        if hosts.is_empty() {
            return Err(Failure::usage("--hosts is empty; write host:port, separated by commas"));
        }
        if options.auth.is_empty()
            && let Some(given) = variable("ZKRECIPES_AUTH")
        {
            options.auth.push(auth(&given, "ZKRECIPES_AUTH")?);
        }
        let connecting = async move {
            let client = Client::connect(&hosts, options.clone()).await?;
            Ok(Onlooker::new(client, hosts, options))
        };
        Ok(drive::wait(connecting, Some(cancel), None)?)
    }
}

/// A variable of the environment; an empty one is none.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The message does not repeat what was given: it may be a password.
fn auth(given: &str, from: &str) -> Outcome<Auth> {
    match given.split_once(':') {
        Some((scheme, credential)) if !scheme.is_empty() => {
            Ok(Auth { scheme: scheme.to_owned(), credential: credential.as_bytes().to_vec() })
        }
        _ => Err(Failure::usage(format!("{from} is scheme:credential, such as digest:user:password"))),
    }
}
