//! A process that exits frees what it holds at once, whatever it was doing.

use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Wake, Waker};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::support::{SOON, server, told};
use zkrecipes::blocking::Client;
use zkrecipes::drive::{self, CancelToken, end_sessions, start, wait};
use zkrecipes::{CommitMode, ErrorKind, LockOptions, QueueOptions};
use zkrecipes_embedded::{Fault, Server};

/// What the program below is to do, if it is not a test.
const PROGRAM: &str = "ZKRECIPES_TEST_PROGRAM";
const HOSTS: &str = "ZKRECIPES_TEST_HOSTS";
const PATH: &str = "/locks/exit";
const QUEUE: &str = "/queues/exit";
const COMMITS: &str = "/commits/exit";
/// What a program says when its sessions are to end.
const ENDING: &str = "ending";
/// Far longer than a test takes: nothing ends by running out.
const TIMEOUT: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(10);
/// That of a program whose server does not answer.
const SHORT_LIMIT: Duration = Duration::from_secs(4);
/// The answer to what a program asks for takes longer than the program.
const SLOW: Duration = Duration::from_secs(3);

fn connect() -> Result<Client, zkrecipes::Error> {
    let hosts = std::env::var(HOSTS).expect("where the server is");
    Client::connect(&hosts, crate::support::options(TIMEOUT))
}

fn hold(client: &Client) -> zkrecipes::blocking::Held {
    client.lock(PATH, LockOptions::default()).expect("a path").acquire().expect("it is free")
}

/// Of an executor with a bug: whoever wakes it on that thread gets a panic.
struct PanicsOn(ThreadId);

impl Wake for PanicsOn {
    fn wake(self: Arc<Self>) {
        assert!(std::thread::current().id() != self.0, "a broken waker");
    }
}

fn say(line: &str) {
    println!("{line}");
    let _ = std::io::stdout().flush();
}

/// Whether another thread is inside a call whose answer is to be seen.
static ASKING: AtomicBool = AtomicBool::new(false);

fn ask<T>(call: impl FnOnce() -> Result<T, zkrecipes::Error> + Send + 'static) {
    ASKING.store(true, Ordering::SeqCst);
    std::thread::spawn(|| {
        say(&format!("{:?}", call().map(drop).map_err(|error| error.kind())));
        ASKING.store(false, Ordering::SeqCst);
    });
}

extern "C" fn at_exit() {
    let is_in_vain = std::env::var(PROGRAM).is_ok_and(|name| name == "get in vain");
    let (began, limit) = (Instant::now(), if is_in_vain { SHORT_LIMIT } else { LIMIT });
    say(ENDING);
    end_sessions(limit);
    say(if began.elapsed() < limit { "confirmed" } else { "took all its time" });
    while ASKING.load(Ordering::SeqCst) && began.elapsed() < SOON {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Leaves as C does: handlers run on this thread while all others go on.
fn exit() -> ! {
    std::process::exit(0)
}

/// Waits for `call` until the test says that it is to be withdrawn, as a signal does it, and leaves.
fn leave_withdrawn<T: Send + 'static>(
    call: impl Future<Output = Result<T, zkrecipes::Error>> + Send + 'static,
) -> ! {
    let token = CancelToken::new();
    let withdraws = token.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        withdraws.cancel();
    });
    say(&format!("{:?}", wait(call, Some(&token), None).map(drop).map_err(|error| error.kind())));
    exit()
}

/// Leaves while something is on its way that nobody wants any more.
fn leave_with(name: &str) -> ! {
    let hosts = std::env::var(HOSTS).expect("where the server is");
    let connecting =
        async move { zkrecipes::Client::connect(&hosts, crate::support::options(TIMEOUT)).await };
    let client = wait(connecting, None, None).expect("the server answers");
    let queue = client.queue(QUEUE, QueueOptions::default()).expect("a path");
    let commits = client.two_phase_commit(COMMITS, CommitMode::Coordinator).expect("a path");
    match name {
        "get" | "get in vain" => leave_withdrawn(drive::get(&queue, None)),
        "put" => leave_withdrawn(async move { queue.put(b"two").await }),
        "begin" => leave_withdrawn(drive::begin(&commits, "one", &["a"], b"", TIMEOUT)),
        "going back" => {
            drop(wait(drive::get(&queue, None), None, None).expect("there is one"));
            client.close_in_background();
            exit()
        }
        _ => panic!("no such program: {name}"),
    }
}

