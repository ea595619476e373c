//! What the command says to mistakes, and to questions about itself.

mod support;

use std::process::Stdio;

use support::{Running, bare, command, run, server};

fn answer(args: &[&str]) -> support::Ended {
    let mut command = bare();
    command.args(args);
    Running::of(command).end()
}

/// The commands that do something for people, as the command lists them.
fn commands() -> Vec<String> {
    let help = answer(&["--help"]).out;
    let (_, listed) = help.split_once("\nCommands:\n").expect("a list");
    let names = listed.lines().map_while(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    names.filter(|name| !["completions", "man", "help"].contains(name)).map(str::to_owned).collect()
}

#[test]
fn every_command_explains_itself_with_examples() {
    let commands = commands();
    assert!(commands.len() >= 16 && commands.iter().any(|name| name == "counter"), "{commands:?}");
    let mut questions: Vec<String> =
        commands.iter().flat_map(|name| [format!("help {name}"), format!("{name} -h")]).collect();
    for more in
        ["--help", "-h", "help", "ls --help", "barrier enter -h", "queue put -h", "queue claim --help"]
    {
        questions.push(more.to_owned());
    }
    for question in &questions {
        let ended = answer(&question.split(' ').collect::<Vec<_>>());
        assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{question}");
        for part in ["Usage:", "EXAMPLES", "EXIT STATUS", "--hosts", "ZKRECIPES_AUTH"] {
            assert!(ended.out.contains(part), "{question} lacks {part}");
        }
        assert!(ended.out.lines().all(|line| line.chars().count() < 80), "{question} is too wide");
    }
}

#[test]
fn the_version_is_the_librarys() {
    for option in ["--version", "-V"] {
        let ended = answer(&[option]);
        assert_eq!((ended.status, ended.out), (0, format!("zkrecipes {}\n", zkrecipes::version())));
    }
}

#[test]
fn a_mistake_gets_status_2_and_a_sentence_that_names_it() {
    for (args, named) in [
        (&[][..], &*commands().join(", ")),
        (&["list", "/a"], "list"),
        (&["--colour", "ls", "/a"], "--colour"),
        (&["help", "me"], "me"),
        (&["ls"], "<PATH>"),
        (&["ls", "-l", "/a"], "-l"),
        (&["ls", "/a", "/b"], "/b"),
        (&["ls", "--json=yes", "/a"], "--json"),
        (&["watch", "--try", "/a"], "--try"),
        (&["ls", "--all", "/a"], "--recursive"),
        (&["top", "/a", "/b"], "/b"),
        (&["top", "--for", "soon"], "soon"),
        (&["serve", "--listen", "nowhere"], "nowhere"),
        (&["serve", "--write"], "--write"),
        (&["watch", "/a", "--for", "soon"], "soon"),
        (&["break", "/a"], "<NODE>"),
        (&["break", "/a", "b", "c"], "'c'"),
        (&["break", "--now", "/a", "b"], "--now"),
        (&["lock"], "<PATH>"),
        (&["lock", "/a"], "<COMMAND>"),
        (&["lock", "/a", "--"], "<COMMAND>"),
        (&["lock", "--wait", "/a", "true"], "--wait"),
        (&["lock", "--timeout"], "--timeout"),
        (&["lock", "--timeout", "-5", "/a", "true"], "-5"),
        (&["lock", "--try", "--timeout", "5", "/a", "true"], "--try"),
        (&["lock", "--shared", "--write", "/a", "true"], "--write"),
        (&["lock", "--shared", "--permits", "2", "/a", "true"], "--permits"),
        (&["lock", "--permits", "two", "/a", "true"], "two"),
        (&["lock", "--take", "2", "/a", "true"], "--permits"),
        (&["lock", "--permits", "1", "--of", "3", "--take", "2", "/a", "true"], "--take"),
        (&["lock", "--conflict-exit-code", "256", "/a", "true"], "256"),
        (&["lock", "--on-loss", "panic", "/a", "true"], "panic"),
        (&["lock", "--on-revoke", "panic", "/a", "true"], "panic"),
        (&["elect"], "<PATH>"),
        (&["elect", "/a"], "<COMMAND>"),
        (&["elect", "--try", "/a", "true"], "--try"),
        (&["elect", "--layout", "queue", "/a", "true"], "queue"),
        (&["elect", "--on-revoke", "panic", "/a", "true"], "panic"),
        (&["leader"], "<PATH>"),
        (&["leader", "/a", "/b"], "/b"),
        (&["leader", "--for", "5", "/a"], "--watch"),
        (&["leader", "--layout", "queue", "/a"], "queue"),
        (&["members"], "<PATH>"),
        (&["members", "--for", "5", "/a"], "--watch"),
        (&["members", "--all", "/a"], "--all"),
        (&["members", "--", "/a", "--json"], "'--json'"),
        (&["members", "--layout", "queue", "/a"], "queue"),
        (&["config"], "get, set, watch"),
        (&["config", "watch"], "<PATH>"),
        (&["config", "set", "/a"], "<VALUE>"),
        (&["config", "get", "/a", "b"], "'b'"),
        (&["config", "delete", "/a"], "delete"),
        (&["config", "set", "/a", "b", "c"], "'c'"),
        (&["config", "set", "--if-version", "-1", "/a", "b"], "-1"),
        (&["counter"], "get, add"),
        (&["counter", "add"], "<PATH>"),
        (&["counter", "reset", "/a"], "reset"),
        (&["counter", "get", "/a", "5"], "'5'"),
        (&["counter", "add", "/a", "1.5"], "1.5"),
        (&["counter", "add", "/a", "9223372036854775808"], "64 bits"),
        (&["counter", "add", "/a", "1", "2"], "'2'"),
        (&["counter", "get", "/a", "--layout", "long"], "long"),
        (&["counter", "--all", "get", "/a"], "--all"),
        (&["barrier"], "create, remove, wait, enter"),
        (&["barrier", "open", "/a"], "open"),
        (&["barrier", "wait"], "<PATH>"),
        (&["barrier", "create", "/a", "/b"], "/b"),
        (&["barrier", "create", "--timeout", "1", "/a"], "--timeout"),
        (&["barrier", "enter", "/a", "true"], "--parties"),
        (&["barrier", "enter", "--parties", "2", "/a"], "<COMMAND>"),
        (&["barrier", "enter", "--parties", "two", "/a", "true"], "two"),
        (&["queue"], "put, get, claim"),
        (&["queue", "clear", "/a"], "clear"),
        (&["queue", "get"], "<PATH>"),
        (&["queue", "put"], "<PATH>"),
        (&["queue", "len", "/a", "/b"], "/b"),
        (&["queue", "drain", "--timeout", "1", "/a"], "--timeout"),
        (&["queue", "put", "--priority", "high", "/a", "b"], "high"),
        (&["queue", "put", "--priority", "1", "--delay", "1", "/a", "b"], "--delay"),
        (&["queue", "put", "--key", "k", "/a", "b", "c"], "one ITEM"),
        (&["queue", "put", "--key-window", "1h", "/a", "b"], "--key"),
        (&["queue", "get", "--kind", "fast", "/a"], "fast"),
        (&["queue", "get", "--layout", "latch", "/a"], "latch"),
        (&["queue", "claim", "/a"], "<COMMAND>"),
        (&["queue", "claim", "--until-empty", "--timeout", "1", "/a", "true"], "--timeout"),
        (&["queue", "dead", "--replay", "--drain", "/a"], "--drain"),
        (&["2pc"], "ls, show, decide"),
        (&["2pc", "ls"], "<PATH>"),
        (&["2pc", "show", "/a"], "<ID>"),
        (&["2pc", "ls", "/a", "b"], "'b'"),
        (&["2pc", "begin", "/a"], "begin"),
        (&["2pc", "decide", "/a", "b"], "<DECISION>"),
        (&["2pc", "decide", "/a", "b", "commit"], "voting"),
        (&["2pc", "ls", "--reason", "x", "/a"], "--reason"),
        (&["tree"], "<PATH>"),
        (&["tree", "/a", "/b"], "/b"),
        (&["tree", "--depth", "-1", "/a"], "-1"),
        (&["tree", "--deep", "/a"], "--deep"),
        (&["--naming", "etcd", "ls", "/a"], "etcd"),
        (&["--auth", "hunter2", "ls", "/a"], "--auth"),
        (&["--hosts", "", "ls", "/a"], "--hosts"),
        (&["--hosts", "a:b", "ls", "/a"], "a:b"),
        (&["--hosts", "a:1", "--session-timeout", "0", "ls", "/a"], "session_timeout"),
        (&["--hosts", "a:1", "--identity", "", "ls", "/a"], "identity"),
    ] {
        let ended = answer(args);
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{args:?}: {ended:?}");
        assert!(
            ended.err.starts_with("zkrecipes: ") && ended.err.lines().count() == 1,
            "{args:?}: {ended:?}"
        );
        assert!(ended.err.contains(named), "{args:?}: {ended:?}");
        assert!(!ended.err.contains("hunter2"), "{ended:?}");
    }
}

#[test]
fn without_servers_both_ways_out_are_named() {
    for command in [
        &["ls", "/a"][..],
        &["watch", "/a"],
        &["break", "/a", "holder"],
        &["lock", "/a", "true"],
        &["counter", "get", "/a"],
        &["config", "watch", "/a"],
        &["barrier", "wait", "/a"],
        &["queue", "get", "/a"],
        &["2pc", "ls", "/a"],
        &["tree", "/a"],
    ] {
        let ended = answer(command);
        assert_eq!(ended.status, 2);
        assert!(ended.err.contains("--hosts") && ended.err.contains("ZKRECIPES_HOSTS"), "{ended:?}");
    }
}

/// Python's package brings the same command, and a server for it.
#[test]
fn the_command_alone_has_no_server_and_says_what_is_one() {
    if std::env::var_os("ZKR_COMMAND").is_some() {
        return;
    }
    for (args, hosts) in [(&["--hosts", "embedded:", "ls", "/a"][..], ""), (&["ls", "/a"], "embedded:/app")] {
        let mut command = bare();
        command.args(args).env("ZKRECIPES_HOSTS", hosts);
        let ended = Running::of(command).end();
        assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{ended:?}");
        for word in ["this command has none", "--hosts", "zkrecipes-server"] {
            assert!(ended.err.contains(word), "no {word}: {ended:?}");
        }
        assert!(!ended.err.contains("feature"), "{ended:?}");
    }
}

#[test]
fn a_bad_path_is_a_mistake_too() {
    let server = server();
    for args in [
        &["ls", "a"][..],
        &["ls", "/"],
        &["break", "/a//b", "holder"],
        &["lock", "/zookeeper/a", "true"],
        &["counter", "get", "/"],
        &["config", "watch", "/a/"],
        &["barrier", "create", "/"],
        &["queue", "len", "a"],
        &["2pc", "ls", "/a//b"],
        &["tree", "a"],
    ] {
        let ended = run(&server, args);
        assert_eq!(ended.status, 2, "{args:?}: {ended:?}");
        assert!(ended.err.contains("path"), "{ended:?}");
    }
}

#[test]
fn no_server_is_status_69() {
    let here =
        |args: &[&str]| answer(&[&["--hosts", "127.0.0.1:1", "--connect-timeout", "200ms"], args].concat());
    for args in [
        &["ls", "/a"][..],
        &["watch", "/a"],
        &["break", "/a", "holder"],
        &["lock", "/a", "true"],
        &["counter", "add", "/a"],
        &["config", "watch", "/a"],
        &["barrier", "wait", "/a"],
        &["queue", "get", "/a"],
        &["2pc", "ls", "/a"],
        &["tree", "/a"],
    ] {
        let ended = here(args);
        assert_eq!(ended.status, 69, "{args:?}: {ended:?}");
        assert!(ended.err.contains("server"), "{ended:?}");
    }
}

#[test]
fn options_of_every_command_stand_before_or_behind_its_name() {
    let server = server();
    let hosts = server.connect_string();
    for args in [
        &["--hosts", &hosts, "ls", "/a"][..],
        &["ls", "--hosts", &hosts, "/a"],
        &["ls", "/a", &format!("--hosts={hosts}")],
        &[
            "--session-timeout=5",
            "--connect-timeout",
            "5s",
            "--identity",
            "me",
            "ls",
            "--hosts",
            &hosts,
            "/a",
        ],
    ] {
        assert_eq!(answer(args).status, 0, "{args:?}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error_to_talk_about() {
    let server = server();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut child = command(&server, &["ls", "--json", "/a"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("built");
    assert_eq!(support::code(support::wait(&mut child)), 128 + libc::SIGPIPE);
    let said = std::io::read_to_string(child.stderr.take().expect("piped")).expect("text");
    assert_eq!(said, "");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_status_74() {
    let server = server();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is always there");
    let mut child =
        command(&server, &["ls", "--json", "/a"]).stdout(full).stderr(Stdio::null()).spawn().expect("built");
    assert_eq!(support::code(support::wait(&mut child)), 74);
}

/// Other languages ship the command by calling this.
#[test]
fn the_command_is_a_function_of_its_arguments() {
    assert_eq!(zkrecipes_cli::run(support::os(&["zkrecipes", "--version"])), 0);
    assert_eq!(zkrecipes_cli::run(support::os(&["zkrecipes", "nonsense"])), 2);
}

#[test]
fn shells_and_man_know_the_command() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = answer(&["completions", shell]);
        assert_eq!(ended.status, 0, "{shell}: {ended:?}");
        assert!(ended.out.contains("--force-after") || ended.out.contains("force-after"), "{shell}");
    }
    let folder = std::env::temp_dir().join(format!("zkrecipes-man-{}", std::process::id()));
    assert_eq!(answer(&["man", folder.to_str().expect("text")]).status, 0);
    let page = std::fs::read_to_string(folder.join("zkrecipes-queue-claim.1")).expect("written");
    assert!(page.contains("ZKR_ATTEMPTS"), "{page}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_command_says_what_happens_to_it_when_it_is_asked_to() {
    let server = server();
    let quiet = run(&server, &["lock", "/locks/told", "--", "true"]);
    assert_eq!((quiet.status, quiet.err.as_str()), (0, ""));
    let told = run(&server, &["lock", "-v", "/locks/told", "--", "true"]);
    assert!(
        told.err.contains("zkrecipes: info: connected: ") && told.err.contains(" closed: "),
        "{}",
        told.err
    );
    assert!(!told.err.contains("acquired"), "{}", told.err);
    let all = run(&server, &["-vv", "lock", "/locks/told", "--", "true"]);
    assert!(all.err.contains("debug: acquired: ") && all.err.contains(" path=/locks/told "), "{}", all.err);
    assert!(all.err.contains("debug: released: "), "{}", all.err);
}
