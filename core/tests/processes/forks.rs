//! A forked child is a process of its own: it connects as any other does, its parent's objects answer Forked in it at once,
//! and whatever it does with them, the parent is undisturbed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zkrecipes::drive::{CancelToken, Tick, check_process, end_sessions, feed, start, wait};
use zkrecipes::{
    Client, ClientOptions, CreateMode, Error, ErrorKind, Feed, Held, Lock, LockOptions, QueueOptions, Result,
    State,
};
use zkrecipes_embedded::Server;

type TestResult = Result<(), Box<dyn std::error::Error>>;
const SOON: Duration = Duration::from_secs(20);

fn server() -> Server {
    Server::builder().tick(Duration::from_millis(50)).start().expect("a free port")
}

fn connect(hosts: &str) -> Result<Client> {
    let hosts = hosts.to_owned();
    wait(async move { Client::connect(&hosts, ClientOptions::default()).await }, None, None)
}

fn lock(client: &Client, path: &str) -> Result<Lock> {
    client.lock(path, LockOptions::default())
}

fn acquire(lock: &Lock) -> Result<Held> {
    wait(lock.acquire(), None, None)
}

fn next<T: Send + 'static>(mut feed: Feed<T>) -> (Feed<T>, Option<Result<T>>) {
    let asked = async move {
        let item = feed.next().await;
        Ok((feed, item))
    };
    wait(asked, None, None).expect("it is asked")
}

/// What `body` answers in a forked child, which leaves by _exit; 255 if it panics.
fn in_child(body: impl FnOnce() -> u8) -> u8 {
    // SAFETY: the child only runs the code under test and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(255);
        unsafe { libc::_exit(said.into()) };
    }
    answer_of(child)
}

/// What the child answers, if it ends.
fn answer_of(child: libc::pid_t) -> u8 {
    let until = Instant::now() + SOON;
    let mut status = 0;
    // SAFETY: the child is ours.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } != child {
        if Instant::now() > until {
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(libc::WIFEXITED(status), "the child was killed: {status}");
    libc::WEXITSTATUS(status) as u8
}

fn is_forked<T>(answer: &Result<T>) -> bool {
    answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Forked)
}

/// The child's copy, for what takes it away; the child ends by _exit, so nothing is dropped twice.
fn copy<T>(of: &T) -> T {
    // SAFETY: as above.
    unsafe { std::ptr::read(of) }
}

/// It takes a lock of its own and finds the parent's taken.
fn is_a_client_like_any_other(hosts: &str, own: &str, parents: &str) -> Result<u64> {
    let client = connect(hosts)?;
    let held = acquire(&lock(&client, own)?)?;
    let taken = lock(&client, parents)?;
    assert!(wait(taken.try_acquire(), None, None)?.is_none(), "the parent holds it");
    assert!(held.is_held() && client.state() == State::Connected);
    let token = held.fencing_token();
    wait(async move { held.verify().await }, None, None)?;
    wait(async move { client.close(None).await }, None, None)?;
    Ok(token)
}

#[test]
fn a_child_has_a_client_of_its_own_and_its_parents_answer_forked() -> TestResult {
    let server = server();
    let hosts = server.connect_string();
    let client = connect(&hosts)?;
    let kept = lock(&client, "/locks/a")?;
    let held = acquire(&kept)?;
    let config = client.config("/config/a")?;
    let (watched, first) = next(config.watch());
    assert!(matches!(first, Some(Ok(None))));
    let queue = client.queue("/queues/a", QueueOptions::default())?;
    let election = client.election("/elections/a", b"", Default::default())?;
    let writes = held.guarded();
    let subscription = client.on_state(|_| {});
    let token = CancelToken::new();
    let sessions = server.sessions().len();

    let said = in_child(|| {
        let asks: [Result<()>; 14] = [
            check_process(&client),
            wait(
                lock(&client, "/locks/b").map(|lock| lock.acquire()).unwrap_or_else(|_| kept.acquire()),
                None,
                None,
            )
            .map(drop),
            lock(&client, "/locks/b").map(drop),
            wait(kept.try_acquire(), None, None).map(drop),
            wait(kept.release(), None, None),
            wait(held.release(), None, None),
            wait(held.leave(false), None, None),
            held.release_in_background(),
            writes.create("/a", b"", CreateMode::Persistent),
            held.guarded().set("/a", b"", None),
            kept.guarded().map(drop),
            kept.on_wait(|_| {}).map(drop),
            wait(
                {
                    let queue = queue.clone();
                    async move { queue.put(b"a").await }
                },
                None,
                None,
            ),
            wait(
                {
                    let client = client.clone();
                    async move { client.close(None).await }
                },
                None,
                None,
            ),
        ];
        if let Some(at) = asks.iter().position(|answer| !is_forked(answer)) {
            eprintln!("{at}: {:?}", asks[at]);
            return at as u8 + 1;
        }
        let (watched, item) = next(copy(&watched));
        assert!(item.is_some_and(|item| is_forked(&item)), "a feed of the parent's");
        assert!(next(config.watch()).1.is_some_and(|item| is_forked(&item)), "a feed made in the child");
        assert!(feed(&client, config.watch(), |_| {}, |_: Option<Error>| {}).is_err());
        assert!(!kept.is_held() && !held.is_held() && !election.is_leader());
        assert_eq!((client.state(), client.session_id()), (State::Closed, 0));
        assert_eq!(client.lease_remaining(), Duration::ZERO);
        token.cancel();
        subscription.unsubscribe();
        kept.cancel();
        election.cancel();
        is_a_client_like_any_other(&hosts, "/locks/b", "/locks/a").expect("a client of the child");
        // And so on: a grandchild has two processes before it.
        let own = connect(&hosts).expect("another one");
        let grandchild = in_child(|| {
            assert!(is_forked(&check_process(&own)) && is_forked(&lock(&client, "/locks/c")));
            u8::from(is_a_client_like_any_other(&hosts, "/locks/c", "/locks/a").is_err())
        });
        assert_eq!((grandchild, own.state()), (0, State::Connected));
        drop(watched);
        drop((
            copy(&writes),
            copy(&held),
            copy(&kept),
            copy(&queue),
            copy(&config),
            copy(&election),
            copy(&client),
        ));
        assert!(
            is_a_client_like_any_other(&hosts, "/locks/b", "/locks/a").is_ok(),
            "what was dropped was not ours"
        );
        // What is left ends with the process, as it does in any other.
        end_sessions(SOON);
        0
    });
    assert_eq!(said, 0);

    assert_eq!(server.sessions().len(), sessions, "the child has ended its own sessions, and no other");
    assert!(held.is_held() && client.state() == State::Connected && !token.is_cancelled());
    let again = held.clone();
    wait(async move { again.verify().await }, None, None)?;
    wait(
        {
            let config = config.clone();
            async move { config.set(b"1", None).await }
        },
        None,
        None,
    )?;
    let (_, item) = next(watched);
    assert!(item.is_some_and(|item| item.is_ok_and(|now| now.is_some())), "the parent's feed goes on");
    let before = held.fencing_token();
    wait(held.release(), None, None)?;
    assert!(acquire(&kept)?.fencing_token() > before);
    Ok(())
}

