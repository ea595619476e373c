//! A proxy that brings faults between clients and a real server.

mod link;
mod world;

use crate::control::Control;
use crate::shell::{Desk, Handle, Shared};
use crate::wire::{Hello, Op, Welcome, Writer, frame_length};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::ops::Deref;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use world::World;

/// How long the server may take to answer when the proxy speaks to it on its own behalf.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Stands in front of a real ZooKeeper server, passes everything through, and has the same [`Control`] of faults and of
/// the request log as a [`Server`](crate::Server). Clones are handles to the same one; with the last of them it stops.
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
    control: Control,
    shared: Arc<Shared<World>>,
    upstream: SocketAddr,
}

impl Deref for Proxy {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
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
        let (handle, shared) = Handle::start("zk-proxy", vec![address], |registry| {
            World::new(Desk::new(registry, 1 << 20, None), upstream)
        })?;
        Ok(Proxy { control: Control::new(handle), shared, upstream })
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.lock()
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
        self.shared.wake();
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
}

/// Attaches to a session and closes it; false if the server does not know it. `asked` tells whether it got as far as
/// asking for the close.
fn end_once(upstream: SocketAddr, session_id: u64, password: &[u8], asked: &mut bool) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&upstream, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let session = session_id as i64;
    let hello = Hello { zxid_seen: 0, timeout: 10_000, session, password, read_only: Some(false) };
    stream.write_all(&hello.frame())?;
    let welcome = read_frame(&mut stream)?;
    if !Welcome::read(&welcome).is_ok_and(|welcome| welcome.session == session) {
        return Ok(false);
    }
    *asked = true;
    stream.write_all(&Writer::request(1, Op::CLOSE).finish())?;
    read_frame(&mut stream)?;
    Ok(true)
}

fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = frame_length(length, 1 << 20)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a ZooKeeper server"))?;
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}
