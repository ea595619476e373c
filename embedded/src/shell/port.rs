//! A port to listen on, which is kept while nobody listens.

use mio::Registry;
use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::{Mutex, MutexGuard};

/// How many ports are tried before any will do.
const TRIES: u64 = 200;
/// How many ports there are to choose from, right below the ephemeral ones. Others who start servers choose below these.
const CHOICE: u64 = 12_000;

/// A port of this server's, open or closed.
pub(crate) struct Port {
    address: SocketAddr,
    door: Door,
}

enum Door {
    Open(TcpListener),
    /// Clients are refused, and nobody else gets the port, unless the system would not let us keep it.
    Closed(Option<Socket>),
}

impl Port {
    /// Listens. For port 0, takes a free one from below those that outgoing connections are given: such a connection,
    /// even a client's own that dials again, could take the port of a server that has stopped.
    pub fn open(address: SocketAddr) -> io::Result<Port> {
        let chosen = if address.port() == 0 { choose(address) } else { None };
        let listener = match chosen {
            Some(listener) => listener,
            None => listen(bind(address)?)?,
        };
        Ok(Port { address: listener.local_addr()?, door: Door::Open(listener) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn listener(&mut self) -> Option<&mut TcpListener> {
        match &mut self.door {
            Door::Open(listener) => Some(listener),
            Door::Closed(_) => None,
        }
    }

    pub fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.door {
            Door::Open(listener) => listener.accept(),
            Door::Closed(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    pub fn close(&mut self, registry: &Registry) {
        let Door::Open(listener) = &mut self.door else { return };
        // Nothing comes in through it any more in any case.
        let _ = registry.deregister(listener);
        let kept = silence(listener);
        self.door = Door::Closed(kept);
        if let Door::Closed(kept @ None) = &mut self.door {
            *kept = bind(self.address).ok();
        }
    }

    /// Listens again. False if it did already.
    ///
    /// # Errors
    /// If the port could not be kept, and somebody else has it now.
    pub fn reopen(&mut self) -> io::Result<bool> {
        let Door::Closed(kept) = &mut self.door else { return Ok(false) };
        let socket = match kept.take() {
            Some(socket) => socket,
            None => bind(self.address)?,
        };
        socket.set_reuse_address(true)?;
        self.door = Door::Open(listen(socket)?);
        Ok(true)
    }
}

/// Stops listening without giving up the port, where the system knows how to.
fn silence(listener: &TcpListener) -> Option<Socket> {
    let socket = SockRef::from(listener).try_clone().ok()?;
    socket.shutdown(Shutdown::Both).ok()?;
    // Others that would share the port must not, for then nobody could listen on it again.
    socket.set_reuse_address(false).ok()?;
    Some(socket)
}

fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    Ok(TcpListener::from_std(socket.into()))
}

fn choose(mut address: SocketAddr) -> Option<TcpListener> {
    let end = u64::from(first_ephemeral()).max(2048);
    let begin = end.saturating_sub(CHOICE).max(1024);
    let random = RandomState::new();
    (0..TRIES).find_map(|n| {
        let port = (begin + random.hash_one(n) % (end - begin)) as u16;
        address.set_port(port);
        if chosen().contains(&port) {
            return None;
        }
        let listener = listen(bind(address).ok()?).ok()?;
        note(port);
        Some(listener)
    })
}

/// How many ports are chosen before the first one of them may be chosen again: half of them, so that one in two tries is free.
const APART: usize = CHOICE as usize / 2;

/// The ports that this process has chosen last. A client that outlives its server looks for it where it was, and must not find another
/// one there: it would make its nodes in that one.
static CHOSEN: Mutex<VecDeque<u16>> = Mutex::new(VecDeque::new());

fn chosen() -> MutexGuard<'static, VecDeque<u16>> {
    CHOSEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn note(port: u16) {
    let mut chosen = chosen();
    if chosen.len() >= APART {
        chosen.pop_front();
    }
    chosen.push_back(port);
}

/// The lowest port that the system gives to outgoing connections.
fn first_ephemeral() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|low| low.parse().ok()).unwrap_or(32_768)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_comes_again_soon() {
        let address: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        // With as many it would be found several times over.
        let mut ports: Vec<_> = (0..1000)
            .map(|_| choose(address).expect("there are free ones").local_addr().expect("bound").port())
            .collect();
        ports.sort_unstable();
        let all = ports.len();
        ports.dedup();
        assert_eq!(ports.len(), all);
    }
}
