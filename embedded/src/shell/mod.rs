//! What the server and the proxy share: one thread with its sockets, faults, log, and handles for other threads.

mod conn;
mod event_loop;
mod port;
mod sanitizer;
mod signals;

pub(crate) use conn::{Conn, Got, HeldRequest};
pub(crate) use port::Port;

use crate::faults::{Ask, Fate, Fault, FaultId, Robbed, Rules, Verdict};
use crate::log::{LogEntry, RequestLog};
use mio::{Interest, Poll, Registry, Token, Waker};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const WAKER: Token = Token(0);
/// Listeners follow the waker.
const LISTENERS: std::ops::Range<usize> = 1..64;
/// Connections are numbered from here.
pub(crate) const FIRST_CONN: u64 = 64;
/// Read at once from one client before others have their turn.
pub(crate) const SCRATCH: usize = 256 << 10;

/// Where one line is written for whatever happens to connections and sessions.
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
    robbed: Robbed,
    pub log: RequestLog,
    ports: Vec<Port>,
    pub registry: Registry,
    pub scratch: Vec<u8>,
    waiters: usize,
    /// At a door, because they could not be taken.
    clients_wait: bool,
    started: Instant,
    tell: Option<Tell>,
}

impl Desk {
    pub fn new(registry: Registry, log_limit: usize, tell: Option<Tell>) -> Self {
        Desk {
            state: State::Running,
            rules: Rules::default(),
            robbed: Robbed::default(),
            log: RequestLog::new(log_limit),
            ports: Vec::new(),
            registry,
            scratch: vec![0; SCRATCH],
            waiters: 0,
            clients_wait: false,
            started: Instant::now(),
            tell,
        }
    }

    /// Time for faults: never frozen, never moved.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// The next client at a door that no fault turns away, and which door it is.
    pub fn accept(&mut self) -> Option<(mio::net::TcpStream, SocketAddr, usize)> {
        let mut door = 0;
        loop {
            let (stream, peer) = match self.ports.get_mut(door)?.accept() {
                Ok(accepted) => accepted,
                // The second: whoever was first has gone again.
                Err(e)
                    if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) =>
                {
                    continue;
                }
                Err(e) => {
                    // Else there is no descriptor or no memory for whoever waits, and the poll does not speak of them again.
                    self.clients_wait |= e.kind() != io::ErrorKind::WouldBlock;
                    door += 1;
                    continue;
                }
            };
            if self.rules.refuses_connection(self.now()) {
                self.say(|| format!("connection from {peer} refused by a fault"));
                continue;
            }
            // Without it, small replies wait for the client's next packet.
            let _ = stream.set_nodelay(true);
            return Some((stream, peer, door));
        }
    }

    /// What becomes of a request that has just arrived on a connection.
    pub fn judge(&mut self, conn: u64, ask: Ask, now: Duration) -> Verdict {
        if self.robbed.is_over(conn, &self.rules, now) {
            return Verdict { fate: Fate::DropBefore, ..Verdict::default() };
        }
        if self.rules.is_empty() {
            return Verdict::default();
        }
        let verdict = self.rules.judge(ask, now);
        self.robbed.note(self.rules.taken_by(), conn);
        verdict
    }

    /// Whether what is to be sent on a connection vanishes.
    pub fn vanishes(&mut self, conn: u64, session: u64, now: Duration) -> bool {
        if self.robbed.is_over(conn, &self.rules, now) {
            return true;
        }
        let vanishes = !self.rules.is_empty() && self.rules.reply_vanishes(session, now);
        if vanishes {
            self.robbed.note(self.rules.taken_by(), conn);
        }
        vanishes
    }

    /// Connections to break, now that the black hole that took something from them has ended.
    pub fn take_robbed(&mut self) -> impl Iterator<Item = u64> + use<> {
        self.robbed.take_ended(&self.rules, self.started.elapsed()).into_iter()
    }

    /// How long until a black hole ends that took something.
    pub fn until_robbed(&self) -> Option<Duration> {
        Some(self.robbed.next_end(&self.rules)?.saturating_sub(self.now()))
    }

    pub fn forget(&mut self, conn: u64) {
        self.robbed.forget(conn);
    }

    fn register_listener(&mut self, door: usize) -> io::Result<()> {
        match self.ports[door].listener() {
            Some(listener) => {
                let token = Token(LISTENERS.start + door);
                self.registry.register(listener, token, Interest::READABLE)
            }
            None => Ok(()),
        }
    }

    pub fn open_ports(&mut self, ports: Vec<Port>) -> io::Result<()> {
        self.ports = ports;
        (0..self.ports.len()).try_for_each(|door| self.register_listener(door))
    }

    /// Turns clients away at a door, and keeps its port for [`Desk::reopen`].
    pub fn close_port(&mut self, door: usize) {
        if let Some(port) = self.ports.get_mut(door) {
            port.close(&self.registry);
        }
    }

    /// Takes clients again. Does nothing at a door that is open.
    pub fn reopen(&mut self, door: usize) -> io::Result<()> {
        if self.ports.get_mut(door).map_or(Ok(false), Port::reopen)? {
            self.register_listener(door)?;
        }
        Ok(())
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

    pub fn give_up_ports(&mut self) {
        (0..self.ports.len()).for_each(|door| self.close_port(door));
        self.ports.clear();
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
    /// Breaks the connections that a black hole took something from, once it has ended.
    fn break_robbed(&mut self);
    /// After a pause: whatever happened meanwhile went by unseen.
    fn look_at_everything(&mut self);
    /// Sends what a change from outside the loop has brought about.
    fn settle(&mut self) {}
    fn sessions(&self) -> Vec<u64>;
    fn connections(&self) -> usize;
}

/// A shell, and what other threads need to get at it.
pub(crate) struct Shared<S: ?Sized> {
    /// How often requests were logged while somebody waited for one.
    told: Mutex<u64>,
    logged: Condvar,
    waker: Waker,
    pub addresses: Vec<SocketAddr>,
    shell: Mutex<S>,
}

impl<S: Shell + ?Sized> Shared<S> {
    /// All addresses, as clients take them.
    pub fn connect_string(&self) -> String {
        self.addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",")
    }

    /// A panic in a callback of the user's must not take the state hostage.
    pub fn lock(&self) -> MutexGuard<'_, S> {
        self.shell.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Changes the shell, sends what came of it, and has the loop look at its timers again.
    pub fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let mut shell = self.lock();
        let result = change(&mut shell);
        shell.settle();
        drop(shell);
        self.wake();
        result
    }

    pub fn wake(&self) {
        // It fails only if the poll is gone, and then nobody sleeps.
        let _ = self.waker.wake();
    }

    fn told(&self) -> MutexGuard<'_, u64> {
        self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Wakes those who wait for a request in the log.
    pub fn tell(&self) {
        *self.told() += 1;
        self.logged.notify_all();
    }

    pub fn wait_for(&self, matches: impl Fn(&LogEntry) -> bool, within: Duration) -> bool {
        let deadline = Instant::now().checked_add(within);
        let mut seen = 0;
        loop {
            let mut shell = self.lock();
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
            let before = *self.told();
            drop(shell);
            let nap = left.unwrap_or(Duration::from_secs(3600));
            // What is told from here on ends the nap, also if it has not begun.
            drop(self.logged.wait_timeout_while(self.told(), nap, |told| *told == before));
            self.lock().desk_mut().waiters -= 1;
        }
    }
}

