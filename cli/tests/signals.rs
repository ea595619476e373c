//! `zkrecipes lock` between a command and those who send signals.

mod support;

use support::terminal::Terminal;
use support::{
    Running, UNTIL_A_LINE, assert_nothing_left, command, contenders, eventually, holding, server, start,
};

const PATH: &str = "/locks/report";
const PASSED_ON: [(&str, i32); 7] = [
    ("INT", libc::SIGINT),
    ("TERM", libc::SIGTERM),
    ("HUP", libc::SIGHUP),
    ("QUIT", libc::SIGQUIT),
    ("USR1", libc::SIGUSR1),
    ("USR2", libc::SIGUSR2),
    ("WINCH", libc::SIGWINCH),
];

fn telling(signals: &[&str]) -> String {
    let traps: String = signals.iter().map(|name| format!("trap 'echo {name}' {name}; ")).collect();
    format!("{traps}{UNTIL_A_LINE}")
}

#[test]
fn signals_are_passed_on() {
    let server = server();
    let script = telling(&PASSED_ON.map(|(name, _)| name)) + "; exit 7";
    let mut running = holding(&server, &[PATH], &script);
    for (name, number) in PASSED_ON {
        running.signal(number);
        assert_eq!(running.out.line(), name);
    }
    running.send_line();
    let ended = running.end();
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (7, "", ""));
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_signal_that_ends_the_command_is_its_status() {
    let server = server();
    for number in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1] {
        let running = holding(&server, &[PATH], "echo started; exec cat");
        running.signal(number);
        assert_eq!(running.out.rest(), "");
        assert_eq!(running.end().status, 128 + number);
        assert_nothing_left(&server, PATH);
    }
}

#[test]
fn a_signal_while_waiting_gives_up_and_leaves_nothing() {
    let server = server();
    let mut holder = holding(&server, &[PATH], UNTIL_A_LINE);
    for number in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2] {
        let waiter = start(&server, &["lock", PATH, "echo", "ran"]);
        eventually("the waiter queues", || contenders(&server, PATH).len() == 2);
        waiter.signal(libc::SIGWINCH);
        waiter.signal(number);
        let ended = waiter.end();
        assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (128 + number, "", ""));
        assert_eq!(contenders(&server, PATH).len(), 1);
    }
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_signal_while_connecting_gives_up() {
    // Takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let hosts = silent.local_addr().expect("bound").to_string();
    let mut command = support::bare();
    command.args(["--hosts", &hosts, "--connect-timeout", "1h", "lock", PATH, "echo", "ran"]);
    let waiter = Running::of(command);
    // It catches signals before it connects.
    let _connection = silent.accept().expect("it connects");
    waiter.signal(libc::SIGTERM);
    let ended = waiter.end();
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (128 + libc::SIGTERM, "", ""));
}

/// As after nohup.
#[test]
fn what_was_ignored_stays_ignored() {
    let server = server();
    let mut holder = holding(&server, &[PATH], UNTIL_A_LINE);
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", &format!("trap '' HUP; exec \"$0\" lock {PATH} echo ran")])
        .arg(support::program())
        .env("ZKRECIPES_HOSTS", server.connect_string());
    let waiter = Running::of(shell);
    eventually("the waiter queues", || contenders(&server, PATH).len() == 2);
    waiter.signal(libc::SIGHUP);
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    let ended = waiter.end();
    assert_eq!((ended.status, ended.out.as_str()), (0, "ran\n"));
    assert_nothing_left(&server, PATH);
}

/// Our handlers and our mask are not the command's.
#[cfg(target_os = "linux")]
#[test]
fn the_command_starts_with_the_signals_as_we_found_them() {
    let server = server();
    // Only what has a name: glibc uses two of the others itself.
    let named = |status: &str| -> Vec<u64> {
        let sets = status.lines().filter_map(|line| line.split_whitespace().nth(1));
        sets.map(|set| u64::from_str_radix(set, 16).expect("a number") & 0x7fff_ffff).collect()
    };
    let ended = support::run(&server, &["lock", PATH, "grep", "^Sig[BI]", "/proc/self/status"]);
    let bare = std::process::Command::new("grep").args(["^Sig[BI]", "/proc/self/status"]).output();
    let bare = String::from_utf8(bare.expect("grep").stdout).expect("text");
    assert_eq!(named(&ended.out), named(&bare));
    assert_eq!(named(&ended.out).len(), 2);
}

/// The terminal sends it to us and to the command.
#[cfg(target_os = "linux")]
#[test]
fn what_the_terminal_sends_reaches_the_command_once() {
    let server = server();
    for (key, name) in [("\x03", "INT"), ("\x1c", "QUIT")] {
        let script = telling(&[name, "USR1"]) + "; exit 3";
        let mut terminal = Terminal::run(command(&server, &["lock", PATH, "--", "sh", "-c", &script]));
        terminal.shows("started");
        let id = terminal.id();
        // SAFETY: plain numbers, a child of ours.
        let signal = |number| assert_eq!(unsafe { libc::kill(id, number) }, 0);
        // The command gets its signal while we cannot do anything, so that another one would be a second.
        signal(libc::SIGSTOP);
        terminal.types(key);
        terminal.shows(name);
        signal(libc::SIGCONT);
        // Signals are passed on in their order: a second one would have come before this.
        signal(libc::SIGUSR1);
        terminal.shows("USR1");
        terminal.types("\n");
        assert_eq!(terminal.end(), 3);
        assert_eq!(terminal.screen().matches(name).count(), 1, "{}", terminal.screen());
        assert_nothing_left(&server, PATH);
    }
}

