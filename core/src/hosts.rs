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
const EMBEDDED: &str = "embedded:";
/// What begins in other kinds of addresses where the host ends.
const IN_NO_HOST: [char; 5] = ['?', ';', '#', '&', '='];
/// Set where there must be no embedded server; the server itself does not start then, either.
const FORBID: &str = "ZKRECIPES_FORBID_EMBEDDED";

/// A connect string for the wire, checked; `embedded:` starts the server of this process.
pub(crate) fn resolve(hosts: &str) -> Result<String> {
    let given = match hosts {
        "" => std::env::var(VARIABLE).unwrap_or_default(),
        given => given.to_owned(),
    };
    let given = given.trim_start();
    if given.is_empty() {
        return Err(Error::invalid(
            "hosts",
            format!(
                "none given and {VARIABLE} is not set; pass a connect string such as zk1:2181,zk2:2181, set \
                 {VARIABLE}, or use embedded: for a server inside this process"
            ),
        ));
    }
    if let Some(chroot) = given.strip_prefix(EMBEDDED) {
        if !chroot.is_empty() {
            check_chroot(chroot)?;
        }
        return Ok(format!("{}{chroot}", embedded_server(hosts.is_empty())?));
    }
    check(given)?;
    let (servers, chroot) = parts(given);
    // A chroot of "/" is none.
    Ok(format!("{}{}", servers.join(","), chroot.strip_suffix('/').unwrap_or(chroot)))
}

/// Servers and chroot, as Java takes a connect string apart: what stands between the commas may have spaces around it, and
/// may be nothing at all.
fn parts(hosts: &str) -> (Vec<&str>, &str) {
    let (servers, chroot) = hosts.split_at(hosts.find('/').unwrap_or(hosts.len()));
    (servers.split(',').map(str::trim).filter(|server| !server.is_empty()).collect(), chroot)
}

fn check(hosts: &str) -> Result<()> {
    let refused = |problem: String| Err(Error::invalid("hosts", problem));
    if let Some((scheme, _)) = hosts.split_once("://")
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    {
        return refused(format!(
            "begins with {scheme}://; write host:port, separated by commas, and nothing before it"
        ));
    }
    let (servers, chroot) = parts(hosts);
    // No host and no port has such a sign. A chroot may; but then there is nothing wrong with what stands before it.
    if servers.iter().any(|server| server.contains('@')) {
        return refused(format!(
            "{} has credentials before the '@', which a connect string has no place for; write host:port alone, and give \
             the credentials as auth or sasl",
            shown(hosts)
        ));
    }
    // Of credentials with a slash the first half looks like a server, and everything behind it like a chroot.
    if leads_to_a_server(chroot) {
        return refused(format!(
            "{} seems to have credentials before the '@', which a connect string has no place for; write host:port alone, \
             and give the credentials as auth or sasl",
            shown(hosts)
        ));
    }
    if servers_behind_chroot(chroot) {
        return refused(format!(
            "{} has servers behind the first '/', where the chroot begins; the chroot comes once, behind the last server: \
             zk1:2181,zk2:2181/app",
            shown(hosts)
        ));
    }
    if servers.is_empty() {
        return refused("names no server; write host:port, separated by commas".to_owned());
    }
    for server in servers {
        let invalid = |problem: &str| refused(format!("{} {problem}", shown_of(server, hosts)));
        let (host, port) = match split(server) {
            Ok(split) => split,
            Err(problem) => return invalid(problem),
        };
        if host.starts_with('_') && (host.contains("._tcp") || host.contains("._udp")) {
            return invalid(
                "is the name of a DNS service record (SRV), which is not looked up here; write the servers that it leads to, \
                 as host:port, separated by commas (`dig +short SRV` prints them)",
            );
        }
        if host.is_empty()
            || host.chars().any(|c| c.is_whitespace() || c.is_control() || IN_NO_HOST.contains(&c))
        {
            return invalid("has no usable host; write host:port, separated by commas");
        }
        if let Some(port) = port
            && !port.parse::<u16>().is_ok_and(|port| port > 0)
        {
            // What stands there is repeated only if it is a number: it may be half of credentials.
            return invalid(match port.bytes().all(|byte| byte.is_ascii_digit()) {
                true => "has no usable port; ports are 1 to 65535",
                false => "has no usable port: what stands behind the ':' is no number; ports are 1 to 65535",
            });
        }
    }
    if chroot.len() > 1 { check_chroot(chroot) } else { Ok(()) }
}

