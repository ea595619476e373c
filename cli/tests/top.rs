//! `zkrecipes top` as somebody at a terminal sees it, and `zkrecipes ls --recursive`, which prints the same once.

mod support;

use support::terminal::Terminal;
use support::tmux::Tmux;
use support::{
    UNTIL_A_LINE, assert_nothing_left, cells, command, contenders, eventually, holding, run, server, start,
};
use zkrecipes::blocking::Client;
use zkrecipes::{ClientOptions, CreateMode, QueueOptions};

const PATH: &str = "/locks/report";

/// Columns that the widest line takes.
fn widest(screen: &str) -> usize {
    screen.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
}

#[test]
fn top_shows_what_is_held_and_waited_for_as_it_changes_and_q_leaves() {
    let server = server();
    let tmux = Tmux::run(&server, (110, 20), &[], &["top"]);
    tmux.shows("no recipe is in use at / or below it");
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let screen = tmux.shows(PATH);
    let line = screen.lines().find(|line| line.contains(PATH)).expect("shown");
    assert_eq!(line.split_whitespace().take(4).collect::<Vec<_>>(), [PATH, "lock", "held", "one"]);
    let mut waiter = start(&server, &["lock", "--identity", "two", PATH, "--", "sh", "-c", UNTIL_A_LINE]);
    let screen = tmux.shows("1 waiting");
    let line = screen.lines().find(|line| line.contains(PATH)).expect("shown");
    assert!(line.trim_end().ends_with("1        two"), "{line:?}");

    tmux.keys(&["j", "Enter"]);
    let screen = tmux.shows("waits  two  lock");
    assert!(screen.contains("holds  one  lock"), "{screen}");
    assert!(screen.contains("> "), "{screen}");
    tmux.keys(&["Escape"]);

    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_eq!(waiter.out.line(), "started");
    tmux.until("that two holds", |screen| screen.contains("two") && screen.contains("0 waiting"));
    tmux.keys(&["h"]);
    let screen = tmux.shows("one → two after");
    assert!(screen.contains("nobody → one"), "{screen}");

    waiter.send_line();
    assert_eq!(waiter.end().status, 0);
    tmux.shows("two → nobody");
    tmux.keys(&["q"]);
    let screen = tmux.shows("status 0");
    assert!(!screen.contains("quit"), "the terminal is as it was: {screen}");
    assert_nothing_left(&server, PATH);
}

#[test]
fn top_fits_into_any_terminal_and_follows_its_size() {
    let server = server();
    let deep = "/locks/of/a/department/with/a/very/long/name/and/a/report";
    let mut holder = holding(&server, &["--identity", "worker-at-a-long-host-name:4117", deep], UNTIL_A_LINE);
    let tmux = Tmux::run(&server, (40, 12), &[], &["top"]);
    let screen = tmux.shows("a/report");
    assert!(widest(&screen) <= 40 && screen.contains("worker-"), "{screen}");
    assert!(screen.contains("NOW") && !screen.contains("KIND"), "{screen}");
    for (columns, heading) in [(140, "NEXT"), (70, "KIND"), (40, "WAIT"), (20, "…")] {
        tmux.resize(columns, 12);
        let screen = tmux.until("the new size", |screen| {
            screen.contains(heading) && widest(screen) <= columns.into() && screen.contains("held")
                || (columns == 20 && screen.contains(heading) && widest(screen) <= 20)
        });
        assert!(columns < 140 || screen.contains(deep), "{screen}");
    }
    tmux.resize(40, 3);
    tmux.shows("q quit");
    tmux.keys(&["q"]);
    tmux.shows("status 0");
    holder.send_line();
    assert_eq!(holder.end().status, 0);
}

#[test]
fn top_has_colours_unless_nobody_wants_them() {
    let server = server();
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    for (variables, has_colours) in
        [(&[][..], true), (&[("NO_COLOR", "1")], false), (&[("TERM", "dumb")], false)]
    {
        let tmux = Tmux::run(&server, (100, 10), variables, &["top"]);
        tmux.shows(PATH);
        assert_eq!(tmux.coloured().contains("\x1b["), has_colours, "{variables:?}: {:?}", tmux.coloured());
        tmux.keys(&["q"]);
        tmux.shows("status 0");
    }
    holder.send_line();
    assert_eq!(holder.end().status, 0);
}

#[test]
fn top_writes_only_what_has_changed() {
    let server = server();
    let mut holders: Vec<_> = (0..3)
        .map(|number| holding(&server, &["--identity", "one", &format!("/locks/{number}")], UNTIL_A_LINE))
        .collect();
    let mut top = command(&server, &["top"]);
    top.env("TERM", "xterm").env_remove("NO_COLOR");
    let mut terminal = Terminal::run(top);
    terminal.shows("/locks/2");
    let before = terminal.screen().len();
    eventually("an age has moved", || terminal.screen().len() > before);
    let written = terminal.screen()[before..].to_owned();
    assert!(!written.contains("\x1b[2J") && !written.contains("PATH"), "drawn anew: {written:?}");
    assert_eq!(terminal.screen().matches("\x1b[2J").count(), 1, "cleared once");
    terminal.types("q");
    assert_eq!(terminal.end(), 0);
    // What it wrote last may be read behind its end.
    eventually("it gives back the screen", || terminal.screen().ends_with("\x1b[?1049l"));
    for holder in &mut holders {
        holder.send_line();
    }
    assert!(holders.into_iter().all(|holder| holder.end().status == 0));
}

