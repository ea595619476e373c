//! `zkrecipes doctor`.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
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
    assert!(!server.nodes().iter().any(|path| path.contains("doctor")), "{:?}", server.nodes());
    assert_eq!(server.sessions(), [0; 0]);
}

#[test]
fn a_server_that_is_down_is_a_failure_and_the_others_are_looked_at_all_the_same() {
    let server = server();
    // Not even a server of another test that is given the same port.
    let nobody = "127.83.0.1:1";
    let hosts = format!("{nobody},{}", server.connect_string());
    let ended = support::Running::of({
        let mut command = bare();
        command.args(["doctor", "--json", "--connect-timeout", "2", "--hosts", &hosts]);
        command
    })
    .end();
    assert_eq!(ended.status, 2, "{ended:?}");
    assert_found(&ended.out, "server", "failure", "nothing listens there");
    // The option as it is written here.
    assert_found(&ended.out, "lock", "failure", "--connect-timeout");
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
    let ended = run(&server, &["doctor", "--json", "--session-timeout", "3s"]);
    assert_eq!(ended.status, 0, "its ticks are short: {ended:?}");
}

#[test]
fn it_is_told_how_long_a_pause_may_be_and_what_the_servers_ticks_allow() {
    let server = Server::builder().tick(Duration::from_secs(2)).start().expect("a free port");
    let ended = run(&server, &["doctor", "--json"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_found(&ended.out, "session", "ok", "a pause of less than 3s never costs a lock");
    assert_found(
        &ended.out,
        "server_tick",
        "note",
        "with server_tick=2s a pause of less than 5s never costs a lock",
    );
    let ended = run(&server, &["doctor", "--json", "--server-tick", "2s"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_found(&ended.out, "session", "ok", "a pause of less than 5s never costs a lock");
    assert_found(&ended.out, "server_tick", "ok", "no server's tickTime is more than 2s");
    let ended = run(&server, &["doctor", "--json", "--server-tick", "1999ms"]);
    assert_eq!(ended.status, 2, "{ended:?}");
    assert_found(&ended.out, "server_tick", "failure", "two clients may hold");
}

#[test]
fn a_tick_that_is_long_for_what_the_servers_grant_is_a_warning() {
    let (tick, granted) = (Duration::from_secs(2), Duration::from_secs(6));
    let server = Server::builder().tick(tick).max_session_timeout(granted).start().expect("a free port");
    // As behind an observer: twice the tick.
    let ended = run(&server, &["doctor", "--json", "--server-tick", "4s"]);
    assert_eq!(ended.status, 1, "{ended:?}");
    assert_found(&ended.out, "session", "warning", "a pause of less than 500ms never costs a lock");
    assert_found(&ended.out, "session", "warning", "have the servers' maxSessionTimeout raised");
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
fn it_is_told_what_the_access_list_of_the_place_lets_others_do() {
    let server = server();
    let hosts = server.connect_string();
    let looked = |hosts: &str| {
        let mut command = bare();
        command.args(["doctor", "--json", "--auth", "digest:ann:secret", "--hosts", hosts]);
        support::Running::of(command).end()
    };
    // At the top it is everybody's, as it is with almost all servers.
    let ended = looked(&hosts);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_found(&ended.out, "rights", "note", "directly below /,");
    let made = |arguments: &[&str]| {
        let mut command = bare();
        command.args(arguments).args(["--hosts", &hosts]);
        assert_eq!(support::Running::of(command).end().status, 0);
    };
    made(&["config", "set", "/open", "a value"]);
    let ended = looked(&format!("{hosts}/open"));
    assert_eq!(ended.status, 1, "{ended:?}");
    assert_found(&ended.out, "rights", "warning", "directly below /open,");
    made(&["config", "set", "/ours", "a value", "--auth", "digest:ann:secret"]);
    let ended = looked(&format!("{hosts}/ours"));
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_found(&ended.out, "rights", "ok", "nor can they delete what stands directly below /ours");
}

#[test]
fn a_chroot_that_is_not_there_is_told_and_not_made() {
    let server = server();
    let hosts = format!("{}/mistyped/app", server.connect_string());
    let ended = support::Running::of({
        let mut command = bare();
        command.args(["doctor", "--json", "--below", "/here", "--hosts", &hosts]);
        command
    })
    .end();
    assert_eq!(ended.status, 1, "{ended:?}");
    assert_found(&ended.out, "place", "warning", "/mistyped/app/here is not there, and was not made");
    assert_found(&ended.out, "lock", "ok", "taken and released");
    assert_found(&ended.out, "containers", "ok", "supported");
    assert!(!server.nodes().iter().any(|path| path.contains("mistyped")), "{:?}", server.nodes());
}

/// Which of the servers is just asked for a session, and whether all have been so at the same time.
#[derive(Default)]
struct Asked {
    now: Mutex<[usize; 3]>,
    all: Mutex<bool>,
}

impl Asked {
    /// Answers questions for a server that serves nobody, and lets who asks for a session wait.
    fn answer(&self, at: usize, mut socket: TcpStream) {
        let mut word = [0; 4];
        if socket.read_exact(&mut word).is_err() {
            return;
        }
        if word.is_ascii() && word[0] != 0 {
            let _ = socket.write_all(b"This ZooKeeper instance is not currently serving requests\n");
            return;
        }
        {
            let mut now = self.now.lock().expect("no panic");
            now[at] += 1;
            *self.all.lock().expect("no panic") |= now.iter().all(|asked| *asked > 0);
        }
        let _ = socket.read_to_end(&mut Vec::new());
        self.now.lock().expect("no panic")[at] -= 1;
    }
}

#[test]
fn servers_that_serve_nobody_are_tried_at_the_same_time() {
    let asked = Arc::<Asked>::default();
    let mut hosts = Vec::new();
    for at in 0..3 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        hosts.push(listener.local_addr().expect("bound").to_string());
        let asked = asked.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let asked = asked.clone();
                std::thread::spawn(move || asked.answer(at, socket));
            }
        });
    }
    let ended = support::Running::of({
        let mut command = bare();
        command.args(["doctor", "--json", "--connect-timeout", "2", "--hosts", &hosts.join(",")]);
        command
    })
    .end();
    assert_eq!(ended.status, 2, "{ended:?}");
    for host in &hosts {
        assert_found(&ended.out, "lock", "failure", host);
    }
    assert!(*asked.all.lock().expect("no panic"), "one after the other: {ended:?}");
}

#[test]
fn a_server_that_is_not_zookeeper_is_known_and_what_does_not_work_there_is_told() {
    for (name, product, level) in
        [("clickhouse-keeper", "ClickHouse Keeper", "warning"), ("raftkeeper", "RaftKeeper", "note")]
    {
        let server = Server::builder().emulate(name).start().expect("a free port");
        let ended = run(&server, &["doctor", "--json"]);
        assert_eq!(ended.status, 1, "it has no containers: {ended:?}");
        assert_found(&ended.out, "server", "ok", &format!("standalone, {product} 2"));
        assert_found(&ended.out, "product", level, product);
        assert_found(&ended.out, "lock", "ok", "taken and released");
        assert_found(&ended.out, "containers", "warning", "not supported");
        assert!(!server.nodes().iter().any(|path| path.contains("doctor")), "{:?}", server.nodes());
    }
}

#[test]
fn what_does_not_fit_is_a_warning() {
    let server = Server::builder().data_limit(100_000).start().expect("a free port");
    let ended = run(&server, &["doctor", "--json", "--below", "/app/here"]);
    assert_eq!(ended.status, 1, "{ended:?}");
    assert_found(&ended.out, "packets", "warning", "jute.maxbuffer");
    assert!(!server.nodes().iter().any(|path| path.contains("doctor")), "{:?}", server.nodes());
    let ended = run(&server, &["doctor", "--below", "relative"]);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{ended:?}");
}

#[test]
fn of_three_servers_one_that_lags_is_told_and_so_is_one_that_is_gone() {
    let ensemble = Server::builder().tick(Duration::from_millis(200)).start_ensemble(3).expect("free ports");
    let hosts = ensemble.server().connect_string();
    let looked = || {
        let mut command = bare();
        command.args([
            "doctor",
            "--json",
            "--connect-timeout",
            "2",
            "--session-timeout",
            "4s",
            "--hosts",
            &hosts,
        ]);
        support::Running::of(command).end()
    };
    let ended = looked();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_found(&ended.out, "ensemble", "ok", "leads, and nobody is more than");
    let follower = ensemble.member(1).expect("of three");
    assert!(ensemble.hold(1), "a follower");
    let leader = ensemble.member(0).expect("of three");
    let client = zkrecipes::blocking::Client::connect(&leader, Default::default()).expect("it answers");
    client.nodes().create("/busy", b"", zkrecipes::CreateMode::Persistent).expect("new");
    for _ in 0..1100 {
        client.nodes().set("/busy", b"", None).expect("there");
    }
    let ended = looked();
    assert_found(&ended.out, "ensemble", "warning", "changes behind");
    // Its clients get no answers, which is worse than a warning.
    assert_eq!(ended.status, 2, "{ended:?}");
    assert_found(&ended.out, "lock", "failure", "");
    assert_eq!(ended.out.matches("taken and released").count(), 2, "{ended:?}");
    ensemble.release(1);
    assert!(ensemble.stop_member(1), "it runs");
    let ended = looked();
    assert_eq!(ended.status, 2, "{ended:?}");
    assert_found(&ended.out, "server", "failure", "nothing listens there");
    assert!(ended.out.contains(&follower), "{ended:?}");
    assert_found(&ended.out, "ensemble", "ok", "leads, and nobody is more than");
}
