//! What the tests of the core share: a server of their own, clients, and waiting for conditions.

#![allow(dead_code, reason = "each test program uses its part")]

use std::future::Future;
use std::process::Command;
use std::time::{Duration, Instant};

use zkrecipes::{Client, ClientOptions, Lock, LockOptions, RetryOptions};
use zkrecipes_embedded::Server;

pub mod access;
pub mod commits;
pub mod ground;
pub mod hostile;
pub mod lateness;
pub mod mishap;
pub mod rounds;
pub mod said;
pub mod told;

/// Long enough for a loaded machine; a test that needs it has failed. Less than the half minute after which much is looked at without
/// news, or what should have told would not be missed.
pub const SOON: Duration = Duration::from_secs(20);

pub fn server() -> Server {
    Server::builder()
        .tick(Duration::from_millis(100))
        .min_session_timeout(Duration::from_millis(200))
        .max_session_timeout(Duration::from_secs(60))
        .start()
        .expect("a free port")
}

pub fn options(session_timeout: Duration) -> ClientOptions {
    let retry = RetryOptions::default().base(Duration::from_millis(10));
    ClientOptions::default().session_timeout(session_timeout).retry(retry)
}

pub async fn client(server: &Server) -> Client {
    client_with(server, Duration::from_secs(10)).await
}

pub async fn client_with(server: &Server, session_timeout: Duration) -> Client {
    connected(server, options(session_timeout)).await
}

pub async fn connected(server: &Server, options: ClientOptions) -> Client {
    Client::connect(&server.connect_string(), options).await.expect("the server answers")
}

pub fn lock_of(client: &Client, path: &str) -> Lock {
    client.lock(path, LockOptions::default()).expect("a valid path")
}

/// Waits until `condition` holds.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < until, "{what} did not come true");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The result of `future`, which must not take long.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.unwrap_or_else(|_| panic!("{what} hangs"))
}

/// The contender nodes under `path`.
pub fn nodes_under(server: &Server, path: &str) -> Vec<String> {
    let prefix = format!("{path}/");
    server.nodes().into_iter().filter(|node| node.starts_with(&prefix)).collect()
}

/// Nothing of anybody is left: no contender, no watch.
pub async fn assert_nothing_left(server: &Server, path: &str) {
    eventually("the path is empty again", || nodes_under(server, path).is_empty()).await;
    eventually("no watch is left", || server.watch_count() == 0).await;
}

/// The requests since the log was cleared, without pings, without the contact that an idle session keeps, and without the word
/// about what it holds that a holder asks its server for.
pub fn requests(server: &Server) -> Vec<String> {
    let is_held = |path: &str| path.contains("/_c_") || path.contains("/claims/");
    let of_interest = |op: &str, path: &str| match op {
        "ping" => false,
        "sync" => path != "/",
        "exists" => path != "/" && !is_held(path),
        _ => true,
    };
    server
        .log()
        .iter()
        .filter(|entry| of_interest(entry.op, &entry.path))
        .map(|entry| entry.op.to_string())
        .collect()
}

/// For a test that needs a process of its own, as it counts threads or memory, or changes what is everybody's: whether it has
/// been run in one. There it is not run again, and goes on.
pub fn is_run_elsewhere(test: &str, prepare: impl FnOnce(&mut Command)) -> bool {
    const ALONE: &str = "ZKRECIPES_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let mut process = Command::new(std::env::current_exe().expect("this program"));
    process.args(["--exact", test, "--nocapture"]).env(ALONE, "yes");
    prepare(&mut process);
    let ended = process.output().expect("a process");
    let (said, told) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    // A name that is no test's would run nothing, and succeed.
    assert!(ended.status.success() && said.contains("1 passed"), "{test}: {said}{told}");
    true
}
