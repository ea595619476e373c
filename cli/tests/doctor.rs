//! `zkrecipes doctor`.

mod support;

use std::net::TcpListener;
use std::time::Duration;

use support::{bare, run, server};
use zkrecipes_embedded::Server;

fn levels(out: &str) -> Vec<(String, String, String)> {
    let whole: serde_json::Value = serde_json::from_str(out).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let checks = whole["checks"].as_array().expect("an array");
    checks.iter().map(|one| (text(&one["check"]), text(&one["level"]), text(&one["message"]))).collect()
}

#[track_caller]
fn assert_found(out: &str, check: &str, level: &str, words: &str) {
    let all = levels(out);
    let is_it = |one: &(String, String, String)| one.0 == check && one.1 == level && one.2.contains(words);
    assert!(all.iter().any(is_it), "no {level} of {check} with {words:?} in {all:#?}");
}

#[test]
fn a_good_server_is_well_and_nothing_is_left_there() {
    let server = server();
    let ended = run(&server, &["doctor"]);
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{ended:?}");
    assert!(ended.out.ends_with("\n\nall is well\n"), "{ended:?}");
    let told = run(&server, &["doctor", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_found(&told.out, "server", "ok", "standalone");
    assert_found(&told.out, "lock", "ok", "taken and released");
    assert_found(&told.out, "session", "ok", "a session lasts 10s");
    assert_found(&told.out, "containers", "ok", "supported");
    assert_found(&told.out, "packets", "ok", "1000000 bytes");
    assert_found(&told.out, "clock", "ok", "CLOCK_BOOTTIME");
    assert_found(&told.out, "rights", "note", "no credentials");
    assert!(!server.dump_paths().iter().any(|path| path.contains("doctor")), "{:?}", server.dump_paths());
    assert_eq!(server.sessions(), [0; 0]);
}

#[test]
fn a_server_that_is_down_is_a_failure_and_the_others_are_looked_at_all_the_same() {
    let server = server();
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let hosts = format!("{nobody},{}", server.connect_string());
    let ended = support::Running::of({
        let mut command = bare();
        command.args(["doctor", "--json", "--connect-timeout", "1", "--hosts", &hosts]);
        command
    })
    .end();
    assert_eq!(ended.status, 2, "{ended:?}");
    assert_found(&ended.out, "server", "failure", "nothing listens there");
    assert_found(&ended.out, "lock", "failure", "");
    assert_found(&ended.out, "lock", "ok", "taken and released");
    assert_found(&ended.out, "session", "ok", "a session lasts");
}

#[test]
fn what_the_servers_grant_instead_of_what_was_asked_for_is_a_warning() {
    let server = Server::builder().max_session_timeout(Duration::from_secs(5)).start().expect("a free port");
    let ended = run(&server, &["doctor", "--json"]);
    assert_eq!(ended.status, 1, "{ended:?}");
    assert_found(&ended.out, "session", "warning", "maxSessionTimeout is 5s");
    let server = support::server();
    let ended = run(&server, &["doctor", "--json", "--session-timeout", "500ms"]);
    assert_eq!(ended.status, 0, "its ticks are short: {ended:?}");
}

#[test]
fn who_has_no_credentials_is_kept_away_from_what_is_made_with_some() {
    let server = server();
    let ended = run(&server, &["doctor", "--json", "--auth", "digest:ann:secret"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_found(&ended.out, "rights", "ok", "neither read nor delete");
    assert!(!ended.out.contains("secret"), "{ended:?}");
}

#[test]
fn what_does_not_fit_is_a_warning() {
    let server = Server::builder().data_limit(100_000).start().expect("a free port");
    let ended = run(&server, &["doctor", "--json", "--below", "/app/here"]);
    assert_eq!(ended.status, 1, "{ended:?}");
    assert_found(&ended.out, "packets", "warning", "jute.maxbuffer");
    assert!(!server.dump_paths().iter().any(|path| path.contains("doctor")), "{:?}", server.dump_paths());
    let ended = run(&server, &["doctor", "--below", "relative"]);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{ended:?}");
}
