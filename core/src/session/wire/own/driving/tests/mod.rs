//! The rules of the hand-over, one by one.

use std::io::Write;
use std::sync::atomic::{AtomicI32, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use futures_util::FutureExt;
use zkrecipes_embedded::{Fault, Server};

use super::*;
use crate::drive::{self, Tick};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{AclChoice, ClientOptions};
use crate::runtime;
use crate::session::system_clock::SystemClock;
use crate::session::wire::open::Entry;
use crate::session::wire::own::serving;
use crate::session::wire::own::stream::Ready;
use crate::session::wire::own::system;
use crate::session::wire::{CreateMode, Event, Flight, LinkState, Wire, WireError};

mod crowd;

const SOON: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(3600);

fn told(error: WireError) -> Error {
    Error::new(ErrorKind::Internal, format!("{error:?}"))
}

/// A session with a server of its own.
struct Connected {
    server: Server,
    connection: Arc<Connection<Socket>>,
    wire: Arc<dyn Wire>,
}

fn connected() -> Connected {
    // No ping comes in time to help what was not armed.
    let server = Server::builder().tick(Duration::from_millis(50)).max_session_timeout(LONG).start();
    let server = server.expect("a free port");
    let hosts = server.connect_string();
    let options = ClientOptions::default().session_timeout(LONG);
    let connection = Connection::new(&hosts, &options, Arc::new(SystemClock), Arc::default());
    let opened = connection.opened(&hosts);
    runtime::spawn(Box::pin(serving::serve(connection.clone(), None, Entry::new(), Arc::default())));
    let wire = drive::wait(async move { opened.await.map_err(told) }, None, None).expect("a session");
    Connected { server, connection, wire: wire.into() }
}

impl Connected {
    fn driver(&self) -> Option<u64> {
        self.connection.lock().driver
    }

    fn drive(&self) -> Driving {
        Driving::begin(&self.connection).expect("nobody drives")
    }

    fn look(&self) -> Flight<bool> {
        let flight = self.wire.exists("/");
        Box::pin(async move { flight.await.map(|found| found.is_some()) })
    }
}

/// As a thread of a user, with the stack that a system usually gives.
fn thread<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    std::thread::Builder::new().stack_size(8 << 20).spawn(body).expect("a thread")
}

/// Blocks until there is an answer, and drives.
fn wait<T: Send + 'static>(flight: Flight<T>) -> Result<T> {
    drive::wait(async move { flight.await.map_err(told) }, None, None)
}

/// What `body` answers on a thread that has such a stack, and may hang there.
fn aside<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (tell, tells) = channel();
    thread(move || _ = tell.send(body()));
    tells
}

