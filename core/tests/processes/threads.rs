//! How many threads the library takes: few while nothing happens, as many as it takes while callbacks are slow, and few
//! again afterwards. Its process has no other threads.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{SOON, is_run_elsewhere, options, server};
use zkrecipes::blocking::{Client, Held};

type Anything = Result<(), Box<dyn std::error::Error>>;

/// The names of the threads that are the library's.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the threads").flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let is_ours =
        |name: &String| ["zkrecipes-", "async-io", "blocking-"].iter().any(|ours| name.starts_with(ours));
    names.map(|name| name.trim().to_owned()).filter(is_ours).collect()
}

fn of_callbacks() -> usize {
    threads().iter().filter(|name| *name == "zkrecipes-call").count()
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come true: {:?}", threads());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn hold(client: &Client) -> Result<Held, zkrecipes::Error> {
    client.lock("/locks/threads", Default::default())?.acquire()
}

#[test]
fn the_threads_of_callbacks_are_few_unless_callbacks_are_slow() -> Anything {
    if is_run_elsewhere("threads::the_threads_of_callbacks_are_few_unless_callbacks_are_slow", |_| {}) {
        return Ok(());
    }
    const MANY: usize = 1000;
    const SLOW: usize = 64;
    const MANY_CLIENTS: usize = 32;
    let server = server();
    let hosts = server.connect_string();
    let client = Client::connect(&hosts, options(Duration::from_secs(20)))?;
    client.on_state(|_| {});

    // Quick ones, very many at once.
    let held = hold(&client)?;
    let (told, is_told) = channel();
    for _ in 0..MANY {
        let told = told.clone();
        held.on_lost(move |_| _ = told.send(()));
    }
    client.nodes().delete(held.node(), None)?;
    for _ in 0..MANY {
        is_told.recv_timeout(SOON)?;
    }
    let most = of_callbacks();
    println!("after {MANY} quick losses at once: {most} threads");
    assert!(most <= 32, "{most} threads for quick losses");

    // Slow ones: each has its own.
    let held = hold(&client)?;
    let (last, lasting) = channel::<()>();
    let lasting = Arc::new(Mutex::new(lasting));
    for _ in 0..SLOW {
        let (told, lasting) = (told.clone(), lasting.clone());
        held.on_lost(move |_| {
            let _ = told.send(());
            drop(lasting.lock().map(|lasting| lasting.recv()));
        });
    }
    client.nodes().delete(held.node(), None)?;
    for _ in 0..SLOW {
        is_told.recv_timeout(SOON)?;
    }
    assert!(of_callbacks() >= SLOW, "none waits for another: {:?}", threads());
    drop(last);
    eventually("one thread for callbacks", || of_callbacks() == 1);

    // Many that connect at once, each of which resolves names.
    std::thread::scope(|scope| {
        let connect = || Client::connect(&hosts, options(Duration::from_secs(20)));
        let clients: Vec<_> = (0..MANY_CLIENTS).map(|_| scope.spawn(connect)).collect();
        clients.into_iter().try_for_each(|client| client.join().expect("it answers")?.close(None))
    })?;
    eventually("one thread that does I/O and none that resolves names", || {
        let named = |which: &str| threads().iter().filter(|name| *name == which).count();
        named("zkrecipes-io") == 1 && named("zkrecipes-names") == 0
    });
    println!("idle: {:?}", threads());
    // The one that does I/O, the lease's, and the callbacks'.
    assert!(threads().len() <= 3, "{:?}", threads());
    Ok(())
}
