//! `zkrecipes ls`, `watch` and `break`.

mod support;

use support::terminal::Terminal;
use zkrecipes::blocking::Client;
use zkrecipes::{ClientOptions, CreateMode, PutOptions, QueueOptions};

use support::{
    Running, UNTIL_A_LINE, assert_nothing_left, cells, command, contenders, eventually, holding, run, server,
    start,
};

const PATH: &str = "/locks/report";
const LIMIT: &str = "/limits/exports";

#[test]
fn ls_of_nothing_says_so() {
    let server = server();
    let ended = run(&server, &["ls", PATH]);
    assert_eq!(ended.status, 0);
    assert_eq!(ended.out, "", "no headings of nothing");
    assert!(ended.err.contains("nobody"), "{ended:?}");
    let ended = run(&server, &["ls", "--json", PATH]);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("[]\n", ""));
    assert_nothing_left(&server, PATH);
    // What is not held and waited for is not passed over in silence.
    assert_eq!(run(&server, &["config", "set", "/app/limits", "3"]).status, 0);
    let ended = run(&server, &["ls", "/app"]);
    assert!(
        ended
            .err
            .contains("1 nodes are below it: see zkrecipes top /app, or zkrecipes ls --recursive --all /app"),
        "{ended:?}"
    );
}

#[test]
fn ls_and_watch_say_of_a_queue_that_it_is_one() {
    let server = server();
    assert_eq!(run(&server, &["queue", "put", "/queues/jobs", "one"]).status, 0);
    let said = "/queues/jobs is a queue, with 1 item, and no lock, semaphore or election";
    let ended = run(&server, &["ls", "/queues/jobs"]);
    assert_eq!(ended.status, 0);
    assert!(ended.err.contains(said) && !ended.err.contains("nobody"), "{ended:?}");
    let ended = run(&server, &["ls", "--json", "/queues/jobs"]);
    assert!(ended.out == "[]\n" && ended.err.contains(said), "{ended:?}");
    let ended = run(&server, &["watch", "--for", "10s", "/queues/jobs"]);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{ended:?}");
    assert!(ended.err.contains(said) && ended.err.contains("zkrecipes queue ls"), "{ended:?}");
    // Also where no item stands below the path itself.
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("connected");
    let sharded = client.queue("/queues/sharded", QueueOptions::default().shards(2)).expect("valid");
    sharded.put_with(b"one", PutOptions::default().key("k")).expect("put");
    assert_eq!(run(&server, &["queue", "get", "/queues/jobs"]).out, "one\n");
    for (path, said) in
        [("/queues/jobs", "is an empty queue"), ("/queues/sharded", "is a queue in shards, with 1 item,")]
    {
        let ended = run(&server, &["ls", path]);
        assert!(ended.err.contains(said) && !ended.err.contains("nobody"), "{ended:?}");
        assert_eq!(run(&server, &["watch", "--for", "10s", path]).status, 2, "{path}");
    }
    client.close(None).expect("closed");
}

#[test]
fn ls_shows_holder_and_waiters_in_order() {
    let server = server();
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let session = format!("{:#x}", server.sessions()[0]);
    let first = contenders(&server, PATH)[0].replace("/locks/report/", "");
    let waiter = start(&server, &["lock", "--identity", "two", PATH, "true"]);
    eventually("the waiter queues", || contenders(&server, PATH).len() == 2);

    let table = run(&server, &["ls", PATH]);
    let rows = cells(&table.out);
    assert_eq!(rows[0][..4], ["1", "yes", "lock", "one"]);
    assert!(rows[0][4].ends_with('s'), "{rows:?}");
    assert_eq!(rows[0][5..], [session.as_str(), first.as_str()]);
    assert_eq!(rows[1][..4], ["2", "no", "lock", "two"]);
    assert_eq!(rows.len(), 2);

    let json = run(&server, &["ls", "--json", PATH]).out;
    let expected =
        "[{\"place\":1,\"holds\":true,\"asked\":false,\"kind\":\"lock\",\"identity\":\"one\",\"since\":\"20";
    assert!(json.starts_with(expected), "{json}");
    assert!(
        json.contains(&format!("\"session\":\"{session}\",\"node\":\"{first}\"}},\n {{\"place\":2,")),
        "{json}"
    );
    assert!(json.ends_with("}]\n"), "{json}");

    holder.send_line();
    assert_eq!((holder.end().status, waiter.end().status), (0, 0));
    assert_nothing_left(&server, PATH);
}