#[test]
fn nothing_that_others_wrote_steers_the_terminal() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    client.nodes().ensure(PATH).expect("there");
    let name = format!("{PATH}/_c_8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1-lock-");
    let evil = "\x1b]0;owned\x07\x1b[2Jevil\u{202e}live";
    client.nodes().create(&name, evil.as_bytes(), CreateMode::EphemeralSequential).expect("free");
    let mut terminal = Terminal::run(command(&server, &["top"]));
    terminal.shows("evil");
    assert!(!terminal.screen().contains("owned\x07") && !terminal.screen().contains('\u{202e}'));
    // The way out that most try first.
    terminal.types("\x03");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn data_turns_no_line_around() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    client.config("/app/mode").expect("valid").set("blue\u{202e}neerg".as_bytes(), None).expect("set");
    for args in [&["ls", "-r", "--all", "/"][..], &["ls", "-r", "--all", "--json", "/"], &["tree", "/app"]] {
        let ended = run(&server, args);
        assert_eq!(ended.status, 0, "{ended:?}");
        assert!(ended.out.contains("neerg") && !ended.out.contains('\u{202e}'), "{ended:?}");
    }
    client.close(None).expect("closed");
}

#[test]
fn who_is_not_named_is_counted_once_however_many_permits_they_have() {
    let server = server();
    let take = |who: &str, permits: &str| {
        let options = ["--permits", "8", "--take", permits, "--identity", who, "/limits/exports"];
        holding(&server, &options, UNTIL_A_LINE)
    };
    let mut holders = [take("a", "5"), take("b", "1"), take("c", "1"), take("d", "1")];
    let table = run(&server, &["ls", "-r", "/"]).out;
    assert!(table.contains("  8/8  a, b, c +1  "), "{table}");
    for holder in &mut holders {
        holder.send_line();
    }
    assert!(holders.into_iter().all(|holder| holder.end().status == 0));
}

#[test]
fn top_survives_an_outage() {
    let server = server();
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let tmux = Tmux::run(&server, (100, 10), &[], &["top"]);
    tmux.shows("held");
    server.pause();
    tmux.shows("no server answers");
    server.resume();
    tmux.until("that it is over", |screen| !screen.contains("no server answers") && screen.contains("held"));
    tmux.keys(&["q"]);
    tmux.shows("status 0");
    holder.send_line();
    holder.end();
}

#[test]
fn top_needs_a_terminal_and_says_what_else_there_is() {
    let server = server();
    let ended = run(&server, &["top"]);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""));
    assert!(
        ended.err.contains("zkrecipes ls --recursive") && ended.err.contains("zkrecipes serve"),
        "{ended:?}"
    );
}

#[test]
fn ls_prints_everything_that_is_in_use_below_a_path() {
    let server = server();
    let nothing = run(&server, &["ls", "--recursive", "/"]);
    assert_eq!((nothing.status, cells(&nothing.out).len()), (0, 0));
    assert!(nothing.err.contains("no recipe is in use"), "{nothing:?}");

    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let waiter = start(&server, &["lock", "--identity", "two", PATH, "true"]);
    eventually("the waiter queues", || contenders(&server, PATH).len() == 2);
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let queue = client.queue("/queues/mail", QueueOptions::default()).expect("valid");
    queue.put(b"alice").expect("put");
    client.config("/app/mode").expect("valid").set(b"blue", None).expect("set");

    let table = run(&server, &["ls", "-r", "/"]).out;
    let rows = cells(&table);
    assert_eq!(rows[0][..4], [PATH, "lock", "held", "one"]);
    assert_eq!(rows[0][5..], ["1", "two"]);
    assert_eq!(rows[1], ["/queues/mail", "queue", "1", "queued", "-", "-", "0", "-"]);
    assert_eq!(rows.len(), 2, "{table}");
    let all = run(&server, &["ls", "-r", "--all", "/"]).out;
    assert_eq!(cells(&all)[0], ["/app/mode", "node", "-", "blue", "-", "0", "-"]);

    let json: serde_json::Value =
        serde_json::from_str(&run(&server, &["ls", "-r", "--json", "/"]).out).expect("JSON");
    let lock = &json[0];
    assert_eq!((&lock["path"], &lock["kind"]), (&PATH.into(), &"lock".into()));
    assert_eq!((&lock["holding"], &lock["waiting"]), (&1.into(), &1.into()));
    assert_eq!(lock["contenders"][1]["identity"], "two");
    assert_eq!(json[1]["items"], 1);
    client.close(None).expect("closed");
    holder.send_line();
    assert_eq!((holder.end().status, waiter.end().status), (0, 0));
}