fn program(name: &str) {
    // SAFETY: the handler needs nothing that an exit takes away.
    unsafe { libc::atexit(at_exit) };
    let client = match name {
        "opening" => {
            ask(connect);
            let _ = std::io::stdin().read(&mut [0]);
            exit();
        }
        "get" | "get in vain" | "put" | "begin" | "going back" => leave_with(name),
        _ => connect().expect("the server answers"),
    };
    let held = hold(&client);
    match name {
        "holding" => exit(),
        "dropped" => {
            drop((held, client));
            exit();
        }
        "waited for" => {
            let lock = client.lock(PATH, LockOptions::default()).expect("a path");
            ask(move || lock.acquire());
            let _ = std::io::stdin().read(&mut [0]);
            exit();
        }
        "callback" => {
            start(async { Ok(()) }, &CancelToken::new(), |_| exit()).expect("started");
            std::thread::park_timeout(SOON);
        }
        "told" => {
            held.on_lost(|_| exit());
            std::thread::spawn(move || client.close(None));
            std::thread::park_timeout(SOON);
        }
        "runtime" => {
            let _ = wait::<()>(async { exit() }, None, None);
        }
        "going on" => {
            held.on_lost(|error| say(&format!("{:?}", error.reason())));
            end_sessions(LIMIT);
            assert!(!held.is_held());
            let closed = client.lock(PATH, LockOptions::default()).map(drop).map_err(|error| error.kind());
            assert_eq!(closed, Err(ErrorKind::Closed));
            assert_eq!(client.state(), zkrecipes::State::Closed);
            let next = connect().expect("only those that were there have ended");
            drop(hold(&next));
            exit();
        }
        "panicking" => {
            LazyLock::force(&told::SAID);
            let hosts = std::env::var(HOSTS).expect("where the server is");
            let connecting =
                async move { zkrecipes::Client::connect(&hosts, crate::support::options(TIMEOUT)).await };
            let waiter = wait(connecting, None, None).expect("the server answers");
            let mut waiting = Box::pin(waiter.lock(PATH, LockOptions::default()).expect("a path").acquire());
            let waker = Waker::from(Arc::new(PanicsOn(std::thread::current().id())));
            assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            end_sessions(LIMIT);
            let until = Instant::now() + SOON;
            while told::said("closing_panicked").is_empty() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            let told = told::said("closing_panicked");
            say(&format!("{:?}", told.iter().map(|it| (it.level, &*it.fields)).collect::<Vec<_>>()));
            exit();
        }
        "forked" => {
            // SAFETY: the child only runs the code under test and leaves by _exit.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let began = Instant::now();
                end_sessions(LIMIT);
                let is_forked = held.verify().is_err_and(|error| error.kind() == ErrorKind::Forked);
                let code = if is_forked && began.elapsed() < LIMIT { 0 } else { 1 };
                unsafe { libc::_exit(code) };
            }
            let mut status = 0;
            // SAFETY: the child is ours.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(libc::WEXITSTATUS(status), 0);
            held.verify().expect("the parent still holds");
            say("still held");
            exit();
        }
        _ => panic!("no such program: {name}"),
    }
}

/// Not a test by itself: the other end of those below.
#[test]
fn program_under_test() {
    if let Ok(name) = std::env::var(PROGRAM) {
        program(&name);
    }
}

struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

fn run(name: &str, server: &Server) -> Running {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "exit::program_under_test", "--nocapture"])
        .env(PROGRAM, name)
        .env(HOSTS, server.connect_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    Running { child, output }
}

