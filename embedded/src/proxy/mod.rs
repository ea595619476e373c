//! A proxy that brings faults between clients and a real server.

mod link;
mod world;

use crate::faults::{Fault, FaultId};
use crate::log::LogEntry;
use crate::shell::{Desk, Handle, Shell, State};
use crate::wire::{Op, Writer};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use world::World;

/// How long the server may take to answer when the proxy speaks to it on its own behalf.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Stands in front of a real ZooKeeper server, passes everything through, and has the same faults and the same
/// request log as [`Server`](crate::Server). Clones are handles to the same one; with the last of them it stops.
///
/// ```no_run
/// use zkrecipes_embedded::{Fault, Proxy};
///
/// let proxy = Proxy::start("127.0.0.1:2181")?;
/// proxy.inject(Fault::drop_after("create*").path("/locks/**"));
/// println!("connect to {}", proxy.connect_string());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Proxy {
    handle: Arc<Handle<World>>,
    upstream: SocketAddr,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let address = self.connect_string();
        f.debug_struct("Proxy")
            .field("address", &address)
            .field("upstream", &self.upstream)
            .finish_non_exhaustive()
    }
}

impl Proxy {
    /// Starts a proxy on a free port of 127.0.0.1 in front of one server, named as `host:port`.
    ///
    /// # Errors
    /// If the name does not resolve or no port is free. The server itself need not be up yet.
    pub fn start(upstream: &str) -> io::Result<Proxy> {
        let upstream = upstream.to_socket_addrs()?.next().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("{upstream} names no address to connect to"))
        })?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let handle = Handle::start("zk-proxy", vec![address], |registry| {
            World::new(Desk::new(registry, 1 << 20, None), upstream)
        })?;
        Ok(Proxy { handle, upstream })
    }

    /// What clients connect to: `127.0.0.1:PORT`.
    pub fn connect_string(&self) -> String {
        self.handle.shared.connect_string()
    }

    pub fn port(&self) -> u16 {
        self.handle.shared.addresses[0].port()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.handle.shared.lock()
    }

    /// Stops for good. Also happens when the last handle is dropped.
    pub fn shutdown(&self) {
        self.handle.shutdown();
    }

    /// Breaks all connections, on both sides. Sessions live on at the server.
    pub fn drop_connections(&self) {
        self.world().drop_all_connections();
    }

    /// Stops passing anything on, either way, while connections stay up.
    pub fn pause(&self) {
        let mut world = self.world();
        if world.desk.state == State::Running {
            world.desk.state = State::Paused;
        }
    }

    pub fn resume(&self) {
        let mut world = self.world();
        if world.desk.state == State::Paused {
            world.desk.state = State::Running;
            world.look_at_everything();
        }
        drop(world);
        self.handle.shared.wake();
    }

    /// Ends a session for real: re-attaches with the id and password that went by, and closes it. The server
    /// deletes its ephemeral nodes; the client finds its connection broken and, when it comes back, its session
    /// expired. It is kept waiting until then if it comes back at once.
    ///
    /// Returns false if no such session went by, or it had ended already.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub fn expire(&self, session_id: u64) -> io::Result<bool> {
        let Some(password) = self.world().passwords.get(&session_id).cloned() else { return Ok(false) };
        // Each of the two that attach to a session cuts the other off: the client waits meanwhile.
        let deadline = Instant::now() + PATIENCE;
        while !self.world().begin_ending(session_id) {
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(PAUSE);
        }
        let ended = self.end(session_id, &password, deadline);
        let mut world = self.world();
        if ended.is_ok() {
            world.passwords.remove(&session_id);
        }
        world.finish_ending(session_id);
        drop(world);
        self.handle.shared.wake();
        ended
    }

    /// Ends a session at the server. A client's attempt that was under way may still cut this one off: then again.
    fn end(&self, session_id: u64, password: &[u8], deadline: Instant) -> io::Result<bool> {
        let mut asked = false;
        loop {
            let failed = match end_once(self.upstream, session_id, password, &mut asked) {
                // Gone because an attempt of ours was carried out without an answer, or before we came.
                Ok(attached) => return Ok(attached || asked),
                Err(failed) => failed,
            };
            let cut_off = matches!(
                failed.kind(),
                io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
            );
            if !cut_off || Instant::now() >= deadline {
                return Err(failed);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Injects a fault; it fires once unless it says otherwise. See [`faults`](crate::faults).
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.world().desk.inject(fault)
    }

    /// Injects a fault from text, such as `"drop_after create2 path=/locks/** nth=2"`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the text.
    pub fn inject_text(&self, fault: &str) -> Result<FaultId, String> {
        Ok(self.inject(Fault::parse(fault)?))
    }

    /// Removes all faults that are still waiting or still in force.
    pub fn clear_faults(&self) {
        let mut world = self.world();
        world.desk.rules.clear();
        world.break_robbed();
    }

    /// Whether a fault has fired, once at least.
    pub fn fault_fired(&self, id: FaultId) -> bool {
        self.world().desk.rules.fired(id)
    }

    /// The requests so far, in the order of their answers.
    pub fn log(&self) -> Vec<LogEntry> {
        self.world().desk.log.to_vec()
    }

    pub fn clear_log(&self) {
        self.world().desk.log.clear();
    }

    /// How many requests of a kind the server answered, or was sent for a lost answer, by patterns for kind and
    /// path. See [`Server::count`](crate::Server::count).
    pub fn count(&self, op: &str, path_glob: &str) -> usize {
        self.world().desk.log.count(op, path_glob)
    }

    /// Waits until a request that matches is in the log, those before the call included. False if none came in time.
    pub fn wait_for(&self, matches: impl Fn(&LogEntry) -> bool, within: Duration) -> bool {
        self.handle.shared.wait_for(matches, within)
    }

    /// Ids of the sessions that went by and have not been seen to end, sorted.
    pub fn sessions(&self) -> Vec<u64> {
        self.world().passwords.keys().copied().collect()
    }

    /// Clients that are connected.
    pub fn connections(&self) -> usize {
        self.world().connections()
    }
}

/// Attaches to a session and closes it; false if the server does not know it. `asked` tells whether it got as far as
/// asking for the close.
fn end_once(upstream: SocketAddr, session_id: u64, password: &[u8], asked: &mut bool) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&upstream, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut hello = Writer::frame();
    hello.int(0).long(0).int(10_000).long(session_id as i64).buffer(Some(password)).bool(false);
    stream.write_all(&hello.finish())?;
    let welcome = read_frame(&mut stream)?;
    // protocol version, timeout, session
    if welcome.get(8..16).is_none_or(|id| id != session_id.to_be_bytes()) {
        return Ok(false);
    }
    let mut close = Writer::frame();
    close.int(1).int(Op::CLOSE.0);
    *asked = true;
    stream.write_all(&close.finish())?;
    read_frame(&mut stream)?;
    Ok(true)
}

fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(i32::from_be_bytes(length)).ok().filter(|n| *n < 1 << 20);
    let length =
        length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a ZooKeeper server"))?;
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}
