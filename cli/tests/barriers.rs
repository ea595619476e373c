//! `zkrecipes barrier`.

mod support;

use support::{UNTIL_A_LINE, assert_nothing_left, eventually, run, server, start};
use zkrecipes_embedded::Server;

const PATH: &str = "/barriers/one";

/// How many are in the double barrier, or on their way in.
fn members(server: &Server) -> usize {
    let prefix = format!("{PATH}/");
    let names = server.nodes().into_iter().filter(|path| path.starts_with(&prefix));
    names.filter(|path| !path.ends_with("/ready")).count()
}

fn entering(server: &Server, parties: &str, script: &str) -> support::Running {
    start(server, &["barrier", "enter", PATH, "--parties", parties, "--", "sh", "-c", script])
}

#[test]
fn who_waits_goes_on_when_the_barrier_is_removed() {
    let server = server();
    assert_eq!(run(&server, &["barrier", "wait", PATH]).status, 0);
    assert_eq!(run(&server, &["barrier", "create", PATH]).status, 0);
    assert_eq!(run(&server, &["barrier", "create", PATH]).status, 0);
    let late = run(&server, &["barrier", "wait", "--timeout", "0", PATH]);
    assert_eq!(late.status, 75);
    assert!(late.err.contains(PATH) && late.err.contains("still up"), "{late:?}");
    let waiting = start(&server, &["barrier", "wait", PATH]);
    eventually("it waits", || server.watch_count() > 0);
    assert_eq!(run(&server, &["barrier", "remove", PATH]).status, 0);
    assert_eq!(waiting.end().status, 0);
    assert_eq!(run(&server, &["barrier", "remove", PATH]).status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_signal_ends_the_wait() {
    let server = server();
    assert_eq!(run(&server, &["barrier", "create", PATH]).status, 0);
    let waiting = start(&server, &["barrier", "wait", PATH]);
    eventually("it waits", || server.watch_count() > 0);
    waiting.signal(libc::SIGTERM);
    assert_eq!(waiting.end().status, 128 + libc::SIGTERM);
    assert_nothing_left(&server, PATH);
}

#[test]
fn commands_begin_and_end_together() {
    let server = server();
    let mut one = entering(&server, "2", UNTIL_A_LINE);
    eventually("one has come", || members(&server) == 1);
    let mut two = entering(&server, "2", &format!("{UNTIL_A_LINE}; exit 0"));
    assert_eq!(one.out.line(), "started");
    assert_eq!(two.out.line(), "started");
    one.send_line();
    eventually("one waits for two", || server.nodes().iter().any(|path| path.starts_with(PATH)));
    two.send_line();
    assert_eq!((one.end().status, two.end().status), (0, 0));
    assert_nothing_left(&server, PATH);
    assert_eq!(members(&server), 0);
}

#[test]
fn one_that_fails_waits_for_nobody_and_keeps_its_status() {
    let server = server();
    let mut stays = entering(&server, "2", UNTIL_A_LINE);
    let fails = entering(&server, "2", "exit 7");
    assert_eq!(stays.out.line(), "started");
    assert_eq!(fails.end().status, 7);
    stays.send_line();
    assert_eq!(stays.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn who_comes_alone_in_vain_runs_nothing_and_counts_for_nobody() {
    let server = server();
    let args = ["barrier", "enter", "--timeout", "100ms", "--parties", "2", PATH, "echo", "started"];
    let ended = run(&server, &args);
    assert_eq!((ended.status, ended.out.as_str()), (75, ""), "{ended:?}");
    assert!(ended.err.contains("not all 2"), "{ended:?}");
    let waits = entering(&server, "2", "echo started");
    eventually("it has come", || members(&server) == 1);
    waits.signal(libc::SIGINT);
    let ended = waits.end();
    assert_eq!((ended.status, ended.out.as_str()), (128 + libc::SIGINT, ""), "{ended:?}");
    assert_nothing_left(&server, PATH);
    assert_eq!(members(&server), 0);
}

#[test]
fn a_signal_ends_waiting_for_the_others_too() {
    let server = server();
    let mut done = entering(&server, "2", UNTIL_A_LINE);
    let mut runs = entering(&server, "2", UNTIL_A_LINE);
    assert_eq!(done.out.line(), "started");
    assert_eq!(runs.out.line(), "started");
    server.clear_log();
    done.send_line();
    eventually("it leaves", || server.log().iter().any(|entry| entry.path.starts_with(PATH)));
    done.signal(libc::SIGTERM);
    assert_eq!(done.end().status, 128 + libc::SIGTERM);
    runs.send_line();
    assert_eq!(runs.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_lost_session_is_status_76() {
    let server = server();
    let mut one = entering(&server, "2", UNTIL_A_LINE);
    let mut two = entering(&server, "2", UNTIL_A_LINE);
    assert_eq!(one.out.line(), "started");
    assert_eq!(two.out.line(), "started");
    let before = server.sessions();
    for session in &before {
        assert!(server.expire(*session));
    }
    let is_new = |session: &u64| !before.contains(session);
    eventually("both have noticed", || {
        server.sessions().iter().filter(|session| is_new(session)).count() == 2
    });
    one.send_line();
    two.send_line();
    for ended in [one.end(), two.end()] {
        assert_eq!(ended.status, 76, "{ended:?}");
    }
}

#[test]
fn all_say_the_same_number() {
    let server = server();
    let waits = entering(&server, "3", "true");
    eventually("it has come", || members(&server) == 1);
    let ended = entering(&server, "2", "true").end();
    assert_eq!(ended.status, 2, "{ended:?}");
    waits.signal(libc::SIGINT);
    assert_eq!(waits.end().status, 128 + libc::SIGINT);
}
