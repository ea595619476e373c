//! Connect strings: which servers, and the embedded one.

use crate::error::{Error, Result};
use crate::path;

/// The environment's default for everybody who gives no hosts.
const VARIABLE: &str = "ZKRECIPES_HOSTS";

/// A connect string for the wire, checked; `embedded:` starts the server of this process.
pub(crate) fn resolve(hosts: &str) -> Result<String> {
    let given = match hosts {
        "" => std::env::var(VARIABLE).unwrap_or_default(),
        given => given.to_owned(),
    };
    if given.is_empty() {
        return Err(Error::invalid(
            "hosts",
            format!(
                "none given and {VARIABLE} is not set; pass a connect string such as zk1:2181,zk2:2181, set \
                 {VARIABLE}, or use embedded: for a server inside this process"
            ),
        ));
    }
    if let Some(chroot) = given.strip_prefix("embedded:") {
        if !chroot.is_empty() {
            check_chroot(chroot)?;
        }
        return Ok(format!("{}{chroot}", embedded_server()?));
    }
    check(&given)?;
    // A chroot of "/" is none.
    Ok(given.strip_suffix('/').unwrap_or(&given).to_owned())
}

fn check(hosts: &str) -> Result<()> {
    let (servers, chroot) = match hosts.find('/') {
        Some(at) => hosts.split_at(at),
        None => (hosts, "/"),
    };
    if chroot != "/" {
        check_chroot(chroot)?;
    }
    for server in servers.split(',') {
        let invalid = |problem: &str| Error::invalid("hosts", format!("{server:?} in {hosts:?} {problem}"));
        let (host, port) = match server.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(|| invalid("lacks its ']'"))?;
                let port = match port.strip_prefix(':') {
                    Some(port) => Some(port),
                    None if port.is_empty() => None,
                    None => return Err(invalid("has something between ']' and ':'")),
                };
                (host, port)
            }
            None => match server.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    return Err(invalid("looks like an IPv6 address; write it as [address]:port"));
                }
                Some((host, port)) => (host, Some(port)),
                None => (server, None),
            },
        };
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(invalid("has no usable host; write host:port, separated by commas"));
        }
        if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
            return Err(invalid("has no usable port; ports are 1 to 65535"));
        }
    }
    Ok(())
}

fn check_chroot(chroot: &str) -> Result<()> {
    path::validate(chroot).map_err(|error| Error::invalid("hosts", format!("chroot: {error}")))
}

#[cfg(feature = "embedded")]
fn embedded_server() -> Result<String> {
    use std::sync::OnceLock;

    use crate::error::ErrorKind;

    static SERVER: OnceLock<Result<zkrecipes_embedded::Server>> = OnceLock::new();
    SERVER
        .get_or_init(|| {
            let server = zkrecipes_embedded::Server::start().map_err(|error| {
                Error::new(ErrorKind::Internal, format!("the embedded server did not start: {error}"))
            })?;
            tracing::warn!(
                "embedded: is an in-memory server inside this process, for development and tests; its data is gone \
                 with the process and nobody else should rely on it"
            );
            Ok(server)
        })
        .clone()
        .map(|server| server.connect_string())
}

#[cfg(not(feature = "embedded"))]
fn embedded_server() -> Result<String> {
    Err(Error::invalid("hosts", "this build has no embedded server; enable the feature \"embedded\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_strings_are_checked_and_the_server_at_fault_is_named() {
        for good in
            ["a", "a:2181", "a:1,b:2,c", "a:1/app", "a:1,b:2/app/x", "[::1]:2181", "[::1]", "127.0.0.1:2181/"]
        {
            resolve(good).unwrap_or_else(|error| panic!("{good}: {error}"));
        }
        for bad in [
            "a:",
            "a:0",
            "a:x",
            "a:70000",
            ",a:1",
            "a:1,",
            "a b:1",
            "::1:2181",
            "a:1//x",
            "a:1/x/",
            "[::1:2181",
        ] {
            let error = resolve(bad).unwrap_err();
            assert!(error.to_string().contains("hosts"), "{bad}: {error}");
        }
    }
}
