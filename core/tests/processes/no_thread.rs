//! What is told when the system has no thread to give. Its process has no memory left for a stack.

use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use crate::support::told::{SAID, said, text};
use crate::support::{SOON, is_run_elsewhere, options, server};
use zkrecipes::blocking::Client;
use zkrecipes::drive::log::Level;

/// Less than a stack.
const LEFT: u64 = 1 << 20;

/// How much memory this process may have from now on; answers how much it might have before.
fn may_have(bytes: u64) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a struct of our own.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) }, 0);
    let before = std::mem::replace(&mut limit.rlim_cur, bytes.min(limit.rlim_max));
    // SAFETY: the same.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    before
}

fn has() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("it is there");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn callbacks_for_which_there_is_no_thread_wait_and_it_is_told() -> Result<(), zkrecipes::Error> {
    if is_run_elsewhere("no_thread::callbacks_for_which_there_is_no_thread_wait_and_it_is_told", |_| {}) {
        return Ok(());
    }
    // With their stacks they need more than what is left, even if the allocator has just given back some.
    const MANY: usize = 256;
    LazyLock::force(&SAID);
    let server = server();
    let client = Client::connect(&server.connect_string(), options(Duration::from_secs(20)))?;
    let held = client.lock("/locks/no-thread", Default::default())?.acquire()?;
    // Each takes a thread until all may go on.
    let (go_on, may_go_on) = channel::<()>();
    let may_go_on = Arc::new(Mutex::new(may_go_on));
    let (told, is_told) = channel();
    for _ in 0..MANY {
        let (told, may_go_on) = (told.clone(), may_go_on.clone());
        held.on_lost(move |_| {
            drop(may_go_on.lock().map(|may_go_on| may_go_on.recv()));
            let _ = told.send(());
        });
    }
    // The thread that tells begins with the first that is told, and must be there while there is memory for it.
    let until = Instant::now() + SOON;
    while SAID.lock().expect("no panic").is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
    let before = may_have(has() + LEFT);
    client.nodes().delete(held.node(), None)?;
    let until = Instant::now() + SOON;
    while said("no_thread").is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
    may_have(before);
    drop(go_on);
    let told = said("no_thread").first().cloned().expect("it is told");
    assert_eq!(told.level, Level::Error);
    assert_eq!(told.fields.len(), 1, "{told:?}");
    assert!(!text(&told, "error").is_empty(), "{told:?}");
    for _ in 0..MANY {
        is_told.recv_timeout(SOON).expect("the others come once there is a thread that is free");
    }
    Ok(())
}
