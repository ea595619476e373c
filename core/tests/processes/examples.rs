//! The examples of Rust, run as users run them, each on a server of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support;

/// It goes on until it is told to stop.
const WORKER: &str = "queue_worker";

/// `cargo test` builds them beside the tests.
fn built() -> PathBuf {
    let this = std::env::current_exe().expect("this program");
    this.ancestors().nth(2).expect("two folders").join("examples")
}

#[test]
fn every_example_runs_to_its_end_and_says_something() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/rust");
    let mut names: Vec<_> = std::fs::read_dir(sources)
        .expect("the examples")
        .map(|entry| entry.expect("readable").path())
        // A folder is a crate of its own.
        .filter(|path| path.is_file())
        .map(|path| path.with_extension("").file_name().expect("a name").to_str().expect("UTF-8").to_owned())
        .collect();
    names.sort_unstable();
    assert!(names.iter().any(|name| name == "lock"), "{names:?}");
    for name in names.into_iter().filter(|name| name != WORKER) {
        let output = Command::new(built().join(&name)).output().unwrap_or_else(|error| {
            panic!("{name}: {error}; is it in core/Cargo.toml, and did `cargo build --examples` run?")
        });
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{name}: {err}");
        assert!(!out.is_empty() && err.is_empty(), "{name} printed {out:?} and {err:?}");
    }
}

#[test]
fn the_worker_finishes_what_it_has_begun_when_it_is_told_to_stop() {
    let server = support::server();
    let mut worker = Command::new(built().join(WORKER))
        .arg(server.connect_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the worker");
    let mut lines = BufReader::new(worker.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let begun = lines.next();
    // SAFETY: the child has not been waited for, so that the number is still its own.
    unsafe { libc::kill(worker.id() as libc::pid_t, libc::SIGTERM) };
    let rest: Vec<String> = lines.collect();
    let status = worker.wait().expect("its end");
    let mut err = String::new();
    worker.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    assert!(status.success() && err.is_empty(), "{status}: {begun:?}, {rest:?}, {err}");
    assert_eq!(begun.as_deref(), Some("mail to alice@example.org"));
    assert_eq!(rest, ["sent to alice@example.org", "stopped"]);
    assert!(server.sessions().is_empty());
    assert!(!server.nodes().iter().any(|node| node.contains("/queues/mail/qn-")), "{:?}", server.nodes());
}
