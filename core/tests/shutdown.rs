//! The end of the library before that of its program. A program of its own: it ends the library for all that is in it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zkrecipes::blocking::Client;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{ErrorKind, State};
use zkrecipes_embedded::Server;

/// One at a time.
static ALONE: Mutex<()> = Mutex::new(());
const SOON: Option<Duration> = Some(Duration::from_secs(20));

type Anything = Result<(), Box<dyn std::error::Error>>;

#[test]
fn an_end_that_is_owed_is_told_before_all_ends() -> Anything {
    let _alone = ALONE.lock();
    let told = Arc::new(AtomicUsize::new(0));
    let counts = told.clone();
    let late = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(())
    };
    drive::start(late, &CancelToken::new(), move |_| _ = counts.fetch_add(1, Ordering::SeqCst))?;
    let error = drive::shut_down(Some(Duration::ZERO)).expect_err("a call is in progress");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    drive::shut_down(SOON)?;
    assert_eq!(told.load(Ordering::SeqCst), 1);
    Ok(())
}

#[test]
fn what_a_client_that_is_closed_has_to_tell_is_told_before_all_ends() -> Anything {
    let _alone = ALONE.lock();
    let server = Server::start()?;
    for _ in 0..3 {
        let client = Client::connect(&server.connect_string(), Default::default())?;
        let states = Arc::new(Mutex::new(Vec::new()));
        let told = states.clone();
        client.on_state(move |state| {
            std::thread::sleep(Duration::from_millis(100));
            told.lock().expect("no panic").push(state);
        });
        let error = drive::shut_down(SOON).expect_err("it is open");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        client.close(None)?;
        drive::shut_down(SOON)?;
        assert_eq!(*states.lock().expect("no panic"), [State::Closed]);
        // It is used again, and tells whoever asks later.
        let (send, told) = std::sync::mpsc::channel();
        client.on_state(move |state| _ = send.send(state));
        assert_eq!(told.recv_timeout(Duration::from_secs(20))?, State::Closed);
        drive::shut_down(SOON)?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn neither_threads_nor_descriptors_are_left() -> Anything {
    let _alone = ALONE.lock();
    let ours = || -> Result<usize, std::io::Error> {
        let mut found = 0;
        for task in std::fs::read_dir("/proc/self/task")? {
            let name = std::fs::read_to_string(task?.path().join("comm")).unwrap_or_default();
            let names = ["io", "call", "lease", "log", "names"];
            found += usize::from(names.iter().any(|kind| name.trim_end() == format!("zkrecipes-{kind}")));
        }
        Ok(found)
    };
    let descriptors = || std::fs::read_dir("/proc/self/fd").map(Iterator::count);
    let server = Server::start()?;
    drive::shut_down(SOON)?;
    let before = descriptors()?;
    for _ in 0..5 {
        let client = Client::connect(&server.connect_string(), Default::default())?;
        let held = client.lock("/lock", Default::default())?.acquire()?;
        assert!(ours()? > 0);
        client.close(None)?;
        drop(held);
        drive::shut_down(SOON)?;
        assert_eq!(ours()?, 0);
    }
    // The server closes its ends.
    for _ in 0..2000 {
        if descriptors()? <= before {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{} descriptors, and {before} before", descriptors()?);
}
