//! `zkrecipes lock`: what is taken, for how long, and what the command gets and gives back.

mod support;

use std::time::{Duration, Instant};

use support::{
    UNTIL_A_LINE, assert_nothing_left, assert_nothing_stays, contenders, eventually, holding, run, server,
    start,
};

const PATH: &str = "/locks/report";

#[test]
fn the_command_runs_with_its_token_and_gives_its_status_back() {
    let server = server();
    let mut tokens = Vec::new();
    for status in [0, 7] {
        let script = format!("echo $ZKR_FENCING_TOKEN $ZKR_SEQUENCER \"$@\"; exit {status}");
        let ended = run(&server, &["lock", PATH, "--", "sh", "-c", &script, "name", "--try", "a b"]);
        assert_eq!((ended.status, ended.err.as_str()), (status, ""));
        let words: Vec<_> = ended.out.split_whitespace().collect();
        let token: u64 = words[0].parse().expect("a number");
        assert!(words[1].starts_with(&format!("1:{token}:{PATH}/_c_")), "{words:?}");
        assert_eq!(words[2..], ["--try", "a", "b"]);
        tokens.push(token);
        assert_nothing_left(&server, PATH);
    }
    assert!(tokens[0] > 0 && tokens[0] < tokens[1], "{tokens:?}");
}

#[test]
fn the_dashes_may_be_left_out_and_options_behind_the_command_are_the_commands() {
    let server = server();
    let ended = run(&server, &["lock", "--try", PATH, "echo", "--try", "-n"]);
    assert_eq!((ended.status, ended.out.as_str()), (0, "--try -n\n"));
    let ended = run(&server, &["lock", PATH, "--try", "--", "--no-such-command"]);
    assert_eq!(ended.status, 127, "{ended:?}");
}