/// Whether a chroot has a server with a port behind an '@'.
fn leads_to_a_server(chroot: &str) -> bool {
    let is_server =
        |server: &str| matches!(split(server), Ok((_, Some(port))) if port.parse::<u16>().is_ok());
    let servers =
        |part: &str| part.split('/').next().is_some_and(|servers| servers.split(',').any(is_server));
    chroot.split('@').skip(1).any(servers)
}

/// Whether somebody has written the chroot behind each server: then the others would be a part of the first one's.
fn servers_behind_chroot(chroot: &str) -> bool {
    let has_port = |server: &str| {
        let before_chroot = server.split('/').next().unwrap_or_default().trim();
        matches!(split(before_chroot), Ok((host, Some(port))) if !host.is_empty() && port.parse::<u16>().is_ok())
    };
    chroot.split(',').skip(1).any(has_port)
}

/// What stands behind the servers; empty if that is nothing.
pub(crate) fn chroot(hosts: &str) -> &str {
    parts(hosts).1.trim_end_matches('/')
}

/// A connect string for the text of an error, when nobody answers there: its chroot, too, may have been meant as credentials.
pub(crate) fn named(hosts: &str) -> String {
    match parts(hosts) {
        (servers, chroot) if chroot.contains('@') => format!(
            "{}/… (if what stands before the '@' are credentials: give them as auth or sasl)",
            servers.join(",")
        ),
        // The parameters that other kinds of addresses have.
        (servers, chroot) if chroot.contains(IN_NO_HOST) => format!(
            "{}/… (what stands behind the '/' is a path; if there are credentials in it: give them as auth or sasl)",
            servers.join(",")
        ),
        (servers, _) if servers.contains(&EMBEDDED.trim_end_matches(':')) => {
            format!(
                "{hosts} (which names a host; a server inside this process is {EMBEDDED}, with the colon)"
            )
        }
        _ => hosts.to_owned(),
    }
}

/// A part of a connect string for the text of an error. A password is in none, but may have been put there all the same,
/// such as `user:password@host`: what is neither a host, an address nor a number is not repeated.
fn shown(part: &str) -> String {
    let (before, rest) = match part.rsplit_once('@') {
        Some((_, rest)) => ("…@", rest),
        None => ("", part),
    };
    let one = |server: &str| -> String {
        let is_address = |text: &str| text.chars().all(|c| c.is_ascii_hexdigit() || "[]:.".contains(c));
        let (host, port) = match server.split_once(':') {
            Some(_) if is_address(server) => return server.to_owned(),
            Some((host, port)) => (host, Some(port)),
            None => (server, None),
        };
        let host = match host.find(IN_NO_HOST) {
            Some(end) => format!("{}…", &host[..end]),
            None => host.to_owned(),
        };
        match port {
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => format!("{host}:{port}"),
            Some(_) => format!("{host}:…"),
            None => host,
        }
    };
    let (servers, _) = parts(rest);
    format!("{:?}", format!("{before}{}", servers.into_iter().map(one).collect::<Vec<_>>().join(",")))
}

