//! Sets TCP_NODELAY on the sockets of our ZooKeeper connections, where nobody else does.
//!
//! `zookeeper-client` opens its sockets itself, leaves Nagle's algorithm on and offers no hook: two requests in one
//! flight then cost two round trips on a real network. The sockets of `patch/` have the option from the beginning; where
//! those are not in place we find the sockets by their peer among the process's descriptors and set the option after
//! every (re)connection. Setting it on somebody else's socket to the same peer is harmless. **Remove this file when the
//! crate sets the option or hands out its stream.**

#[cfg(target_os = "linux")]
use std::net::{SocketAddr, ToSocketAddrs};

/// The addresses a connect string names.
#[cfg(target_os = "linux")]
fn addresses(hosts: &str) -> Vec<SocketAddr> {
    let servers = hosts.split('/').next().unwrap_or_default();
    servers
        .split(',')
        .filter_map(|server| {
            let has_port = server.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let server = if has_port { server.to_owned() } else { format!("{server}:2181") };
            server.to_socket_addrs().ok()
        })
        .flatten()
        .collect()
}

/// Sets the option on every socket of this process that is connected to a server of the connect string; answers how many
/// there are. Names may take long to resolve.
#[cfg(target_os = "linux")]
pub(crate) fn set(hosts: &str) -> usize {
    sockets_to(&addresses(hosts)).into_iter().filter(|socket| set_option(*socket)).count()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn set(_hosts: &str) -> usize {
    0
}

#[cfg(target_os = "linux")]
fn sockets_to(peers: &[SocketAddr]) -> Vec<libc::c_int> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| peer_of(*fd).is_some_and(|peer| peers.contains(&peer)))
        .collect()
}

#[cfg(target_os = "linux")]
fn peer_of(fd: libc::c_int) -> Option<SocketAddr> {
    // SAFETY: the storage is large enough for any address and its length is given; a descriptor that is not a
    // connected socket makes the call fail.
    unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        if libc::getpeername(fd, (&raw mut storage).cast(), &mut length) != 0 {
            return None;
        }
        match i32::from(storage.ss_family) {
            libc::AF_INET => {
                let address = &*(&raw const storage).cast::<libc::sockaddr_in>();
                let ip = std::net::Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
                Some(SocketAddr::new(ip.into(), u16::from_be(address.sin_port)))
            }
            libc::AF_INET6 => {
                let address = &*(&raw const storage).cast::<libc::sockaddr_in6>();
                let ip = std::net::Ipv6Addr::from(address.sin6_addr.s6_addr);
                Some(SocketAddr::new(ip.into(), u16::from_be(address.sin6_port)))
            }
            _ => None,
        }
    }
}

#[cfg(target_os = "linux")]
fn set_option(fd: libc::c_int) -> bool {
    let on: libc::c_int = 1;
    // SAFETY: the option value is a c_int of the size given.
    unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        ) == 0
    }
}

/// Reads the option back from every socket of this process to one of `peers`: for the test of this file.
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub fn read_back(hosts: &str) -> Vec<bool> {
    sockets_to(&addresses(hosts))
        .into_iter()
        .map(|fd| {
            let mut on: libc::c_int = 0;
            let mut length = size_of::<libc::c_int>() as libc::socklen_t;
            // SAFETY: the option value is a c_int of the size given.
            unsafe {
                libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, (&raw mut on).cast(), &mut length)
            };
            on != 0
        })
        .collect()
}