#[test]
fn ls_shows_readers_that_share() {
    let server = server();
    let mut readers = [(); 2].map(|()| holding(&server, &["--shared", PATH], UNTIL_A_LINE));
    let writer = start(&server, &["lock", "--write", PATH, "true"]);
    eventually("the writer queues", || contenders(&server, PATH).len() == 3);
    let table = run(&server, &["ls", PATH]);
    let states: Vec<_> = cells(&table.out).iter().map(|row| [row[1], row[2]].join(" ")).collect();
    assert_eq!(states, ["yes read", "yes read", "no write"]);
    readers.iter_mut().for_each(Running::send_line);
    assert_eq!(writer.end().status, 0);
}

#[test]
fn ls_shows_a_semaphores_permits_and_queue() {
    let server = server();
    let mut holder =
        holding(&server, &["--permits", "2", "--take", "2", "--identity", "one", LIMIT], UNTIL_A_LINE);
    let waiter = start(&server, &["lock", "--permits", "2", "--identity", "two", LIMIT, "true"]);
    eventually("the waiter queues", || contenders(&server, LIMIT).len() == 3);
    // The recipe's naming does not matter to whoever looks.
    let table = run(&server, &["ls", "--naming", "kazoo", LIMIT]);
    let rows = cells(&table.out);
    for (at, row) in rows[..2].iter().enumerate() {
        assert_eq!(row[..4], [if at == 0 { "1" } else { "2" }, "yes", "lease", "one"]);
        assert!(row[6].starts_with("leases/"), "{rows:?}");
    }
    assert_eq!(rows[2][..4], ["3", "no", "lock", "two"]);
    assert!(rows[2][6].starts_with("locks/"), "{rows:?}");
    holder.send_line();
    assert_eq!((holder.end().status, waiter.end().status), (0, 0));
    assert_nothing_left(&server, LIMIT);
}

#[test]
fn ls_and_break_know_kazoos_semaphores() {
    let server = server();
    let kazoo = ["--naming", "kazoo", "--permits", "2"];
    let holder =
        holding(&server, &[&kazoo[..], &["--take", "2", "--identity", "one", LIMIT]].concat(), UNTIL_A_LINE);
    let queue = format!("{LIMIT}-__lock__");
    // It has its permits a moment before it leaves the line.
    eventually("the holder has left the line", || contenders(&server, &queue).is_empty());
    let waiter = start(&server, &[&["lock"], &kazoo[..], &["--identity", "two", LIMIT, "true"]].concat());
    eventually("the waiter queues", || contenders(&server, &queue).len() == 1);
    let queued = contenders(&server, &queue)[0].clone();
    for naming in [&[][..], &["--naming", "kazoo"]] {
        let table = run(&server, &[&["ls"], naming, &[LIMIT]].concat());
        let rows = cells(&table.out);
        assert_eq!(rows.len(), 3, "{table:?}");
        assert!(
            rows[..2].iter().all(|row| row[1..4] == ["yes", "lease", "one"] && row[6].len() == 32),
            "{rows:?}"
        );
        assert_eq!(rows[2][1..4], ["no", "lock", "two"]);
        assert_eq!(rows[2][6], queued);
    }
    let asked = run(&server, &["break", LIMIT, &queued]);
    assert_eq!((asked.status, asked.out), (0, format!("asked {queued} (two) to let go\n")));
    let broken = run(&server, &["break", LIMIT, "holder", "--force-after", "100ms"]);
    // The second goes with the first, or is deleted too.
    assert!(broken.status == 0 && broken.out.contains("its node was deleted"), "{broken:?}");
    assert_eq!((holder.end().status, waiter.end().status), (76, 0));
    assert_nothing_left(&server, &queue);
}