/// The one I/O thread does nothing until this is dropped.
fn hold_up_the_io_thread() -> Sender<()> {
    let (free, is_free) = channel();
    let (held_up, is_held_up) = channel();
    runtime::spawn(Box::pin(async move {
        let _ = held_up.send(());
        let _ = is_free.recv();
    }));
    is_held_up.recv_timeout(SOON).expect("its one thread is held up");
    free
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < until, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the thread of that number sleeps in the kernel.
fn sleeps(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
}

/// Handlers of a test: they only end what a thread waits in.
fn on_signal(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: no other test of this program uses the signal, and the handler does what a handler may.
    unsafe { libc::signal(signal, handler as *const () as libc::sighandler_t) };
}

extern "C" fn nothing(_: i32) {}

#[test]
fn who_waits_has_its_answer_although_the_io_thread_is_held_up() {
    let connected = connected();
    let free = hold_up_the_io_thread();
    let flight = connected.look();
    let answer = aside(move || wait(flight)).recv_timeout(SOON);
    drop(free);
    assert_eq!(answer.expect("no other thread was needed"), Ok(true));
}

/// The I/O thread would look within the watchdog; so it is held up.
#[test]
fn who_leaves_arms_the_watch_at_once() {
    let connected = connected();
    let driving = connected.drive();
    let stream = driving.stream.clone();
    let free = hold_up_the_io_thread();
    drop(driving);
    let _asked = connected.look();
    let told = system::poll([stream.watch.as_fd()].into_iter(), Some(SOON / 4));
    drop(free);
    assert!(told.expect("polled").has(0));
}

/// It would wake the I/O thread only to have it wait.
#[test]
fn who_leaves_has_left_the_lock_when_it_arms() {
    let connected = connected();
    let driving = connected.drive();
    let (tell, is_free) = channel();
    let (stream, connection) = (driving.stream.clone(), Arc::downgrade(&connected.connection));
    let look = move || tell.send(connection.upgrade().is_some_and(|one| one.try_lock().is_some()));
    let free = hold_up_the_io_thread();
    *stream.on_arming.lock().expect("no panic") = Some(Box::new(move || _ = look()));
    drop(driving);
    assert_eq!(is_free.try_recv(), Ok(true));
    *stream.on_arming.lock().expect("no panic") = None;
    drop(free);
}

#[test]
fn a_thread_that_is_stopped_while_it_drives_is_replaced() {
    let connected = connected();
    let stopped = connected.drive();
    let by_wait = aside({
        let flight = connected.look();
        move || wait(flight)
    });
    assert_eq!(by_wait.recv_timeout(SOON).expect("for one that waits"), Ok(true));
    let (tell, by_task) = channel();
    let flight = connected.look();
    runtime::spawn(Box::pin(async move { _ = tell.send(flight.await) }));
    assert_eq!(by_task.recv_timeout(SOON).expect("for a task"), Ok(true));
    // It goes on: whoever drives now is not disturbed.
    assert!(!stopped.read());
    let next = connected.drive();
    drop(stopped);
    assert_eq!(connected.driver(), Some(next.ticket));
}

/// The kernel has told of this descriptor before, and tells nothing twice.
#[test]
fn what_comes_while_nobody_reads_is_told_when_the_io_thread_is_armed_again() {
    let (tell, told) = channel();
    runtime::spawn(Box::pin(async move {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("known");
        let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        let (mut peer, _) = listener.accept().expect("connected");
        let stream = Arc::new(Stream::new(stream).expect("a watch"));
        let ready = Ready::new(&stream).expect("registered");
        for _ in 0..3 {
            peer.write_all(b"x").expect("sent");
            ready.until(false).await;
            assert_eq!(stream.try_read(&mut [0; 8]).expect("read"), 1);
            stream.arm(false, false);
            peer.write_all(b"y").expect("sent");
            assert!(system::poll([stream.as_fd()].into_iter(), Some(SOON)).expect("polled").has(0));
            stream.arm(true, false);
            ready.until(false).await;
            assert_eq!(stream.try_read(&mut [0; 8]).expect("read"), 1);
        }
        let _ = tell.send(());
    }));
    told.recv_timeout(SOON).expect("it is told each time");
}

/// It has said that it does not drive any more, and has not come to arm the watch.
#[test]
fn a_thread_that_is_stopped_while_it_hands_back_is_replaced() {
    let connected = connected();
    let stopped = connected.drive();
    let (connection, stream) = (stopped.connection.clone(), stopped.stream.clone());
    std::mem::forget(stopped);
    connection.with(|state, _| {
        state.driver = None;
        state.armed = None;
    });
    let (tell, told) = channel();
    let flight = connected.look();
    runtime::spawn(Box::pin(async move { _ = tell.send(flight.await) }));
    assert_eq!(told.recv_timeout(SOON).expect("the I/O thread has armed it"), Ok(true));
    stream.arm(true, false);
    let flight = connected.look();
    assert_eq!(
        aside(move || wait(flight)).recv_timeout(SOON).expect("a late arming harms nothing"),
        Ok(true)
    );
}

#[test]
fn nobody_but_who_waits_is_held_up_by_a_thread_that_is_stopped_inside_the_lock() {
    let connected = connected();
    let inside = connected.connection.lock();
    let wire = connected.wire.clone();
    let asked = aside(move || {
        let known = (wire.link().state, wire.session_id() != 0, wire.server().is_some());
        (known, wire.delete("/none", None))
    });
    let (known, deletion) = asked.recv_timeout(SOON).expect("to look and to ask does not wait");
    assert_eq!(known, (LinkState::Up, true, true));
    // The I/O thread wants to come in, too.
    connected.connection.io.notify_one();
    let other = aside(|| {
        let other = self::connected();
        wait(other.look())
    });
    assert_eq!(other.recv_timeout(SOON).expect("the I/O thread serves others"), Ok(true));
    connected.connection.within(inside, |_, _| ());
    let answer = aside(move || drive::wait(async move { Ok(deletion.await) }, None, None));
    assert_eq!(answer.recv_timeout(SOON).expect("it was sent"), Ok(Err(WireError::NoNode)));
}

#[test]
fn what_was_asked_meanwhile_leaves_in_its_order() {
    let connected = connected();
    let inside = connected.connection.lock();
    let wire = connected.wire.clone();
    let asked = aside(move || {
        let created = wire.create("/a", b"x", CreateMode::Persistent, &AclChoice::Open);
        (created, wire.set_data("/a", b"y", Some(0)), wire.get_data("/a"))
    });
    let (created, set, got) = asked.recv_timeout(SOON).expect("to ask does not wait");
    connected.connection.within(inside, |_, _| ());
    let all = async move { Ok((created.await, set.await, got.await)) };
    let all = aside(move || drive::wait(all, None, None)).recv_timeout(SOON).expect("answers");
    let (created, set, got) = all.expect("waited");
    assert_eq!(created.expect("created").path, "/a");
    assert_eq!(set.expect("it was there").version, 1);
    assert_eq!(got.expect("read").0, b"y");
}

#[test]
fn who_waits_for_an_event_does_not_drive() {
    let connected = connected();
    let watching = connected.wire.watch_exists("/a");
    let event = aside(move || {
        let event = async move { Ok(watching.await.map_err(told)?.1.await) };
        drive::wait(event, None, None)
    });
    eventually("it is watched", || connected.server.watch_count() == 1);
    eventually("nobody drives", || connected.driver().is_none());
    let created = connected.wire.create("/a", b"", CreateMode::Persistent, &AclChoice::Open);
    aside(move || wait(created)).recv_timeout(SOON).expect("answered").expect("created");
    assert_eq!(event.recv_timeout(SOON).expect("told"), Ok(Event::Created));
}

#[test]
fn a_hook_runs_when_its_thread_drives_nothing_and_a_signal_brings_it_at_once() {
    on_signal(libc::SIGUSR2, nothing);
    let connected = connected();
    connected.server.inject(Fault::delay_reply("exists", SOON));
    let (flight, connection) = (connected.look(), connected.connection.clone());
    let (tell, tells) = channel();
    let interrupted = aside(move || {
        // SAFETY: this thread's own number.
        tell.send(unsafe { (libc::pthread_self(), libc::gettid()) }).expect("heard");
        let mut was_free = None;
        let mut hook = || {
            was_free = Some(connection.lock().driver.is_none());
            false
        };
        let tick = Tick { every: LONG, hook: &mut hook };
        let result = drive::wait(async move { flight.await.map_err(told) }, None, Some(tick));
        (result.map_err(|error| error.kind()), was_free)
    });
    let (thread, number) = tells.recv_timeout(SOON).expect("told");
    eventually("it drives", || connected.driver().is_some() && sleeps(number));
    // SAFETY: the thread waits for the signal.
    assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR2) }, 0);
    let outcome = interrupted.recv_timeout(SOON / 2).expect("it has not waited for the hour or the answer");
    assert_eq!(outcome, (Err(ErrorKind::Cancelled), Some(true)));
    assert_eq!(connected.driver(), None);
}