/// The server at fault, unless what looks like one is half of a password: it may have had a slash.
fn shown_of(server: &str, hosts: &str) -> String {
    shown(if hosts.contains('@') { hosts } else { server })
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
pub struct Server {
    pub host: String,
    pub port: u16,
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
    let split = parts(hosts).0.into_iter().filter_map(|server| split(server).ok());
    let port = |port: Option<&str>| port.and_then(|port| port.parse().ok()).unwrap_or(DEFAULT_PORT);
    split.map(|(host, given)| Server { host: host.to_owned(), port: port(given) }).collect()
}

fn check_chroot(chroot: &str) -> Result<()> {
    // The path is in that error. What a password may be in is not to be.
    path::validate(chroot).map_err(|error| match chroot.contains(['@', '?']) {
        true => Error::invalid("hosts", "has an unusable chroot behind the first '/'"),
        false => Error::invalid("hosts", format!("chroot: {error}")),
    })
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
            target: "zkrecipes",
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
                target: "zkrecipes",
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
    // Of which nobody could read what it was asked.
    let server = zkrecipes_embedded::Server::builder().log_limit(0).start().map_err(|error| {
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
        for good in [
            "a",
            "a:2181",
            "a:1,b:2,c",
            "a:1/app",
            "a:1,b:2/app/x@y",
            "a:1/app@y/b:2",
            "[::1]:2181",
            "[::1]",
            "127.0.0.1:2181/",
        ] {
            resolve(good).unwrap_or_else(|error| panic!("{good}: {error}"));
        }
        for (bad, told) in [
            ("a:", "\"a:\" has no usable port"),
            ("a:0", "\"a:0\" has no usable port"),
            ("a:x", "\"a:…\" has no usable port: what stands behind the ':' is no number"),
            ("zk1:2181/app,zk2:2181/app", "\"zk1:2181\" has servers behind the first '/'"),
            ("zk1/app,zk2:2181", "the chroot comes once, behind the last server"),
            ("b:1,a:70000", "\"a:70000\" has no usable port"),
            (":2181", "\":2181\" has no usable host"),
            ("a b:1", "\"a b:1\" has no usable host"),
            ("::1:2181", "\"::1:2181\" looks like an IPv6 address"),
            ("a:1//x", "chroot"),
            ("a:1/x/", "chroot"),
            ("[::1:2181", "lacks its ']'"),
            ("zk://a:1", "begins with zk://"),
            (",", "names no server"),
            (" , /app", "names no server"),
            ("_zookeeper._tcp.example.com", "SRV"),
            ("a:1,_zookeeper._tcp.example.com:2181/app", "SRV"),
        ] {
            let error = resolve(bad).unwrap_err().to_string();
            assert!(error.starts_with("invalid hosts: ") && error.contains(told), "{bad}: {error}");
        }
    }

    #[test]
    fn a_connect_string_is_taken_apart_as_java_does() {
        for (given, tidy) in [
            (" a:1, b:2 ,c/app", "a:1,b:2,c/app"),
            ("a:1,,b:2", "a:1,b:2"),
            (",a:1, ,b:2,/app", "a:1,b:2/app"),
            ("a:1/x,y", "a:1/x,y"),
            ("a:1,/", "a:1"),
        ] {
            assert_eq!(resolve(given).expect(given), tidy);
        }
    }

    #[test]
    fn what_may_be_a_password_is_not_repeated() {
        for given in [
            "user:hunter2@zk1:2181",
            "hunter2@zk1:2181",
            "user:hunter2@zk1:2181,user:hunter2@zk2:2181/app",
            "a:1,user:hunt,hunter2@zk1",
            "user:a/hunter2@zk1:2181",
            "user:hunter2/x@zk1:2181",
            "zk1:2181/a//hunter2@x",
            "zk://user:hunter2@zk1:2181",
            "user:hunter2@x://zk1",
            "digest:user:hunter2@zk1:2181",
            "digest:user:hunter2",
            "user:hunter2",
            "zk1:2181?password=hunter2",
            "zk1?password=hunter2:2181",
            "zk1:2181;hunter2",
            "zk1:2181//?password=hunter2",
            "user:2181/hunter2@zk1:2181",
            "user:2181/hunter2/x@zk1:2181,zk2:2181/app",
            "user/hunter2@zk1,zk2:2181",
        ] {
            let error = resolve(given).expect_err(given);
            let told = format!("{error} {error:?} {error:#?}");
            assert!(told.contains("hosts") && !told.contains("hunter2"), "{given}: {told}");
        }
        let told = |given| resolve(given).expect_err("credentials").to_string();
        assert!(told("user:hunter2@zk1:2181/app").contains("\"…@zk1:2181\" has credentials"));
        assert!(told("user:21/hunter2@zk1:2181/app").contains("\"…@zk1:2181\" seems to have credentials"));
    }

    #[test]
    fn where_nobody_answers_a_chroot_may_have_been_a_password() {
        let told = named("user:2181/hunter2@zk1");
        assert!(told.contains("user:2181/…") && told.contains("auth or sasl"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
        for given in ["zk1:2181/app?token=hunter2", "zk1:2181/app;hunter2", "zk1:2181/hunter2#x"] {
            let told = named(given);
            assert!(told.starts_with("zk1:2181/… ") && !told.contains("hunter2"), "{given}: {told}");
        }
        assert_eq!(named("a:1,b:2/app"), "a:1,b:2/app");
        assert!(named("embedded/app").contains("embedded:, with the colon"), "{}", named("embedded/app"));
    }

    #[test]
    fn the_servers_of_a_connect_string_are_told_apart() {
        let named = |hosts| servers(hosts).iter().map(Server::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(named("a,b:1,[::1],[::2]:7/app"), "a:2181 b:1 [::1]:2181 [::2]:7");
    }
}