#[test]
fn kazoos_semaphore_is_one_also_while_nobody_holds_it() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    for (path, data) in [("/limits", ""), ("/limits/exports-__lock__", ""), (LIMIT, "2")] {
        client.nodes().create(path, data.as_bytes(), CreateMode::Persistent).expect("free");
    }
    let ended = run(&server, &["watch", "--for", "300ms", LIMIT]);
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
    assert!(run(&server, &["ls", LIMIT]).err.contains("nobody"));
}

#[test]
fn a_lock_in_a_semaphores_place_is_seen() {
    let server = server();
    let mut lock = holding(&server, &["--identity", "one", LIMIT], UNTIL_A_LINE);
    let mut permit = holding(&server, &["--permits", "1", "--identity", "two", LIMIT], UNTIL_A_LINE);
    for naming in ["curator", "kazoo", "zookeeper"] {
        let table = run(&server, &["ls", "--naming", naming, LIMIT]);
        let seen: Vec<_> = cells(&table.out).iter().map(|row| row[1..4].join(" ")).collect();
        assert_eq!(seen, ["yes lock one", "yes lease two"], "{naming}");
    }
    lock.send_line();
    permit.send_line();
    assert_eq!((lock.end().status, permit.end().status), (0, 0));
    assert_nothing_left(&server, LIMIT);
}

