//! Connect strings: which servers, and the embedded one.

use std::fmt;
use std::net::IpAddr;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::path;
use crate::process::PerProcess;

/// The environment variable that is used when no hosts are given.
const VARIABLE: &str = "ZKRECIPES_HOSTS";
const DEFAULT_PORT: u16 = 2181;
/// Set where there must be no embedded server; the server itself does not start then, either.
const FORBID: &str = "ZKRECIPES_FORBID_EMBEDDED";

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
        return Ok(format!("{}{chroot}", embedded_server(hosts.is_empty())?));
    }
    let (servers, chroot) = given.split_at(given.find('/').unwrap_or(given.len()));
    // As Java does: what stands between the commas may have spaces around it.
    let servers: Vec<_> = servers.split(',').map(str::trim).collect();
    let tidy = format!("{}{chroot}", servers.join(","));
    check(&tidy)?;
    // A chroot of "/" is none.
    Ok(tidy.strip_suffix('/').unwrap_or(&tidy).to_owned())
}

fn check(hosts: &str) -> Result<()> {
    if let Some((scheme, _)) = hosts.split_once("://") {
        return Err(Error::invalid(
            "hosts",
            format!(
                "{hosts:?} begins with {scheme}://; write host:port, separated by commas, and nothing before it"
            ),
        ));
    }
    let (servers, chroot) = match hosts.find('/') {
        Some(at) => hosts.split_at(at),
        None => (hosts, "/"),
    };
    if chroot != "/" {
        check_chroot(chroot)?;
    }
    for server in servers.split(',') {
        let invalid = |problem: &str| Error::invalid("hosts", format!("{server:?} in {hosts:?} {problem}"));
        let (host, port) = split(server).map_err(invalid)?;
        if host.starts_with('_') && (host.contains("._tcp") || host.contains("._udp")) {
            return Err(invalid(
                "is the name of a DNS service record, which is not looked up here; write the servers that it leads to, \
                 as host:port, separated by commas (`dig +short SRV` prints them)",
            ));
        }
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(invalid("has no usable host; write host:port, separated by commas"));
        }
        if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
            return Err(invalid("has no usable port; ports are 1 to 65535"));
        }
    }
    Ok(())
}

/// Host and port, or what is wrong with them.
fn split(server: &str) -> Result<(&str, Option<&str>), &'static str> {
    match server.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or("lacks its ']'")?;
            match port.strip_prefix(':') {
                Some(port) => Ok((host, Some(port))),
                None if port.is_empty() => Ok((host, None)),
                None => Err("has something between ']' and ':'"),
            }
        }
        None => match server.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                Err("looks like an IPv6 address; write it as [address]:port")
            }
            Some((host, port)) => Ok((host, Some(port))),
            None => Ok((server, None)),
        },
    }
}

/// One server of a connect string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Server {
    /// Whether it is certainly here: by what it is called, without asking anybody.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The servers of a connect string that was checked.
pub(crate) fn servers(hosts: &str) -> Vec<Server> {
    let servers = hosts.split('/').next().unwrap_or_default().split(',');
    let split = servers.filter_map(|server| split(server).ok());
    let port = |port: Option<&str>| port.and_then(|port| port.parse().ok()).unwrap_or(DEFAULT_PORT);
    split.map(|(host, given)| Server { host: host.to_owned(), port: port(given) }).collect()
}

fn check_chroot(chroot: &str) -> Result<()> {
    path::validate(chroot).map_err(|error| Error::invalid("hosts", format!("chroot: {error}")))
}

/// Starts a server, which stays, and says what to connect to.
pub type Start = fn() -> Result<String>;

static FROM_OUTSIDE: OnceLock<Start> = OnceLock::new();

/// Has the server of `embedded:` started by a face instead of the feature `embedded`. The first call decides.
pub fn embedded_by(start: Start) {
    let _ = FROM_OUTSIDE.set(start);
}

fn embedded_server(is_from_environment: bool) -> Result<String> {
    if std::env::var_os(FORBID).is_some_and(|value| !value.is_empty()) {
        return Err(Error::invalid(
            "hosts",
            format!(
                "embedded: is forbidden here, because {FORBID} is set; name the servers, or unset it for tests"
            ),
        ));
    }
    if is_from_environment {
        tracing::error!(
            event = "embedded_from_environment",
            "{VARIABLE} is embedded: nobody outside this process sees what is held here. That is for tests; in \
             production name the servers, and set {FORBID} so that this cannot happen"
        );
    }
    static SERVER: PerProcess<OnceLock<Result<String>>> = PerProcess::new();
    SERVER
        .get_or_init(|| {
            let hosts = FROM_OUTSIDE.get().unwrap_or(&(start_inside as Start))()?;
            tracing::warn!(
                event = "embedded_server",
                "embedded: is an in-memory server inside this process, for development and tests; its data is gone \
                 with the process and nobody else should rely on it"
            );
            Ok(hosts)
        })
        .clone()
}

#[cfg(feature = "embedded")]
fn start_inside() -> Result<String> {
    static SERVER: PerProcess<OnceLock<zkrecipes_embedded::Server>> = PerProcess::new();
    let server = zkrecipes_embedded::Server::start().map_err(|error| {
        Error::new(crate::ErrorKind::Internal, format!("the embedded server did not start: {error}"))
    })?;
    Ok(SERVER.of_this_process().get_or_init(|| server).connect_string())
}

#[cfg(not(feature = "embedded"))]
fn start_inside() -> Result<String> {
    Err(Error::invalid(
        "hosts",
        "embedded: needs the feature \"embedded\" of the crate zkrecipes; enable it for your tests, or name a server",
    ))
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
            "zk://a:1",
            "_zookeeper._tcp.example.com",
        ] {
            let error = resolve(bad).unwrap_err();
            assert!(error.to_string().contains("hosts"), "{bad}: {error}");
        }
    }
    #[test]
    fn spaces_around_commas_are_left_out() {
        assert_eq!(resolve(" a:1, b:2 ,c/app").expect("good"), "a:1,b:2,c/app");
    }

    #[test]
    fn what_leads_to_servers_is_not_taken_for_one() {
        let error = resolve("_zookeeper._tcp.example.com").expect_err("no server");
        assert!(error.to_string().contains("SRV"), "{error}");
    }

    #[test]
    fn the_servers_of_a_connect_string_are_told_apart() {
        let named = |hosts| servers(hosts).iter().map(Server::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(named("a,b:1,[::1],[::2]:7/app"), "a:2181 b:1 [::1]:2181 [::2]:7");
    }
}