/// Somebody looks on: a long wait says for whom. A script is not told.
#[test]
fn on_a_terminal_a_long_wait_says_for_whom() {
    let server = server();
    let mut holder = holding(&server, &["--identity", "night shift", PATH], UNTIL_A_LINE);
    let waiting = ["lock", PATH, "--", "echo", "done"];
    let silent = start(&server, &waiting);
    let mut terminal = Terminal::run(command(&server, &waiting));
    terminal.shows(&format!("zkrecipes: waiting for {PATH} since "));
    terminal.shows(" s: \"night shift\" holds it");
    holder.send_line();
    assert_eq!(terminal.end(), 0);
    let silent = silent.end();
    assert_eq!((silent.status, silent.err.as_str()), (0, ""));
    assert_eq!(holder.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn on_a_terminal_a_long_wait_at_a_barrier_and_at_a_queue_says_so() {
    let server = server();
    let command = |args: &[&str]| Terminal::run(command(&server, args));
    assert_eq!(support::run(&server, &["barrier", "create", "--identity", "keeper", "/up"]).status, 0);
    let mut at_barrier = command(&["barrier", "wait", "/up"]);
    let mut alone = command(&["barrier", "enter", "--parties", "3", "/round", "--", "true"]);
    let mut at_queue = command(&["queue", "get", "/empty"]);
    at_barrier.shows("zkrecipes: waiting for /up since ");
    at_barrier.shows(" s: keeper has put it up");
    alone.shows("zkrecipes: waiting for /round since ");
    alone.shows(" s: 2 of 3 are missing");
    at_queue.shows("zkrecipes: waiting for /empty since ");
    assert_eq!(support::run(&server, &["barrier", "remove", "/up"]).status, 0);
    assert_eq!(support::run(&server, &["queue", "put", "/empty", "one"]).status, 0);
    assert_eq!((at_barrier.end(), at_queue.end()), (0, 0));
    alone.types("\x03");
    assert_eq!(alone.end(), 130);
}

#[test]
fn a_long_wait_for_somebody_who_was_asked_to_let_go_still_says_who_that_is() {
    let server = server();
    let mut holder = holding(&server, &["--identity", "night\u{202e}shift", PATH], UNTIL_A_LINE);
    let mut terminal = Terminal::run(command(&server, &["lock", PATH, "--", "echo", "done"]));
    terminal.shows(" s: night\u{fffd}shift holds it");
    assert_eq!(support::run(&server, &["break", PATH, "holder"]).status, 0);
    let times = || terminal.screen().matches("shift holds it").count();
    let told = times();
    support::eventually("it is told once more", || times() > told);
    assert!(!terminal.screen().contains("__REVOKE__"), "{}", terminal.screen());
    holder.send_line();
    assert_eq!(terminal.end(), 0);
    assert_eq!(holder.end().status, 0);
    assert_nothing_left(&server, PATH);
}

/// The command reads what is typed: it is in the foreground.
#[test]
fn the_command_has_the_terminal() {
    let server = server();
    let script = "echo started; read word; echo \"<$word>\"; test -t 0 && exit 4";
    let mut terminal = Terminal::run(command(&server, &["lock", PATH, "--", "sh", "-c", script]));
    terminal.shows("started");
    terminal.types("hello\n");
    terminal.shows("<hello>");
    assert_eq!(terminal.end(), 4);
}

#[test]
fn whoever_is_asked_is_told_and_runs_on() {
    let server = server();
    let mut running = holding(&server, &[PATH], UNTIL_A_LINE);
    let asked = support::run(&server, &["break", PATH, "holder"]);
    assert_eq!(asked.status, 0, "{asked:?}");
    running.err.line_with("asks for");
    running.send_line();
    assert_eq!(running.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn whoever_is_asked_may_end_the_command_and_let_go() {
    let server = server();
    for path in [PATH, "/limits/exports"] {
        let options: &[&str] = if path == PATH { &[] } else { &["--permits", "2", "--take", "2"] };
        let options = [&["--on-revoke", "kill"], options, &[path]].concat();
        let running = holding(
            &server,
            &options,
            "trap 'echo tidied; exit 6' TERM; echo started; until read l; do :; done",
        );
        let asked = support::run(&server, &["break", path, "holder", "--force-after", "30s"]);
        assert_eq!(asked.status, 0, "{asked:?}");
        assert!(asked.out.contains("let go\n") && !asked.out.contains("deleted"), "{asked:?}");
        let ended = running.end();
        assert_eq!((ended.status, ended.out.as_str()), (6, "tidied\n"));
        assert_nothing_left(&server, path);
    }
}