/// The worst moment for a fork: other threads have whatever locks there are.
#[test]
fn a_child_forked_while_its_parent_is_busy_does_not_wait_for_threads_it_does_not_have() -> TestResult {
    let server = server();
    let hosts = server.connect_string();
    let client = connect(&hosts)?;
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::new(AtomicU64::new(0));
    let busy: Vec<_> = (0..3)
        .map(|of| {
            let (client, is_over, told, hosts) =
                (client.clone(), is_over.clone(), told.clone(), hosts.clone());
            std::thread::spawn(move || -> Result<()> {
                let lock = lock(&client, &format!("/locks/busy-{of}"))?;
                while !is_over.load(Ordering::SeqCst) {
                    let held = acquire(&lock)?;
                    let told = told.clone();
                    drop(held.on_lost(|_| {}));
                    start(async { Ok(()) }, &CancelToken::new(), move |_: Result<()>| {
                        told.fetch_add(1, Ordering::SeqCst);
                    })?;
                    wait(held.release(), None, None)?;
                    drop(connect(&hosts)?);
                }
                Ok(())
            })
        })
        .collect();
    let kept = lock(&client, "/locks/a")?;
    let held = acquire(&kept)?;
    for _ in 0..25 {
        let before = told.load(Ordering::SeqCst);
        let said = in_child(|| {
            drop((kept.clone(), held.clone(), client.clone()));
            u8::from(is_a_client_like_any_other(&hosts, "/locks/b", "/locks/a").is_err())
        });
        assert_eq!(said, 0);
        let until = Instant::now() + SOON;
        while told.load(Ordering::SeqCst) == before {
            assert!(Instant::now() < until, "the parent goes on");
            std::thread::yield_now();
        }
    }
    is_over.store(true, Ordering::SeqCst);
    for thread in busy {
        thread.join().expect("it did not panic")?;
    }
    wait(async move { held.verify().await }, None, None)?;
    Ok(())
}

/// The thread that runs a callback is the only one of the child, and nobody's callback waits for it there.
#[test]
fn a_child_forked_inside_a_callback_may_wait() -> TestResult {
    let server = server();
    let hosts = server.connect_string();
    let client = connect(&hosts)?;
    let held = acquire(&lock(&client, "/locks/a")?)?;
    let (sender, said) = std::sync::mpsc::channel();
    start(async { Ok(()) }, &CancelToken::new(), move |_: Result<()>| {
        let refused = connect(&hosts).map(drop).map_err(|error| error.kind());
        let child =
            in_child(|| u8::from(is_a_client_like_any_other(&hosts, "/locks/b", "/locks/a").is_err()));
        let _ = sender.send((refused, child));
    })?;
    assert_eq!(said.recv_timeout(SOON)?, (Err(ErrorKind::Deadlock), 0));
    wait(async move { held.verify().await }, None, None)?;
    Ok(())
}

/// A handler of a signal may fork while a call waits: the call is the parent's.
#[test]
fn a_call_during_which_its_own_thread_forks_goes_on_in_the_parent_alone() -> TestResult {
    let server = server();
    let hosts = server.connect_string();
    let client = connect(&hosts)?;
    let held = acquire(&lock(&client, "/locks/a")?)?;
    let other = connect(&hosts)?;
    let mut child = None;
    let mut held = Some(held);
    let mut hook = || {
        if child.is_none() {
            // SAFETY: the child only runs the code under test and leaves by _exit.
            child = Some(unsafe { libc::fork() });
        } else {
            drop(held.take());
        }
        true
    };
    let tick = Tick { every: Duration::from_millis(1), hook: &mut hook };
    let waited = wait(lock(&other, "/locks/a")?.acquire(), None, Some(tick));
    let child = child.expect("it has waited");
    if child == 0 {
        let is_well = is_forked(&waited) && connect(&hosts).is_ok();
        unsafe { libc::_exit(i32::from(!is_well)) };
    }
    assert_eq!(answer_of(child), 0);
    assert!(waited?.is_held(), "the parent's call has waited on");
    Ok(())
}