static FORKED: AtomicI32 = AtomicI32::new(0);

extern "C" fn fork(_: i32) {
    // SAFETY: the child leaves by _exit.
    let child = unsafe { libc::fork() };
    if child != 0 {
        FORKED.store(child, Ordering::SeqCst);
    }
}

#[test]
fn a_child_that_is_forked_while_its_thread_drives_touches_nothing() {
    on_signal(libc::SIGUSR1, fork);
    let connected = connected();
    connected.server.inject(Fault::delay_reply("exists", Duration::from_secs(1)));
    let flight = connected.look();
    let process = Process::present();
    let (tell, tells) = channel();
    let answer = aside(move || {
        // SAFETY: as above.
        tell.send(unsafe { (libc::pthread_self(), libc::gettid()) }).expect("heard");
        let answer = wait(flight);
        if !process.is_present() {
            let is_well = answer.is_err_and(|error| error.kind() == ErrorKind::Forked);
            // SAFETY: the child's end.
            unsafe { libc::_exit(i32::from(!is_well)) };
        }
        answer
    });
    let (thread, number) = tells.recv_timeout(SOON).expect("told");
    eventually("it drives", || connected.driver().is_some() && sleeps(number));
    // SAFETY: the thread waits.
    assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
    assert_eq!(answer.recv_timeout(SOON).expect("the parent goes on"), Ok(true));
    let (child, mut status) = (FORKED.load(Ordering::SeqCst), -1);
    eventually("the child ends", || {
        // SAFETY: the child is ours.
        unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) == child }
    });
    assert_eq!(status, 0, "it was told that it is a child");
    let flight = connected.look();
    assert_eq!(
        aside(move || wait(flight)).recv_timeout(SOON).expect("nothing was read or disarmed"),
        Ok(true)
    );
}

#[test]
fn a_connection_that_ends_is_shut_down_and_closed_by_its_last_user() {
    let connected = connected();
    let driving = connected.drive();
    let stream = Arc::downgrade(&driving.stream);
    // As the machine wants it when it gives a server up.
    connected.connection.with(|state, now| state.machine.hung_up("a test".to_owned(), now));
    eventually("it has another one", || {
        let state = connected.connection.lock();
        state.channel.as_ref().is_some_and(|socket| !Arc::ptr_eq(&socket.stream, &driving.stream))
    });
    // Shut down from here, and not only by the server.
    let sent = driving.stream.try_write(b"x");
    assert!(sent.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe));
    // The number is still its own, and who polls it comes back.
    let polled = system::poll([driving.stream.as_fd()].into_iter(), Some(SOON)).expect("polled");
    assert!(polled.has(0));
    assert!(!driving.read());
    assert!(stream.upgrade().is_some());
    drop(driving);
    eventually("it is closed", || stream.upgrade().is_none());
}

static BROKEN_PIPES: AtomicUsize = AtomicUsize::new(0);

extern "C" fn broken_pipe(_: i32) {
    BROKEN_PIPES.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn a_connection_that_breaks_sends_no_signal() {
    on_signal(libc::SIGPIPE, broken_pipe);
    let connected = connected();
    let stream = connected.drive().stream.clone();
    stream.shut();
    assert!(stream.try_write(b"x").is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe));
    assert_eq!(BROKEN_PIPES.load(Ordering::SeqCst), 0);
}
