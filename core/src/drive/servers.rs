//! Asking the servers themselves.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::hosts;
use crate::options::{ClientOptions, LeaseMode, LeaseTerms};
use crate::session::lease::Lease;
use crate::session::wire::asked;
use crate::tls::Tls;

/// What a server answers to a four letter word such as `srvr`, over TLS if the options have it; else a sentence why it does
/// not. Blocks for some seconds at most.
pub fn ask_server(
    server: &str,
    word: &str,
    options: &ClientOptions,
) -> Result<std::result::Result<String, String>> {
    let tls = options.tls.as_ref().map(Tls::read).transpose()?;
    match hosts::servers(server).first() {
        Some(server) => Ok(asked(server, word, tls.as_ref())),
        None => Err(Error::invalid("hosts", "names no server; write host:port")),
    }
}

/// How long a pause of a server, the network or a process may be that never costs what is held, in a session with that
/// timeout. `server_tick` is that of the options, or another one.
pub fn bears(granted: Duration, lease: LeaseMode, server_tick: Option<Duration>) -> Duration {
    Lease::tolerates(granted, LeaseTerms { mode: lease, server_tick })
}

/// The connect string that this one stands for, checked: without any it is that of the environment, and `embedded:` starts the
/// server of this process.
pub fn resolve_hosts(hosts: &str) -> Result<String> {
    hosts::resolve(hosts)
}
