//! `zkrecipes config`.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use support::terminal::Terminal;
use support::{Running, assert_nothing_left, command, eventually, run, server, start};

const PATH: &str = "/app/mode";

#[test]
fn a_value_is_set_and_comes_back_byte_by_byte() {
    let server = server();
    let ended = run(&server, &["config", "get", PATH]);
    assert_eq!((ended.status, ended.out.as_str()), (1, ""));
    assert!(ended.err.contains(PATH), "{ended:?}");
    for (version, value) in ["blue", "", "-7", "two\nlines\n", "é"].into_iter().enumerate() {
        let ended = run(&server, &["config", "set", PATH, "--", value]);
        assert_eq!((ended.status, ended.out), (0, format!("{version}\n")), "{value:?}: {}", ended.err);
        let output = command(&server, &["config", "get", PATH]).output().expect("built");
        assert_eq!((output.status.code(), output.stdout), (Some(0), value.as_bytes().to_vec()));
    }
    assert_nothing_left(&server, PATH);
}

#[test]
fn bytes_come_from_stdin_and_are_hexadecimal_digits_where_they_would_be_text() {
    let server = server();
    let mut setting =
        command(&server, &["config", "set", PATH, "-"]).stdin(Stdio::piped()).spawn().expect("built");
    setting.stdin.take().expect("piped").write_all(b"\x1b[2J\xff").expect("somebody reads");
    assert!(support::wait(&mut setting).success());
    let output = command(&server, &["config", "get", PATH]).output().expect("built");
    assert_eq!(output.stdout, b"\x1b[2J\xff");
    let json = run(&server, &["config", "get", "--json", PATH]);
    assert_eq!(json.out, "{\"version\":0,\"value\":null,\"hex\":\"1b5b324aff\"}\n");
    let mut terminal = Terminal::run(command(&server, &["config", "get", PATH]));
    terminal.shows("0x1b5b324aff");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_version_that_is_not_there_any_more_is_status_1() {
    let server = server();
    let set = |options: &[&str], value| run(&server, &[&["config", "set"], options, &[PATH, value]].concat());
    assert_eq!(set(&["--if-version", "0"], "blue").status, 1, "nobody has set it");
    assert_eq!(set(&[], "blue").status, 0);
    assert_eq!(set(&["--if-version", "0"], "green").out, "1\n");
    let late = set(&["--if-version", "0"], "red");
    assert_eq!((late.status, late.out.as_str()), (1, ""));
    assert!(late.err.contains(PATH), "{late:?}");
    assert_eq!(run(&server, &["config", "get", PATH]).out, "green\n", "a line for the test");
}

#[test]
fn a_value_that_somebody_has_set_is_status_1_for_who_would_be_the_first() {
    let server = server();
    let set = |value| run(&server, &["config", "set", "--if-missing", PATH, value]);
    assert_eq!(set("blue").out, "0\n");
    let late = set("green");
    assert_eq!((late.status, late.out.as_str()), (1, ""));
    assert!(late.err.contains(PATH), "{late:?}");
    assert_eq!(run(&server, &["config", "get", PATH]).out, "blue\n", "a line for the test");
}

#[test]
fn a_watcher_is_told_of_every_change() {
    let server = server();
    let watching = start(&server, &["config", "watch", PATH]);
    let json = start(&server, &["config", "watch", "--json", PATH]);
    let without_time = |line: String| line.split_once("  ").expect("a time").1.to_owned();
    let told = |plain: &str, fields: &str| {
        assert_eq!(without_time(watching.out.line()), plain);
        let line = json.out.line();
        assert!(line.starts_with("{\"at\":\"20") && line.ends_with(&format!(",{fields}}}")), "{line}");
    };
    told("-", "\"version\":null,\"value\":null");
    for (version, value) in ["blue", "green"].into_iter().enumerate() {
        assert_eq!(run(&server, &["config", "set", PATH, value]).status, 0);
        told(&format!("{version}  {value}"), &format!("\"version\":{version},\"value\":\"{value}\""));
    }
    // An outage is said, and nothing is missed.
    server.drop_connections();
    assert!(watching.err.line().contains("still trying"));
    assert!(watching.err.line().contains("connected again"));
    assert_eq!(run(&server, &["config", "set", PATH, "red"]).status, 0);
    told("2  red", "\"version\":2,\"value\":\"red\"");
    watching.signal(libc::SIGINT);
    json.signal(libc::SIGTERM);
    let (interrupted, ended) = (watching.end(), json.end());
    assert_eq!((interrupted.status, interrupted.out.as_str()), (0, ""));
    assert_eq!(ended.status, 128 + libc::SIGTERM);
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_watcher_ends_by_itself_after_its_time() {
    let server = server();
    let ended = run(&server, &["config", "watch", "--for", "200ms", PATH]);
    assert_eq!((ended.status, ended.out.lines().count()), (0, 1), "{ended:?}");
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_watcher_that_nobody_reads_ends() {
    let server = server();
    for lines in [0, 1] {
        let mut watching = command(&server, &["config", "watch", PATH]);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut child = watching.stdout(writer).stderr(Stdio::null()).spawn().expect("built");
        drop(watching);
        assert_eq!(BufReader::new(reader).lines().take(lines).count(), lines);
        // Nothing more is to be told.
        assert_eq!(support::code(support::wait(&mut child)), 128 + libc::SIGPIPE);
        eventually("its session is closed", || server.sessions().is_empty());
    }
}

/// Nobody's mistake is taken for a value.
#[test]
fn what_belongs_to_another_verb_is_refused() {
    let server = server();
    for args in [
        &["get", PATH, "--for", "1s"][..],
        &["get", PATH, "--if-version", "1"],
        &["set", PATH, "x", "--json"],
        &["set", PATH, "x", "--for", "1s"],
        &["watch", PATH, "--if-version", "1"],
    ] {
        let ended = Running::of(command(&server, &[&["config"], args].concat())).end();
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{args:?}: {ended:?}");
        assert!(args.iter().any(|arg| arg.starts_with("--") && ended.err.contains(arg)), "{ended:?}");
    }
}
