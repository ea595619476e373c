//! A program's signals reach the program: no thread of the library takes one.

mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use zkrecipes::blocking::Client;
use zkrecipes::drive::{CancelToken, start};
use zkrecipes::{ClientOptions, LockOptions};
use zkrecipes_embedded::Proxy;

/// Tells the program below apart from the tests.
const PROGRAM: &str = "ZKRECIPES_TEST_PROGRAM";

/// The signals that a thread may have open: those that cannot be blocked (9, 19), those that it causes itself, and the
/// two or three that the C library keeps for itself.
const MAY_BE_OPEN: [u32; 12] = [4, 5, 6, 7, 8, 9, 11, 19, 31, 32, 33, 34];

/// The blocked signals of every thread, by its id.
fn masks() -> BTreeMap<String, (String, u64)> {
    let mut masks = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").expect("the threads").flatten() {
        // One that ends meanwhile is none any more.
        let Ok(status) = std::fs::read_to_string(task.path().join("status")) else { continue };
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        let mask = u64::from_str_radix(field("SigBlk:"), 16).expect("a mask");
        masks.insert(task.file_name().to_string_lossy().into_owned(), (field("Name:").to_owned(), mask));
    }
    masks
}

const OURS: [&str; 3] = ["zkrecipes-io", "zkrecipes-lease", "zkrecipes-call"];

/// A daemon that holds a lock while its callbacks run, and reads SIGTERM from a signalfd that it made late.
fn program() {
    let before = masks();
    assert_eq!(before.len(), 1, "only the main thread: {before:?}");
    let server = support::server();
    let proxy = Proxy::start(&server.connect_string()).expect("a free port");
    let hosts = proxy.connect_string().replace("127.0.0.1", "localhost");
    let client = Client::connect(&hosts, ClientOptions::default()).expect("the server answers");
    let held =
        client.lock("/locks/signals", LockOptions::default()).expect("a path").acquire().expect("free");

    let (inside, entered) = channel();
    let (leave, left) = channel::<()>();
    let at_work = inside.clone();
    let left = std::sync::Mutex::new(left);
    client.on_state(move |_| {
        let _ = at_work.send("a notice");
        let _ = left.lock().map(|left| left.recv());
    });
    let (of_loss, of_call) = (inside.clone(), inside);
    let (end_loss, loss_ended) = channel::<()>();
    let (end_call, call_ended) = channel::<()>();
    held.on_lost(move |_| {
        let _ = of_loss.send("a loss");
        let _ = loss_ended.recv();
    });
    start(async { Ok(()) }, &CancelToken::new(), move |_| {
        let _ = of_call.send("a completion");
        let _ = call_ended.recv();
    })
    .expect("started");
    server.expire(client.session_id());
    let mut running: Vec<_> =
        (0..3).map(|_| entered.recv_timeout(support::SOON).expect("a callback")).collect();
    running.sort_unstable();
    assert_eq!(running, ["a completion", "a loss", "a notice"]);

    // A thread that ends while they are listed may hide another one.
    let until = std::time::Instant::now() + support::SOON;
    let masks = loop {
        let masks = masks();
        let is_there = |name: &&str| masks.values().any(|(thread, _)| thread.starts_with(*name));
        if OURS.iter().all(is_there) {
            break masks;
        }
        assert!(std::time::Instant::now() < until, "one of {OURS:?} is missing: {masks:?}");
    };
    for (id, (name, mask)) in &masks {
        let open: Vec<u32> = (1..=64)
            .filter(|signal| mask & (1 << (signal - 1)) == 0 && !MAY_BE_OPEN.contains(signal))
            .collect();
        match before.get(id) {
            Some((_, mask_before)) => assert_eq!(mask, mask_before, "the program's own thread is as it was"),
            None => assert!(open.is_empty(), "{name} has signals open: {open:?} of {masks:?}"),
        }
    }
    drop((leave, end_loss, end_call));

    // SAFETY: the set is initialised before it is used, and the descriptor is only polled and read.
    unsafe {
        let mut term = std::mem::zeroed();
        libc::sigemptyset(&mut term);
        libc::sigaddset(&mut term, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &term, std::ptr::null_mut());
        let fd = libc::signalfd(-1, &term, 0);
        println!("ready");
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        assert_eq!(libc::poll(&mut poll, 1, support::SOON.as_millis() as i32), 1, "SIGTERM arrives");
        let mut told: libc::signalfd_siginfo = std::mem::zeroed();
        let size = std::mem::size_of_val(&told);
        assert_eq!(libc::read(fd, (&raw mut told).cast(), size), size as isize);
        assert_eq!(told.ssi_signo, libc::SIGTERM as u32);
    }
    println!("terminated in good order");
}

fn a_daemon_that_reads_its_signals_is_not_killed_through_our_threads() {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .env(PROGRAM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"), "the program came that far");
    // To the process, as a service manager does it; several, since each may reach another thread.
    for _ in 0..20 {
        // SAFETY: the child has not been waited for, so that the number is still its own.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
        std::thread::sleep(Duration::from_millis(1));
    }
    let rest: Vec<String> = lines.collect();
    let status = child.wait().expect("its end");
    assert_eq!(status.signal(), None, "{rest:?}");
    assert!(status.success() && rest.iter().any(|line| line == "terminated in good order"), "{rest:?}");
}

/// Without the test harness, which would have threads of its own and run the program on one of them.
fn main() {
    if std::env::var_os(PROGRAM).is_some() {
        return program();
    }
    a_daemon_that_reads_its_signals_is_not_killed_through_our_threads();
    println!("test a_daemon_that_reads_its_signals_is_not_killed_through_our_threads ... ok");
}