#[test]
fn an_identity_cannot_steer_the_terminal() {
    let server = server();
    let mut holder = holding(&server, &["--identity", "a\x1b[2J\"b", PATH], UNTIL_A_LINE);
    let table = run(&server, &["ls", PATH]).out;
    assert!(table.contains("a\u{fffd}[2J\"b") && !table.contains('\x1b'), "{table:?}");
    let json = run(&server, &["ls", "--json", PATH]).out;
    assert!(json.contains(r#""a\u001b[2J\"b""#), "{json}");
    holder.send_line();
    assert_eq!(holder.end().status, 0);
}

#[test]
fn what_somebody_writes_at_length_is_cut_and_makes_no_other_row_wide() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let nodes = client.nodes();
    let long = "y".repeat(70_000);
    for (path, data) in [
        ("/x", ""),
        ("/x/a-lock-0000000001", &*long),
        ("/x/b-lock-0000000002", "b"),
        (&format!("/{long}"), ""),
        (&format!("/{long}/c-lock-0000000001"), "c"),
        ("/g", ""),
        (&format!("/g/{long}"), "1"),
        ("/g/web1", "2"),
    ] {
        nodes.create(path, data.as_bytes(), CreateMode::Persistent).expect("free");
    }
    for (args, rows) in
        [(&["ls", "/x"][..], 2), (&["ls", "-r", "/"], 2), (&["members", "/g"], 2), (&["tree", "/g"], 3)]
    {
        let ended = run(&server, args);
        assert_eq!((ended.status, cells(&ended.out).len()), (0, rows), "{args:?}: {}", ended.err);
        let widest = ended.out.lines().map(|line| line.chars().count()).max();
        assert!(widest < Some(500), "{args:?}: {widest:?}");
        assert!(ended.out.contains('…'), "{args:?}");
    }
    let json = run(&server, &["ls", "--json", "/x"]).out;
    assert!(json.contains(&long), "programs get all of it");
}

#[test]
fn credentials_come_from_the_option_or_the_environment() {
    let server = server();
    let given = "digest:ann:se:cret";
    let mut holder = holding(&server, &["--auth", given, PATH], UNTIL_A_LINE);
    let denied = run(&server, &["ls", PATH]);
    assert_eq!(denied.status, 77, "{denied:?}");
    let denied = run(&server, &["lock", "--try", PATH, "true"]);
    assert_eq!(denied.status, 77, "{denied:?}");
    let denied = run(&server, &["--auth", "digest:ann:wrong", "break", PATH, "holder"]);
    assert_eq!(denied.status, 77, "{denied:?}");
    assert!(!denied.err.contains("wrong"), "{denied:?}");
    assert_eq!(cells(&run(&server, &["ls", "--auth", given, PATH]).out).len(), 1);
    let mut from_environment = command(&server, &["ls", PATH]);
    from_environment.env("ZKRECIPES_AUTH", given);
    assert_eq!(cells(&Running::of(from_environment).end().out).len(), 1);
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn breaking_asks_and_only_asks() {
    let server = server();
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let node = contenders(&server, PATH)[0].clone();
    let name = node.replace("/locks/report/", "");
    let asked = run(&server, &["break", PATH, &name]);
    assert_eq!((asked.status, asked.out), (0, format!("asked {name} (one) to let go\n")));
    // Once the holder has heard it, it says again who it is.
    eventually("it says who it is", || run(&server, &["ls", PATH]).out.contains("one (asked to let go)"));
    let json = run(&server, &["ls", "--json", PATH]).out;
    assert!(json.contains("\"asked\":true") && json.contains("\"identity\":\"one\""), "{json}");
    // The full path means the same.
    assert_eq!(run(&server, &["break", PATH, &node]).status, 0);
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn breaking_deletes_after_the_time_given() {
    let server = server();
    for (path, options) in [(PATH, &[][..]), (LIMIT, &["--permits", "2", "--take", "2"])] {
        let holder = holding(&server, &[options, &[path]].concat(), UNTIL_A_LINE);
        let begun = std::time::Instant::now();
        let broken = run(&server, &["break", path, "holder", "--force-after", "300ms"]);
        assert!(begun.elapsed() >= std::time::Duration::from_millis(300));
        assert_eq!(broken.status, 0, "{broken:?}");
        assert!(broken.out.contains("asked ") && broken.out.contains("its node was deleted"), "{broken:?}");
        let ended = holder.end();
        assert_eq!(ended.status, 76);
        assert!(ended.err.contains("asks for") && ended.err.contains("lost"), "{ended:?}");
        assert_nothing_left(&server, path);
    }
}

#[test]
fn breaking_nobody_is_status_1() {
    let server = server();
    let mut holder = holding(&server, &[PATH], UNTIL_A_LINE);
    for (path, node) in
        [("/locks/other", "holder"), (PATH, "_c_x-lock-0000000099"), (PATH, "leases/x"), (PATH, "")]
    {
        let ended = run(&server, &["break", path, node, "--force-after", "0"]);
        assert_eq!((ended.status, ended.out.as_str()), (1, ""), "{ended:?}");
        assert!(ended.err.contains(path), "{ended:?}");
    }
    assert_eq!(contenders(&server, PATH).len(), 1);
    holder.send_line();
    assert_eq!(holder.end().status, 0);
}

#[test]
fn a_piped_watch_tells_every_change() {
    let server = server();
    let watch = start(&server, &["watch", PATH]);
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let line = watch.out.line();
    let words: Vec<_> = line.split_whitespace().collect();
    assert!(words[0].starts_with("20") && words[0].ends_with('Z'), "{line}");
    assert_eq!(words[1..4], ["holds", "lock", "one"]);
    assert!(words[4].contains("-lock-"), "{line}");

    let mut waiter = start(&server, &["lock", "--identity", "two", PATH, "sh", "-c", UNTIL_A_LINE]);
    assert!(watch.out.line().contains("  waits  lock   two  "));
    run(&server, &["break", PATH, "holder"]);
    // Without anybody coming or going this is seen within a few seconds.
    assert!(watch.out.line().contains("  asked  lock   one (asked to let go)  "));
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert!(watch.out.line().contains("  gone   lock   one (asked to let go)  "));
    assert!(watch.out.line().contains("  holds  lock   two  "));
    waiter.send_line();
    assert_eq!(waiter.end().status, 0);
    assert!(watch.out.line().contains("  gone   lock   two  "));
    watch.signal(libc::SIGINT);
    let ended = watch.end();
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (0, "", ""));
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_watch_tells_json_of_a_semaphore() {
    let server = server();
    let mut holder = holding(&server, &["--permits", "1", LIMIT], UNTIL_A_LINE);
    let watch = start(&server, &["watch", "--json", LIMIT]);
    let line = watch.out.line();
    assert!(line.starts_with("{\"at\":\"20") && line.ends_with("\"}"), "{line}");
    assert!(
        line.contains("\"event\":\"holds\",\"place\":1,\"holds\":true,\"asked\":false,\"kind\":\"lease\""),
        "{line}"
    );
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert!(watch.out.line().contains("\"event\":\"gone\""));
    watch.signal(libc::SIGTERM);
    assert_eq!(watch.end().status, 128 + libc::SIGTERM);
}

#[test]
fn a_watch_sees_semaphores_that_appear_in_either_layout() {
    for naming in ["curator", "kazoo"] {
        let server = server();
        let watch = start(&server, &["watch", LIMIT]);
        // Twice: the first time the parents appear as well.
        for identity in ["one", "two"] {
            let options = ["--naming", naming, "--permits", "1", "--identity", identity, LIMIT];
            let mut holder = holding(&server, &options, UNTIL_A_LINE);
            let queued = watch.out.line_with("  holds  ");
            assert!(queued.contains(&format!("  lease  {identity}  ")), "{naming}: {queued}");
            holder.send_line();
            assert_eq!(holder.end().status, 0);
            let gone = watch.out.line_with("  gone   lease  ");
            assert!(gone.contains(identity), "{naming}: {gone}");
        }
        watch.signal(libc::SIGINT);
        assert_eq!(watch.end().status, 0);
        assert_nothing_left(&server, LIMIT);
    }
}

#[test]
fn a_watch_ends_by_itself() {
    let server = server();
    let begun = std::time::Instant::now();
    let ended = run(&server, &["watch", PATH, "--for", "400ms"]);
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (0, "", ""));
    assert!(begun.elapsed() >= std::time::Duration::from_millis(400));
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_watch_costs_the_server_little() {
    let server = server();
    let mut holder = holding(&server, &[PATH], UNTIL_A_LINE);
    let waiter = start(&server, &["lock", PATH, "true"]);
    eventually("the waiter queues", || contenders(&server, PATH).len() == 2);
    let before = server.sessions();
    let watch = start(&server, &["watch", PATH]);
    assert!(watch.out.line().contains("  holds  ") && watch.out.line().contains("  waits  "));
    let session = server.sessions().into_iter().find(|id| !before.contains(id)).expect("the watch's");
    server.clear_log();
    let asked = || server.log().into_iter().filter(|entry| entry.session_id == session).collect::<Vec<_>>();
    eventually("it has looked a few times", || {
        asked().iter().filter(|entry| entry.op == "exists").count() >= 5
    });
    let others: Vec<_> =
        asked().into_iter().filter(|entry| !["exists", "ping", "sync"].contains(&entry.op)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(asked().iter().filter(|entry| entry.op == "exists").all(|entry| entry.path == PATH));
    watch.signal(libc::SIGINT);
    assert_eq!(watch.end().status, 0);
    holder.send_line();
    assert_eq!((holder.end().status, waiter.end().status), (0, 0));
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_watch_waits_through_an_outage() {
    let server = server();
    let watch = start(&server, &["watch", PATH, "--connect-timeout", "1s"]);
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    assert!(watch.out.line().contains("holds"));
    server.stop();
    assert!(watch.err.line().contains("still trying"));
    server.restart().expect("the port is still free");
    assert!(watch.err.line().contains("connected again"));
    holder.send_line();
    assert!(watch.out.line().contains("gone"));
    watch.signal(libc::SIGINT);
    assert_eq!(watch.end().status, 0);
}

#[test]
fn a_watch_on_a_terminal_draws_the_table() {
    let server = server();
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let mut terminal = Terminal::run(command(&server, &["watch", PATH]));
    terminal.shows("\x1b[H/locks/report");
    terminal.shows("PLACE  HOLDS  KIND");
    terminal.shows("1      yes    lock  one");
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    terminal.shows("nobody");
    terminal.types("\x03");
    assert_eq!(terminal.end(), 0);
    assert_nothing_left(&server, PATH);
}