#[test]
fn a_command_that_a_signal_ends_is_told_as_shells_do() {
    let server = server();
    let ended = run(&server, &["lock", PATH, "sh", "-c", "kill -KILL $$"]);
    assert_eq!(ended.status, 128 + 9);
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_command_that_cannot_run_is_126_or_127_and_lets_go() {
    let server = server();
    for (command, status) in [("no-such-command-anywhere", 127), ("/dev/null", 126)] {
        let ended = run(&server, &["lock", PATH, command]);
        assert_eq!(ended.status, status);
        assert!(ended.err.contains(command), "{ended:?}");
        assert_nothing_left(&server, PATH);
    }
}

#[test]
fn one_at_a_time_and_the_next_takes_over() {
    let server = server();
    let mut first = holding(&server, &[PATH], UNTIL_A_LINE);
    let second = start(&server, &["lock", PATH, "echo", "second"]);
    eventually("the second queues", || contenders(&server, PATH).len() == 2);
    first.send_line();
    assert_eq!(first.end().status, 0);
    let second = second.end();
    assert_eq!((second.status, second.out.as_str()), (0, "second\n"));
    assert_nothing_left(&server, PATH);
}

#[test]
fn trying_and_waiting_in_vain_is_75_or_what_was_asked_for() {
    let server = server();
    let mut holder = holding(&server, &[PATH], UNTIL_A_LINE);
    for (options, status) in [
        (&["--try"][..], 75),
        (&["-n"], 75),
        (&["--timeout", "0"], 75),
        (&["-w", "200ms"], 75),
        (&["--timeout=0.1", "--conflict-exit-code", "9"], 9),
        (&["-nE0"], 0),
    ] {
        let begun = Instant::now();
        let ended = run(&server, &[&["lock"], options, &[PATH, "echo", "ran"]].concat());
        assert_eq!((ended.status, ended.out.as_str()), (status, ""), "{options:?}: {ended:?}");
        if status == 0 {
            assert_eq!(ended.err, "", "who asks for 0 is not told of a failure: cron sends what it is told");
            continue;
        }
        assert!(ended.err.contains(PATH) && ended.err.contains("zkrecipes ls"), "{ended:?}");
        if options.contains(&"200ms") {
            assert!(begun.elapsed() >= Duration::from_millis(200));
            assert!(ended.err.contains("not acquired within 200ms"), "{ended:?}");
        }
    }
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn readers_share_and_writers_do_not() {
    let server = server();
    let mut one = holding(&server, &["--shared", PATH], UNTIL_A_LINE);
    let mut other = holding(&server, &["-s", PATH], UNTIL_A_LINE);
    for exclusive in [&["--write"][..], &[]] {
        assert_eq!(run(&server, &[&["lock", "--try"], exclusive, &[PATH, "true"]].concat()).status, 75);
    }
    one.send_line();
    other.send_line();
    assert_eq!((one.end().status, other.end().status), (0, 0));
    let mut writer = holding(&server, &["--write", PATH], UNTIL_A_LINE);
    for side in ["--shared", "--write"] {
        for patience in ["--try", "--timeout=100ms"] {
            assert_eq!(run(&server, &["lock", patience, side, PATH, "true"]).status, 75);
        }
    }
    let reader = start(&server, &["lock", "--timeout", "1m", "--shared", PATH, "echo", "read"]);
    eventually("the reader queues", || contenders(&server, PATH).len() == 2);
    writer.send_line();
    assert_eq!(writer.end().status, 0);
    let read = reader.end();
    assert_eq!((read.status, read.out.as_str()), (0, "read\n"), "{read:?}");
    assert_nothing_left(&server, PATH);
}

#[test]
fn permits_are_counted() {
    let server = server();
    let path = "/limits/exports";
    let mut one = holding(&server, &["--permits", "3", path], UNTIL_A_LINE);
    let mut two = holding(&server, &["--permits", "2", "--of", "3", path], UNTIL_A_LINE);
    assert_eq!(run(&server, &["lock", "--try", "--permits", "3", path, "true"]).status, 75);
    one.send_line();
    assert_eq!(one.end().status, 0);
    assert_eq!(run(&server, &["lock", "--try", "--permits", "3", "--take", "1", path, "true"]).status, 0);
    assert_eq!(run(&server, &["lock", "--try", "--of", "3", "--take", "2", path, "true"]).status, 75);
    let permits = ["--permits", "3", "--take", "2", path, "echo", "exported"];
    assert_eq!(run(&server, &[&["lock", "--timeout=100ms"], &permits[..]].concat()).status, 75);
    let three = start(&server, &[&["lock", "--timeout", "1m"], &permits[..]].concat());
    eventually("the third queues", || contenders(&server, &format!("{path}/locks")).len() == 1);
    two.send_line();
    assert_eq!(two.end().status, 0);
    let three = three.end();
    assert_eq!((three.status, three.out.as_str()), (0, "exported\n"), "{three:?}");
    assert_nothing_left(&server, path);

    let disagreeing = run(&server, &["lock", "--permits", "4", path, "true"]);
    assert_eq!(disagreeing.status, 2, "{disagreeing:?}");
    assert!(disagreeing.err.contains('3') && disagreeing.err.contains('4'), "{disagreeing:?}");
    assert_eq!(run(&server, &["lock", "--permits", "4", "--of", "3", path, "true"]).status, 2);
    assert_nothing_left(&server, path);
}

#[test]
fn identity_and_naming_are_what_others_see() {
    let server = server();
    let mut kazoo = holding(&server, &["--naming", "kazoo", "--identity", "the backup", PATH], UNTIL_A_LINE);
    assert!(contenders(&server, PATH)[0].contains("__lock__"));
    let seen = run(&server, &["ls", PATH]);
    assert!(seen.out.contains("the backup"), "{seen:?}");
    kazoo.send_line();
    assert_eq!(kazoo.end().status, 0);
}

#[test]
fn the_command_ends_when_the_session_does() {
    let server = server();
    // A shell with a child of its own: both must end, or the output would stay open.
    let running = holding(&server, &[PATH], "echo started; cat; echo unprotected");
    let [session] = server.sessions()[..] else { panic!("one session") };
    assert!(server.expire(session));
    let out = running.out.rest();
    assert_eq!(out, "");
    let ended = running.end();
    assert_eq!(ended.status, 76);
    assert!(ended.err.contains("lost"), "{ended:?}");
    assert_nothing_stays(&server, PATH);
}

#[test]
fn whoever_does_not_end_in_time_is_killed() {
    let server = server();
    let stubborn = "trap '' TERM; (echo started; until read line; do :; done) <&0";
    let running = holding(&server, &["--grace", "300ms", PATH], stubborn);
    let [session] = server.sessions()[..] else { panic!("one session") };
    let begun = Instant::now();
    assert!(server.expire(session));
    assert_eq!(running.out.rest(), "");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let ended = running.end();
    assert_eq!(ended.status, 76);
    assert!(ended.err.contains("killing"), "{ended:?}");
}

/// However early it comes: a child that is just being started must not be missed.
#[test]
fn a_command_that_keeps_starting_others_ends_too() {
    let server = server();
    for _ in 0..5 {
        let running = holding(&server, &[PATH], "echo started; while sleep 0; do sleep 600 & done");
        let [session] = server.sessions()[..] else { panic!("one session") };
        assert!(server.expire(session));
        assert_eq!(running.end().status, 76);
        assert_nothing_stays(&server, PATH);
    }
}

/// The shell ends at once, and its child does not.
#[test]
fn what_the_command_started_is_killed_too() {
    let server = server();
    let stubborn = "(trap '' TERM; echo started; until read line; do :; done) <&0 & wait";
    let running = holding(&server, &["--grace", "200ms", PATH], stubborn);
    let [session] = server.sessions()[..] else { panic!("one session") };
    assert!(server.expire(session));
    assert_eq!(running.out.rest(), "");
    assert_eq!(running.end().status, 76);
}

#[test]
fn the_command_may_run_on_but_its_success_does_not_count() {
    for (status, told) in [(0, 76), (5, 5)] {
        let server = server();
        let script = format!("{UNTIL_A_LINE}; exit {status}");
        let mut running = holding(&server, &["--on-loss", "continue", PATH], &script);
        let [session] = server.sessions()[..] else { panic!("one session") };
        assert!(server.expire(session));
        running.err.line_with("lost");
        running.send_line();
        assert_eq!(running.end().status, told);
        assert_nothing_stays(&server, PATH);
    }
}

#[test]
fn a_node_that_somebody_deleted_is_a_loss() {
    let server = server();
    let running = holding(&server, &[PATH], UNTIL_A_LINE);
    let broken = run(&server, &["break", PATH, "holder", "--force-after", "0"]);
    assert_eq!(broken.status, 0, "{broken:?}");
    let ended = running.end();
    assert_eq!(ended.status, 76);
    // It may see the deletion before it has read that it was asked.
    assert!(ended.err.contains("lost: "), "{ended:?}");
    assert_nothing_left(&server, PATH);
}

/// Nobody is left to tell the command that the lock is gone.
#[cfg(target_os = "linux")]
#[test]
fn the_command_does_not_outlive_us_and_the_session_timeout_is_ours() {
    let server = server();
    let running = holding(&server, &["--session-timeout", "5s", PATH], "echo started; exec cat");
    running.signal(libc::SIGKILL);
    assert_eq!(running.out.rest(), "");
    // Long before the usual ten seconds.
    server.advance_clock(Duration::from_secs(6));
    assert_nothing_left(&server, PATH);
}

#[test]
fn an_outage_that_is_shorter_than_the_session_is_no_loss() {
    let server = server();
    let mut running = holding(&server, &[PATH], UNTIL_A_LINE);
    server.drop_connections();
    eventually("it connects again", || server.connections() == 1);
    running.send_line();
    assert_eq!(running.end().status, 0);
    assert_nothing_left(&server, PATH);
}

/// Nobody tells a holder that is cut off: its lease runs out by its own clock.
#[test]
fn the_command_ends_when_the_servers_fall_silent() {
    let server = server();
    let running = holding(&server, &["--session-timeout", "1s", PATH], "echo started; exec cat");
    server.pause();
    assert_eq!(running.out.rest(), "");
    let ended = running.end();
    assert_eq!(ended.status, 76);
    assert!(ended.err.contains("lost"), "{ended:?}");
    server.resume();
    assert_nothing_stays(&server, PATH);
}