impl Running {
    fn leave(&mut self) {
        self.child.stdin.as_mut().expect("piped").write_all(b"\n").expect("it listens");
    }

    /// Reads what it says up to this.
    fn until_it_says(&mut self, what: &str) {
        let mut line = String::new();
        while line.trim_end() != what {
            line.clear();
            assert!(self.output.read_line(&mut line).expect("a line") > 0, "it ends without {what}");
        }
    }

    /// Everything that it said, once the server has confirmed that nothing of it is left there.
    fn end(self, server: &Server) -> Vec<String> {
        let lines = self.ended();
        assert_eq!(server.sessions(), Vec::<u64>::new(), "{lines:?}");
        assert!(lines.iter().any(|line| line == "confirmed"), "{lines:?}");
        lines
    }

    /// Everything that it said, once it has ended by itself.
    fn ended(mut self) -> Vec<String> {
        let (send, lines) = channel();
        let output = self.output;
        std::thread::spawn(move || {
            let lines: Vec<String> = output.lines().map_while(Result::ok).collect();
            let _ = send.send(lines);
        });
        let Ok(lines) = lines.recv_timeout(SOON) else {
            let _ = self.child.kill();
            panic!("the program hangs");
        };
        let status = self.child.wait().expect("its end");
        assert!(status.success(), "{status}: {lines:?}");
        lines
    }
}

#[test]
fn what_is_held_at_exit_is_free_at_once() {
    let server = server();
    run("holding", &server).end(&server);
}

#[test]
fn what_was_dropped_just_before_the_exit_is_free_at_once() {
    let server = server();
    // The answer to the release takes longer than the program.
    server.inject(Fault::delay_reply("delete", Duration::from_millis(300)));
    run("dropped", &server).end(&server);
}

#[test]
fn a_client_that_is_being_connected_at_exit_leaves_no_session() {
    let server = server();
    server.inject(Fault::delay_reply("connect", Duration::from_millis(500)));
    let mut program = run("opening", &server);
    let until = Instant::now() + SOON;
    while server.sessions().is_empty() {
        assert!(Instant::now() < until, "the program connects");
        std::thread::sleep(Duration::from_millis(2));
    }
    program.leave();
    let lines = program.end(&server);
    assert!(lines.iter().any(|line| line == "Err(Closed)"), "{lines:?}");
}

#[test]
fn who_waits_at_exit_gets_closed() {
    let server = server();
    let mut program = run("waited for", &server);
    let until = Instant::now() + SOON;
    while crate::support::nodes_under(&server, PATH).len() < 2 && server.count("create*", "*") < 2 {
        assert!(Instant::now() < until, "somebody waits");
        std::thread::sleep(Duration::from_millis(2));
    }
    program.leave();
    let lines = program.end(&server);
    assert!(lines.iter().any(|line| line == "Err(Closed)"), "{lines:?}");
}

#[test]
fn an_exit_inside_a_callback_or_on_the_runtime_ends_the_sessions() {
    for name in ["callback", "told", "runtime"] {
        let server = server();
        run(name, &server).end(&server);
    }
}

#[test]
fn the_end_of_all_sessions_is_told_and_is_no_end_of_the_library() {
    let server = server();
    // Nobody is told anything any more once it is confirmed.
    server.inject(Fault::delay_reply("close", Duration::from_millis(300)));
    let lines = run("going on", &server).end(&server);
    assert!(lines.iter().any(|line| line == "Some(Closed)"), "{lines:?}");
}

#[test]
fn a_panic_while_the_sessions_end_is_told_and_goes_no_further() {
    let server = server();
    let lines = run("panicking", &server).end(&server);
    assert!(lines.iter().any(|line| line == "[(Error, [])]"), "{lines:?}");
}

