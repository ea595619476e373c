//! `zkrecipes queue`.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use support::terminal::Terminal;
use support::{
    Ended, Running, UNTIL_A_LINE, assert_nothing_left, command, eventually, run, server, start, wait,
};
use zkrecipes::blocking::Client;
use zkrecipes::{Auth, ClientOptions, CreateMode, QueueOptions};
use zkrecipes_embedded::Server;

const PATH: &str = "/queues/work";

fn put(server: &Server, items: &[&str]) {
    let ended = run(server, &[&["queue", "put", PATH], items].concat());
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (0, "", ""));
}

/// Runs the command with that on its stdin.
fn fed(server: &Server, args: &[&str], input: &[u8]) -> i32 {
    let mut child = command(server, args).stdin(Stdio::piped()).spawn().expect("built");
    child.stdin.take().expect("piped").write_all(input).expect("it reads");
    support::code(wait(&mut child))
}

fn claiming(server: &Server, options: &[&str], script: &str) -> Running {
    start(server, &[&["queue", "claim"], options, &[PATH, "--", "sh", "-c", script]].concat())
}

fn length(server: &Server) -> String {
    run(server, &["queue", "len", PATH]).out
}

#[test]
fn items_are_taken_in_the_order_in_which_they_were_put() {
    let server = server();
    assert_eq!(length(&server), "0\n");
    assert_eq!(run(&server, &["queue", "peek", PATH]).status, 1);
    put(&server, &["a", "b c"]);
    put(&server, &["--", "--d"]);
    assert_eq!(length(&server), "3\n");
    assert_eq!(run(&server, &["queue", "peek", PATH]).out, "a\n");
    assert_eq!(run(&server, &["queue", "peek", "--all", PATH]).out, "a\nb c\n--d\n");
    assert_eq!(run(&server, &["queue", "get", PATH]).out, "a\n");
    assert_eq!(run(&server, &["queue", "get", "--count", "2", PATH]).out, "b c\n--d\n");
    let none = run(&server, &["queue", "get", "--try", PATH]);
    assert_eq!((none.status, none.out.as_str()), (75, ""));
    assert!(none.err.contains(PATH), "{none:?}");
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_key_puts_once_however_often_the_command_runs() {
    let server = server();
    for _ in 0..2 {
        put(&server, &["--key", "order-1", "tea"]);
        put(&server, &["--key", "order-2", "--key-window", "1h", "milk"]);
    }
    assert_eq!(run(&server, &["queue", "drain", PATH]).out, "tea\nmilk\n");
    put(&server, &["--key", "order-1", "tea"]);
    assert_eq!(length(&server), "0\n");
    for items in [&[][..], &["a", "b"]] {
        let ended = run(&server, &[&["queue", "put", "--key", "k", PATH], items].concat());
        assert_eq!(ended.status, 2);
        assert!(ended.err.contains("one ITEM"), "{ended:?}");
    }
    assert!(run(&server, &["queue", "put", "--key", "", PATH, "tea"]).err.contains("key"));
}

#[test]
fn lines_of_stdin_are_items() {
    let server = server();
    let many: String = (0..2500).map(|n| format!("item {n}\n")).collect();
    assert_eq!(fed(&server, &["queue", "put", PATH], many.as_bytes()), 0);
    assert_eq!(length(&server), "2500\n");
    assert_eq!(run(&server, &["queue", "drain", PATH]).out, many);
    assert_eq!(run(&server, &["queue", "drain", PATH]).out, "");
    assert_eq!(fed(&server, &["queue", "put", "-z", PATH], b"two\nlines\0\0the last"), 0);
    assert_eq!(run(&server, &["queue", "drain", "--null", PATH]).out, "two\nlines\0\0the last\0\n");
}

#[test]
fn what_cannot_be_put_is_told_with_what_went_in_before() {
    let server = server();
    let too_large = "x".repeat(2_000_000);
    let input = format!("a\nb\n{too_large}\nc\n");
    let mut child = command(&server, &["queue", "put", PATH])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("built");
    let mut stdin = child.stdin.take().expect("piped");
    let feeding = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let said = std::io::read_to_string(child.stderr.take().expect("piped")).expect("text");
    assert_eq!(support::code(wait(&mut child)), 2, "{said}");
    assert!(said.contains("2 items were put before that"), "{said}");
    let _ = feeding.join().expect("no panic");
    assert_eq!(length(&server), "2\n");
}

#[test]
fn what_is_read_is_put_before_the_input_ends() {
    let server = server();
    let mut child = command(&server, &["queue", "put", PATH]).stdin(Stdio::piped()).spawn().expect("built");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"early\n").expect("it reads");
    let early = start(&server, &["queue", "get", PATH]).end();
    assert_eq!((early.status, early.out.as_str()), (0, "early\n"));
    // A signal ends it although nothing comes.
    let id = child.id() as i32;
    // SAFETY: a child of ours that was not waited for.
    assert_eq!(unsafe { libc::kill(id, libc::SIGTERM) }, 0);
    assert_eq!(support::code(wait(&mut child)), 128 + libc::SIGTERM);
    drop(stdin);
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_command_runs_for_each_item_and_finds_it_on_its_stdin() {
    let server = server();
    put(&server, &["a", "b"]);
    let script = "echo \"$(cat) $ZKR_ATTEMPTS\"; test $ZKR_FENCING_TOKEN -gt 0 && test -n \"$ZKR_SEQUENCER\"";
    let ended = claiming(&server, &["--until-empty"], script).end();
    assert_eq!((ended.status, ended.out.as_str()), (0, "a 1\nb 1\n"), "{ended:?}");
    assert_eq!(length(&server), "0\n");
    let none = claiming(&server, &["--timeout", "100ms"], "true").end();
    assert_eq!(none.status, 75, "{none:?}");
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_command_need_not_read_its_item() {
    let server = server();
    let large = "x".repeat(500_000);
    assert_eq!(fed(&server, &["queue", "put", PATH], large.as_bytes()), 0);
    assert_eq!(claiming(&server, &["--count", "1"], "exit 0").end().status, 0);
    assert_eq!(length(&server), "0\n");
}

#[test]
fn items_are_listed_with_how_they_stand() {
    let server = server();
    put(&server, &["slow", "bad", "good"]);
    let slow = claiming(&server, &["--count", "1"], "echo begun; exec sleep 60");
    assert_eq!(slow.out.line(), "begun");
    assert_eq!(claiming(&server, &["--count", "1", "--pause", "1h"], "exit 76").end().status, 76);
    let listed = run(&server, &["queue", "ls", PATH]).out;
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NODE", "STATE", "ATTEMPTS", "SINCE", "BY", "DATA"]);
    let cells = |row: usize| (rows[row][0], rows[row][1], *rows[row].last().expect("a cell"));
    assert_eq!(cells(1), ("qn-0000000000", "claimed", "slow"));
    assert!(rows[1][2] == "1" && rows[1][4] != "-", "{listed}");
    assert_eq!((cells(2), rows[2].len()), (("qn-0000000001", "in", "bad"), 7));
    assert_eq!(rows[3], ["qn-0000000002", "ready", "0", "-", "-", "good"]);
    let json = run(&server, &["queue", "ls", "--json", "--count", "2", PATH]).out;
    assert!(json.contains("\"state\":\"claimed\"") && json.contains("\"delayed_ms\":35"), "{json}");
    assert!(!json.contains("good"), "{json}");
    let nobody = run(&server, &["break", PATH, "holder"]);
    assert!(nobody.status == 1 && nobody.err.contains("see zkrecipes queue ls"), "{nobody:?}");
    let all = run(&server, &["ls", "--recursive", PATH]);
    assert!(all.out.contains("3 queued") && all.err.contains("zkrecipes queue ls"), "{all:?}");
    let above = run(&server, &["ls", "--recursive", "/queues"]);
    assert!(above.out.contains("3 queued") && above.err.is_empty(), "{above:?}");
    slow.signal(libc::SIGTERM);
    slow.end();
    assert_eq!(run(&server, &["queue", "ls", "/queues/none"]).out, "");
}

#[test]
fn an_item_is_taken_from_who_works_on_it() {
    let server = server();
    put(&server, &["hangs", "other"]);
    let hangs = claiming(&server, &["--count", "1"], "echo begun; exec sleep 60");
    assert_eq!(hangs.out.line(), "begun");
    let taken = run(&server, &["queue", "break", PATH, "qn-0000000000"]);
    assert!(taken.status == 0 && taken.out.starts_with("qn-0000000000 was taken from "), "{taken:?}");
    assert_eq!(hangs.end().status, 76, "its claim is lost");
    for node in ["qn-0000000000", "qn-0000000001", "qn-0000000099", "/queues/other/qn-0000000000", "x"] {
        let nobody = run(&server, &["queue", "break", PATH, node]);
        assert!(nobody.status == 1 && nobody.err.contains("nobody works on"), "{nobody:?}");
    }
    assert_eq!(run(&server, &["queue", "peek", PATH]).out, "hangs\n");
    assert_eq!(claiming(&server, &["--count", "1"], "exec cat").end().out, "hangs\n");
}

#[test]
fn the_numbers_of_a_queue_that_is_not_there_are_no_zeros() {
    let server = server();
    for form in [&["queue", "stats", PATH][..], &["queue", "stats", "--json", PATH]] {
        let none = run(&server, form);
        assert_eq!((none.status, none.out.as_str()), (1, ""));
        assert!(none.err.contains(&format!("nothing is at {PATH}")), "{none:?}");
    }
    put(&server, &["one"]);
    assert_eq!(run(&server, &["queue", "get", PATH]).out, "one\n");
    let empty = run(&server, &["queue", "stats", PATH]);
    assert_eq!((empty.status, empty.out.as_str()), (0, "ready   0\ndelayed 0\nclaimed 0\ndead    0\n"));
}

#[test]
fn an_item_whose_command_fails_goes_back_and_then_to_the_dead() {
    let server = server();
    put(&server, &["bad", "good"]);
    // The status that tells that a claim was lost, if it is ours.
    let script = "item=$(cat); echo $item $ZKR_ATTEMPTS; test $item = good || exit 76";
    let options = ["--max-attempts", "2", "--pause", "0", "--until-empty"];
    let ended = claiming(&server, &options, script).end();
    assert_eq!((ended.status, ended.out.as_str()), (76, "bad 1\nbad 2\ngood 1\n"), "{ended:?}");
    let said = "zkrecipes: status 76: the item goes back, after attempt 1\nzkrecipes: status 76: the item goes to the dead, after attempt 2\n";
    assert_eq!(ended.err, said);
    assert_eq!(length(&server), "0\n");
    assert_eq!(run(&server, &["queue", "dead", PATH]).out, "bad\n");
    let long = run(&server, &["queue", "dead", "--long", PATH]).out;
    assert!(long.starts_with("NODE") && long.contains("status 76") && long.contains(" 2 "), "{long}");
    let json = run(&server, &["queue", "dead", "--json", PATH]).out;
    assert!(json.contains("\"reason\":\"status 76\"") && json.contains("\"attempts\":2"), "{json}");
    assert_eq!(run(&server, &["queue", "stats", PATH]).out, "ready   0\ndelayed 0\nclaimed 0\ndead    1\n");
    let stats = run(&server, &["queue", "stats", "--json", PATH]).out;
    assert_eq!(stats, "{\"ready\":0,\"delayed\":0,\"claimed\":0,\"dead\":1}\n");
    assert_eq!(run(&server, &["queue", "dead", "--purge", "1h", PATH]).out, "0\n");
    let none = run(&server, &["queue", "dead", "--replay", "--only", "qn-0000000099", PATH]);
    assert_eq!(none.out, "0\n");
    assert_eq!(run(&server, &["queue", "dead", "--replay", PATH]).out, "1\n");
    assert_eq!(run(&server, &["queue", "peek", PATH]).out, "bad\n");
    assert_eq!(run(&server, &["queue", "dead", PATH]).out, "");
    assert_eq!(claiming(&server, &options, script).end().status, 76);
    assert_eq!(run(&server, &["queue", "dead", "--drain", PATH]).out, "bad\n");
    assert_eq!(run(&server, &["queue", "dead", "--purge", "0s", PATH]).out, "0\n");
    assert_eq!(run(&server, &["queue", "dead", PATH]).out, "");
}

#[test]
fn a_watcher_is_told_whenever_the_numbers_change() {
    let server = server();
    let watching = start(&server, &["queue", "watch", PATH]);
    let json = start(&server, &["queue", "watch", "--json", PATH]);
    let numbers = |line: String| line.split_once("  ").expect("a time").1.to_owned();
    assert_eq!(numbers(watching.out.line()), "ready 0  delayed 0  claimed 0  dead 0");
    assert!(json.out.line().ends_with(",\"ready\":0,\"delayed\":0,\"claimed\":0,\"dead\":0}"));
    put(&server, &["one", "two"]);
    assert_eq!(numbers(watching.out.line()), "ready 2  delayed 0  claimed 0  dead 0");
    assert!(json.out.line().ends_with(",\"ready\":2,\"delayed\":0,\"claimed\":0,\"dead\":0}"));
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("connected");
    let queue = client.queue(PATH, QueueOptions::default().max_attempts(1)).expect("valid");
    let item = queue.claim().expect("there are two");
    assert_eq!(numbers(watching.out.line()), "ready 1  delayed 0  claimed 1  dead 0");
    item.nack().expect("its last attempt");
    assert_eq!(numbers(watching.out.line()), "ready 1  delayed 0  claimed 0  dead 1");
    watching.signal(libc::SIGINT);
    json.signal(libc::SIGTERM);
    assert_eq!((watching.end().status, json.end().status), (0, 128 + libc::SIGTERM));
    let ended = run(&server, &["queue", "watch", "--for", "0s", PATH]);
    assert_eq!((ended.status, ended.out.lines().count()), (0, 1), "{ended:?}");
    let kind = run(&server, &["queue", "watch", "--for", "0s", "--layout", "odd", PATH]);
    assert_eq!(kind.status, 2, "{kind:?}");
}

#[test]
fn a_watcher_ends_when_nobody_reads_it() {
    let server = server();
    let mut watching = command(&server, &["queue", "watch", PATH]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = watching.stdout(writer).stderr(Stdio::null()).spawn().expect("built");
    drop(watching);
    assert_eq!(BufReader::new(reader).lines().take(1).count(), 1);
    // Nothing more is to be told.
    assert_eq!(support::code(wait(&mut child)), 128 + libc::SIGPIPE);
    eventually("its session is closed", || server.sessions().is_empty());
}

#[test]
fn the_time_of_a_watcher_bounds_an_outage() {
    let server = server();
    let watching = start(&server, &["queue", "watch", "--for", "3s", PATH]);
    watching.out.line();
    server.pause();
    let began = Instant::now();
    let ended = watching.end();
    server.resume();
    // A call alone would go without a server for ten seconds.
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn an_item_whose_command_fails_steps_aside_for_the_next() {
    let server = server();
    put(&server, &["bad", "good"]);
    let script = "item=$(cat); echo $item; test $item = good";
    let ended = claiming(&server, &["--pause", "1h", "--until-empty"], script).end();
    assert_eq!((ended.status, ended.out.as_str()), (1, "bad\ngood\n"), "{ended:?}");
    assert_eq!(length(&server), "1\n");
    // For a second, unless told otherwise: too short to see it pass over, but the name of a node says it.
    put(&server, &["worse"]);
    assert_eq!(claiming(&server, &["--count", "1"], "exit 1").end().status, 1);
    let nodes = server.nodes();
    assert!(nodes.iter().any(|node| node.ends_with("-1000ms")), "{nodes:?}");
}

#[test]
fn a_dead_letter_that_cannot_be_read_hides_no_other() {
    let server = server();
    let layout = ["--layout", "distributed", PATH];
    assert_eq!(run(&server, &[&["queue", "put"], &layout[..], &["good"]].concat()).status, 0);
    let dead = format!("{PATH}-__dead__");
    let nodes = Client::connect(&server.connect_string(), Default::default()).expect("connected").nodes();
    nodes.ensure(&dead).expect("made");
    nodes.create(&format!("{dead}/queue-0000000099"), b"odd", CreateMode::Persistent).expect("created");
    let claim = ["queue", "claim", "--max-attempts", "1", "--count", "1"];
    assert_eq!(run(&server, &[&claim[..], &layout[..], &["--", "false"]].concat()).status, 1);
    let told = run(&server, &[&["queue", "dead"], &layout[..]].concat());
    assert_eq!((told.status, told.out.as_str()), (0, "good\n"), "{told:?}");
    assert!(told.err.contains("queue-0000000099") && told.err.contains("encoding"), "{told:?}");
    let json = run(&server, &[&["queue", "dead", "--json"], &layout[..]].concat()).out;
    assert!(json.contains("queue-0000000099") && json.contains("\"problem\":\"the data"), "{json}");
}

#[test]
fn an_item_that_may_not_be_read_is_named_and_hides_no_other() {
    let server = server();
    put(&server, &["good"]);
    let options = ClientOptions::default().auth(Auth::new("digest", "somebody:secret"));
    let other = Client::connect(&server.connect_string(), options).expect("connected");
    let theirs = other
        .nodes()
        .create(&format!("{PATH}/qn-"), b"hidden", CreateMode::PersistentSequential)
        .expect("created");
    let skipped = format!("1 skipped: {theirs} (denied)\n");
    for looking in [&["peek", "--all"][..], &["drain"]] {
        let told = run(&server, &[&["queue"], looking, &[PATH]].concat());
        assert_eq!((told.status, told.out.as_str()), (0, "good\n"), "{told:?}");
        assert!(told.err.ends_with(&skipped), "{told:?}");
    }
    let working = claiming(&server, &[], "cat");
    assert_eq!(working.err.line(), format!("zkrecipes: {}", skipped.trim_end()));
}

#[test]
fn a_signal_reaches_the_command_and_ends_the_work_after_it() {
    let server = server();
    put(&server, &["a", "b"]);
    let working =
        claiming(&server, &[], "trap 'echo told; exit 0' TERM; echo started; while :; do sleep 0.05; done");
    assert_eq!(working.out.line(), "started");
    working.signal(libc::SIGTERM);
    let Ended { status, out, .. } = working.end();
    assert_eq!((status, out.as_str()), (0, "told\n"));
    assert_eq!(run(&server, &["queue", "peek", "--all", PATH]).out, "b\n");
    assert_eq!(run(&server, &["queue", "get", PATH]).out, "b\n");
    let waiting = claiming(&server, &[], "true");
    eventually("it waits", || server.watch_count() > 0);
    waiting.signal(libc::SIGINT);
    assert_eq!(waiting.end().status, 128 + libc::SIGINT);
    assert_nothing_left(&server, PATH);
}

#[test]
fn when_the_claim_is_lost_the_command_ends_and_another_gets_the_item() {
    let server = server();
    put(&server, &["a"]);
    let script = format!("cat; echo; {UNTIL_A_LINE}");
    let working = claiming(&server, &["--count", "1"], &script);
    assert_eq!(working.out.line(), "a");
    for session in server.sessions() {
        server.expire(session);
    }
    assert_eq!(working.end().status, 76);
    let next = claiming(&server, &["--count", "1"], "cat; echo; echo $ZKR_ATTEMPTS").end();
    assert_eq!((next.status, next.out.as_str()), (0, "a\n2\n"), "{next:?}");
}

#[test]
fn priorities_and_delays_are_queues_of_their_own() {
    let server = server();
    let put = |args: &[&str]| assert_eq!(run(&server, &[&["queue", "put"], args].concat()).status, 0);
    put(&["--priority", "7", "/queues/urgent", "later"]);
    put(&["--priority", "-1", "/queues/urgent", "first", "second"]);
    let taken = run(&server, &["queue", "drain", "--kind", "priority", "/queues/urgent"]);
    assert_eq!(taken.out, "first\nsecond\nlater\n");
    put(&["--delay", "1h", "/queues/calls", "much later"]);
    let get = ["queue", "get", "--kind", "delay", "/queues/calls"];
    assert_eq!(run(&server, &[&get[..], &["--try"]].concat()).status, 75);
    let begun = Instant::now();
    put(&["--delay", "300ms", "/queues/calls", "soon"]);
    assert_eq!(run(&server, &get).out, "soon\n");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(run(&server, &["queue", "len", "/queues/calls"]).out, "1\n");
}

#[test]
fn a_queue_can_be_spread_over_several_nodes() {
    let server = server();
    let words = ["--shards", "3", PATH];
    assert_eq!(run(&server, &[&["queue", "put"], &words[..], &["a", "b", "c", "d"]].concat()).status, 0);
    assert_eq!(run(&server, &[&["queue", "len"], &words[..]].concat()).out, "4\n");
    let drained = run(&server, &[&["queue", "drain"], &words[..]].concat());
    let mut items: Vec<_> = drained.out.lines().collect();
    items.sort_unstable();
    assert_eq!(items, ["a", "b", "c", "d"]);
}

#[test]
fn a_full_queue_is_waited_for_until_the_time_is_over() {
    let server = server();
    let bounded = ["queue", "put", "--max-items", "1", PATH];
    assert_eq!(run(&server, &[&bounded[..], &["a"]].concat()).status, 0);
    let full = run(&server, &[&bounded[..], &["b", "--timeout", "100ms"]].concat());
    assert_eq!(full.status, 75, "{full:?}");
    assert!(full.err.contains("full"), "{full:?}");
    let waits = start(&server, &[&bounded[..], &["b"]].concat());
    eventually("it waits", || server.watch_count() > 0);
    assert_eq!(run(&server, &["queue", "get", PATH]).out, "a\n");
    assert_eq!(waits.end().status, 0);
    assert_eq!(run(&server, &["queue", "get", PATH]).out, "b\n");
}

/// What a person sees who types that, with `zkrecipes queue` for QUEUE.
fn typed(server: &Server, line: &str) -> Terminal {
    let queue = format!("'{}' queue", support::program().to_string_lossy());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line.replace("QUEUE", &queue)]);
    shell.env("ZKRECIPES_HOSTS", server.connect_string()).env_remove("ZKRECIPES_AUTH");
    Terminal::run(shell)
}

#[test]
fn on_a_terminal_it_shows_how_far_it_is() {
    let server = server();
    let mut putting = typed(&server, &format!("seq 100 | QUEUE put {PATH}"));
    putting.shows("100 items");
    assert_eq!(putting.end(), 0);
    assert!(!putting.screen().contains('%'), "nobody knows how much a pipe has");
    let mut draining = typed(&server, &format!("QUEUE drain {PATH} > /dev/null"));
    draining.shows("100 %  100 items");
    assert_eq!(draining.end(), 0);
    assert_eq!(length(&server), "0\n");
}