/// Ends the loop when it is dropped.
pub(crate) struct Handle {
    pub shared: Arc<Shared<dyn Shell>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handle {
    /// Listens on some addresses and runs the shell that `make` builds.
    pub fn start<S: Shell>(
        name: &str,
        addresses: Vec<SocketAddr>,
        make: impl FnOnce(Registry) -> S,
    ) -> io::Result<(Handle, Arc<Shared<S>>)> {
        let ports = addresses.into_iter().take(LISTENERS.len()).map(Port::open);
        let ports = ports.collect::<io::Result<Vec<Port>>>()?;
        let addresses: Vec<SocketAddr> = ports.iter().map(Port::address).collect();
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let mut shell = make(poll.registry().try_clone()?);
        shell.desk_mut().open_ports(ports)?;
        let name = format!("{name}-{}", addresses.first().map_or(0, SocketAddr::port));
        let shared = Arc::new(Shared {
            told: Mutex::default(),
            logged: Condvar::new(),
            waker,
            addresses,
            shell: Mutex::new(shell),
        });
        let thread = {
            let shared = shared.clone();
            let builder = std::thread::Builder::new().name(name);
            signals::blocked(|| builder.spawn(move || sanitizer::ours(|| event_loop::run(poll, &shared))))?
        };
        Ok((Handle { shared: shared.clone(), thread: Mutex::new(Some(thread)) }, shared))
    }

    pub fn shutdown(&self) {
        {
            let mut shell = self.shared.lock();
            shell.desk_mut().state = State::Gone;
            shell.drop_all_connections();
            shell.desk_mut().give_up_ports();
        }
        self.shared.tell();
        self.shared.wake();
        let thread = self.thread.lock().map(|mut t| t.take()).unwrap_or_default();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shutdown();
    }
}