#[test]
fn a_forked_child_leaves_its_parents_sessions_alone() {
    let server = server();
    let lines = run("forked", &server).end(&server);
    assert!(lines.iter().any(|line| line == "still held"), "{lines:?}");
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < until, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn items(server: &Server) -> usize {
    crate::support::nodes_under(server, QUEUE).len()
}

/// Does `work` with a client that is closed again: the sessions at the server are those of the program.
fn with_client<T>(server: &Server, work: impl FnOnce(&Client) -> T) -> T {
    let client = Client::connect(&server.connect_string(), crate::support::options(TIMEOUT));
    let client = client.expect("the server answers");
    let outcome = work(&client);
    client.close(None).expect("closed");
    outcome
}

/// A server at which the queue has one item.
fn server_with_an_item() -> Server {
    let server = server();
    with_client(&server, |client| {
        let queue = client.queue(QUEUE, QueueOptions::default()).expect("a path");
        queue.put(b"one").expect("put");
    });
    server
}

fn what_is_queued(server: &Server) -> Vec<Vec<u8>> {
    with_client(server, |client| {
        client.queue(QUEUE, QueueOptions::default()).expect("a path").items().expect("read")
    })
}

#[test]
fn what_was_withdrawn_just_before_the_exit_is_undone() {
    // A put, too, is known by what it makes.
    for (name, then) in [("get", 0), ("put", 2)] {
        let server = server_with_an_item();
        server.inject(Fault::delay_reply("multi", SLOW));
        let mut program = run(name, &server);
        until("it is done", || items(&server) == then);
        program.leave();
        let lines = program.end(&server);
        assert!(lines.iter().any(|line| line == "Err(Cancelled)"), "{lines:?}");
        assert_eq!(what_is_queued(&server), [b"one"], "{name}");
    }
}

#[test]
fn what_was_withdrawn_is_undone_in_another_session_if_its_own_ends_with_the_program() {
    let server = server_with_an_item();
    server.inject(Fault::delay_reply("multi", TIMEOUT));
    let mut program = run("get", &server);
    until("it is removed", || items(&server) == 0);
    program.leave();
    program.until_it_says(ENDING);
    for session in server.sessions() {
        server.expire(session);
    }
    // The late answer would come before the end of its connection.
    server.drop_connections();
    program.end(&server);
    assert_eq!(what_is_queued(&server), [b"one"]);
}

#[test]
fn a_transaction_that_was_withdrawn_just_before_the_exit_is_aborted() {
    let server = server();
    let commits =
        |client: &Client| client.two_phase_commit(COMMITS, CommitMode::Coordinator).expect("a path");
    with_client(&server, |client| {
        // The folders are there.
        let first = commits(client).begin("first", &["a"], b"", TIMEOUT).expect("begun");
        commits(client).decide_abort("first", "").expect("decided");
        first.outcome(None).expect("known");
    });
    let slow = server.inject(Fault::delay_reply("multi", SLOW).path("**/transactions/one"));
    let mut program = run("begin", &server);
    until("it has begun", || server.fault_fired(slow));
    program.leave();
    let lines = program.end(&server);
    assert!(lines.iter().any(|line| line == "Err(Cancelled)"), "{lines:?}");
    let status = with_client(&server, |client| commits(client).show("one").expect("asked"));
    assert!(status.is_none(), "{status:?}");
}

#[test]
fn an_item_that_goes_back_while_its_client_closes_is_there_after_the_exit() {
    let server = server_with_an_item();
    server.inject(Fault::delay_reply("sync", SLOW).path(QUEUE));
    run("going back", &server).end(&server);
    assert_eq!(what_is_queued(&server), [b"one"]);
}

#[test]
fn a_server_that_does_not_answer_holds_up_an_exit_no_longer_than_it_may() {
    let server = server_with_an_item();
    server.inject(Fault::delay_reply("multi", TIMEOUT));
    let mut program = run("get in vain", &server);
    until("it is removed", || items(&server) == 0);
    program.leave();
    program.ended();
    until("the end of the session has left all the same", || server.sessions().is_empty());
}
