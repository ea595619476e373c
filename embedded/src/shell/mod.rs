//! What the server and the proxy share: one thread with its sockets, faults, log, and handles for other threads.

mod conn;
mod event_loop;

pub(crate) use conn::{Conn, Got, HeldRequest};

use crate::faults::{Fault, FaultId, Rules};
use crate::log::{LogEntry, RequestLog};
use mio::net::TcpListener;
use mio::{Interest, Poll, Registry, Token, Waker};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) const LISTENER: Token = Token(0);
const WAKER: Token = Token(1);
/// Connections are numbered from here.
pub(crate) const FIRST_CONN: u64 = 2;
/// Read at once from one client before others have their turn.
pub(crate) const SCRATCH: usize = 256 << 10;

/// Who is told, in one line, what happens to connections and sessions.
pub(crate) type Tell = Box<dyn Fn(&str) + Send>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    Paused,
    Stopped,
    Gone,
}

/// What every shell keeps at hand.
pub(crate) struct Desk {
    pub state: State,
    pub rules: Rules,
    pub log: RequestLog,
    pub listener: Option<TcpListener>,
    pub registry: Registry,
    pub scratch: Vec<u8>,
    waiters: usize,
    started: Instant,
    tell: Option<Tell>,
}

impl Desk {
    pub fn new(listener: TcpListener, registry: Registry, log_limit: usize, tell: Option<Tell>) -> Self {
        Desk {
            state: State::Running,
            rules: Rules::default(),
            log: RequestLog::new(log_limit),
            listener: Some(listener),
            registry,
            scratch: vec![0; SCRATCH],
            waiters: 0,
            started: Instant::now(),
            tell,
        }
    }

    /// Time for faults: never frozen, never moved.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// The next client at the door that no fault turns away.
    pub fn accept(&mut self) -> Option<(mio::net::TcpStream, SocketAddr)> {
        loop {
            let (stream, peer) = match self.listener.as_ref()?.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                // Nobody is waiting, or they went away again.
                Err(_) => return None,
            };
            if self.rules.refuses_connection(self.now()) {
                self.say(|| format!("connection from {peer} refused by a fault"));
                continue;
            }
            // Without it, small replies wait for the client's next packet.
            let _ = stream.set_nodelay(true);
            return Some((stream, peer));
        }
    }

    pub fn register(&self, conn: &mut Conn, token: u64) -> io::Result<()> {
        self.registry.register(conn.stream_mut(), Token(token as usize), Interest::READABLE)
    }

    /// For a connection that is still being made: it becomes writable when it is.
    pub fn register_connecting(&self, conn: &mut Conn, token: u64) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.registry.register(conn.stream_mut(), Token(token as usize), interest)
    }

    /// Asks the poll for room to write only while there is something to write. False if that failed.
    pub fn follow(&self, conn: &mut Conn, token: u64) -> bool {
        let wanted = conn.unsent() > 0;
        if wanted == conn.writable_wanted {
            return true;
        }
        conn.writable_wanted = wanted;
        let interest = if wanted { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        self.registry.reregister(conn.stream_mut(), Token(token as usize), interest).is_ok()
    }

    pub fn hang_up(&self, conn: &mut Conn) {
        let _ = self.registry.deregister(conn.stream_mut());
        conn.shutdown();
    }

    pub fn close_listener(&mut self) {
        if let Some(mut listener) = self.listener.take() {
            let _ = self.registry.deregister(&mut listener);
        }
    }

    pub fn inject(&mut self, fault: Fault) -> FaultId {
        let now = self.now();
        self.rules.inject(fault, now)
    }

    pub fn say(&self, line: impl FnOnce() -> String) {
        if let Some(tell) = &self.tell {
            tell(&line());
        }
    }
}

/// What the loop drives.
pub(crate) trait Shell: Send + 'static {
    fn desk(&self) -> &Desk;
    fn desk_mut(&mut self) -> &mut Desk;
    /// Takes every client that is waiting at the door.
    fn accept(&mut self);
    /// The poll says something about a connection.
    fn ready(&mut self, token: u64, readable: bool);
    /// One round: reads, handles, lets time pass, sends. True if another should follow at once.
    fn turn(&mut self) -> bool;
    /// How long the loop may sleep.
    fn sleep(&self) -> Option<Duration>;
    fn drop_all_connections(&mut self);
}

/// A shell, and what other threads need to get at it.
pub(crate) struct Shared<S> {
    shell: Mutex<S>,
    /// Signalled when requests were logged while somebody waits for one.
    logged: Condvar,
    waker: Waker,
    pub address: SocketAddr,
}

impl<S: Shell> Shared<S> {
    /// A panic in a callback of the user's must not take the state hostage.
    pub fn lock(&self) -> MutexGuard<'_, S> {
        self.shell.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn wake(&self) {
        // It fails only if the poll is gone, and then nobody sleeps.
        let _ = self.waker.wake();
    }

    pub fn wait_for(&self, matches: impl Fn(&LogEntry) -> bool, within: Duration) -> bool {
        let deadline = Instant::now().checked_add(within);
        let mut shell = self.lock();
        let mut seen = 0;
        loop {
            let desk = shell.desk_mut();
            if desk.log.since(seen).any(&matches) {
                return true;
            }
            seen = desk.log.end();
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if left.is_some_and(|l| l.is_zero()) || desk.state == State::Gone {
                return false;
            }
            desk.waiters += 1;
            let nap = left.unwrap_or(Duration::from_secs(3600));
            shell = match self.logged.wait_timeout(shell, nap) {
                Ok((shell, _)) => shell,
                Err(poisoned) => poisoned.into_inner().0,
            };
            shell.desk_mut().waiters -= 1;
        }
    }
}

/// Ends the loop when it is dropped.
pub(crate) struct Handle<S: Shell> {
    pub shared: Arc<Shared<S>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<S: Shell> Handle<S> {
    /// Listens on an address and runs the shell that `make` builds around the listener.
    pub fn start(
        name: &str,
        address: SocketAddr,
        make: impl FnOnce(TcpListener, Registry) -> S,
    ) -> io::Result<Arc<Handle<S>>> {
        let mut listener = listen(bind(address)?)?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let shell = Mutex::new(make(listener, poll.registry().try_clone()?));
        let shared = Arc::new(Shared { shell, logged: Condvar::new(), waker, address });
        let thread = {
            let shared = shared.clone();
            let name = format!("{name}-{}", address.port());
            std::thread::Builder::new().name(name).spawn(move || event_loop::run(poll, &shared))?
        };
        Ok(Arc::new(Handle { shared, thread: Mutex::new(Some(thread)) }))
    }

    pub fn shutdown(&self) {
        {
            let mut shell = self.shared.lock();
            shell.desk_mut().state = State::Gone;
            shell.drop_all_connections();
            shell.desk_mut().close_listener();
        }
        self.shared.logged.notify_all();
        self.shared.wake();
        let thread = self.thread.lock().map(|mut t| t.take()).unwrap_or_default();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl<S: Shell> Drop for Handle<S> {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// A socket that holds its port without listening: clients are refused, and nobody else gets it.
pub(crate) fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

pub(crate) fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    Ok(TcpListener::from_std(socket.into()))
}
