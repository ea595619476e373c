//! `zkrecipes elect` and `leader`.

mod support;

use support::{
    Running, UNTIL_A_LINE, assert_nothing_left, assert_nothing_stays, cells, contenders, eventually, run,
    server, start,
};
use zkrecipes_embedded::Server;

const PATH: &str = "/leaders/index";

/// `zkrecipes elect … -- sh -c SCRIPT`.
fn standing(server: &Server, options: &[&str], script: &str) -> Running {
    start(server, &[&["elect"], options, &[PATH, "--", "sh", "-c", script]].concat())
}

/// The session of the leader, as the table of `ls` has it.
fn session_of(server: &Server, identity: &str) -> u64 {
    let listed = run(server, &["ls", PATH]);
    let rows = cells(&listed.out);
    let row = rows.iter().find(|row| row[3] == identity).expect("a candidate");
    u64::from_str_radix(row[5].trim_start_matches("0x"), 16).expect("a session")
}

#[test]
fn a_command_that_ends_gives_its_status_and_lets_the_next_one_lead() {
    let server = server();
    let mut first =
        standing(&server, &["--identity", "one"], &format!("echo started; {UNTIL_A_LINE}; exit 7"));
    assert_eq!(first.out.line(), "started");
    let script = "test $ZKR_EPOCH = $ZKR_FENCING_TOKEN && echo $ZKR_EPOCH $ZKR_SEQUENCER";
    let second = standing(&server, &["--identity", "two"], script);
    eventually("the second stands", || contenders(&server, PATH).len() == 2);
    let listed = run(&server, &["ls", PATH]);
    let states: Vec<_> = cells(&listed.out).iter().map(|row| row[1..4].join(" ")).collect();
    assert_eq!(states, ["yes latch one", "no latch two"]);
    first.send_line();
    assert_eq!(first.end().status, 7);
    let second = second.end();
    assert_eq!(second.status, 0, "{second:?}");
    let (epoch, sequencer) = second.out.trim_end().split_once(' ').expect("two words");
    assert!(sequencer.starts_with(&format!("1:{epoch}:{PATH}/_c_")), "{second:?}");
    assert_nothing_left(&server, PATH);
}

#[test]
fn whoever_loses_stops_the_command_stands_again_and_runs_it_anew() {
    let server = server();
    // A child of the shell's own must end too, and one that takes no TERM.
    let script = "trap '' TERM; echo leading $ZKR_EPOCH; cat";
    let one = standing(&server, &["--identity", "one", "--grace", "200ms"], script);
    let two = standing(&server, &["--identity", "two", "--grace", "200ms"], script);
    let epoch = |running: &Running| -> u64 {
        running.out.line_with("leading").split_once(' ').expect("a number").1.parse().expect("a number")
    };
    eventually("both stand", || contenders(&server, PATH).len() == 2);
    let leader = run(&server, &["leader", PATH]);
    let is_ones = cells(&leader.out)[0][0] == "one";
    let ((first, name), (second, other)) =
        if is_ones { ((&one, "one"), (&two, "two")) } else { ((&two, "two"), (&one, "one")) };
    let mut epochs = vec![epoch(first)];
    for (leader, name, next) in [(first, name, second), (second, other, first)] {
        assert!(server.expire(session_of(&server, name)));
        assert!(leader.err.line_with("standing again").contains(&format!("no longer the leader of {PATH}")));
        epochs.push(epoch(next));
    }
    assert!(epochs.is_sorted_by(|before, after| before < after), "{epochs:?}");
    for running in [one, two] {
        running.signal(libc::SIGKILL);
    }
}

#[test]
fn once_is_one_term() {
    let server = server();
    let running = standing(&server, &["--once"], "echo started; exec cat");
    assert_eq!(running.out.line(), "started");
    let [session] = server.sessions()[..] else { panic!("one session") };
    assert!(server.expire(session));
    // Its end closes the command's stdin, which would end the command too.
    assert_eq!(running.out.rest(), "");
    assert_eq!(running.end().status, 76);
    assert_nothing_stays(&server, PATH);
}

#[test]
fn a_leader_that_is_asked_steps_down_and_stands_again() {
    let server = server();
    let first = standing(&server, &["--identity", "one"], "echo started; exec cat");
    assert_eq!(first.out.line(), "started");
    let second = standing(&server, &["--identity", "two"], "echo started; exec cat");
    eventually("the second stands", || contenders(&server, PATH).len() == 2);
    let asked = run(&server, &["break", PATH, "holder"]);
    assert_eq!(asked.status, 0, "{asked:?}");
    assert_eq!(second.out.line(), "started");
    first.err.line_with("standing again");
    eventually("the first stands again", || contenders(&server, PATH).len() == 2);
    for (running, status) in [(first, 128 + libc::SIGTERM), (second, 128 + libc::SIGTERM)] {
        running.signal(libc::SIGTERM);
        running.out.rest();
        assert_eq!(running.end().status, status);
    }
    assert_nothing_left(&server, PATH);
}

#[test]
fn signals_end_the_candidacy_and_others_are_the_commands() {
    let server = server();
    let script = "trap 'echo reload' USR1; trap 'echo ending; exit 3' TERM; echo started; \
                  while :; do read line || sleep 0.01; done";
    let mut running = standing(&server, &[], script);
    assert_eq!(running.out.line(), "started");
    running.signal(libc::SIGUSR1);
    assert_eq!(running.out.line(), "reload");
    // It is no reason to give up after a loss.
    let [session] = server.sessions()[..] else { panic!("one session") };
    assert!(server.expire(session));
    running.out.line_with("ending");
    assert_eq!(running.out.line_with("started"), "started");
    running.signal(libc::SIGTERM);
    running.out.line_with("ending");
    running.send_line();
    assert_eq!(running.end().status, 3);
    assert_nothing_left(&server, PATH);

    let leader = standing(&server, &[], "echo started; exec cat");
    assert_eq!(leader.out.line(), "started");
    let waiting = standing(&server, &[], "echo never");
    eventually("it stands", || contenders(&server, PATH).len() == 2);
    waiting.signal(libc::SIGTERM);
    let waiting = waiting.end();
    assert_eq!((waiting.status, waiting.out.as_str()), (128 + libc::SIGTERM, ""));
}

#[test]
fn the_leader_is_shown_with_what_it_says() {
    let server = server();
    let nobody = run(&server, &["leader", PATH]);
    assert_eq!((nobody.status, nobody.out.as_str()), (1, ""));
    let watching = start(&server, &["leader", "--watch", PATH]);
    let without_time = |line: String| line.split_once("  ").expect("a time").1.to_owned();
    assert_eq!(without_time(watching.out.line()), "-");
    let mut leading = standing(
        &server,
        &["--identity", "one", "--data", "10.0.0.7:80"],
        &format!("echo $ZKR_EPOCH; {UNTIL_A_LINE}"),
    );
    let epoch = leading.out.line();
    let begun = format!("one  {epoch}  yes  10.0.0.7:80");
    // That it has not begun may be told before.
    while without_time(watching.out.line()) != begun {}
    let shown = run(&server, &["leader", PATH]);
    assert_eq!(cells(&shown.out), [["one", &epoch, "yes", "10.0.0.7:80"]]);
    let json = run(&server, &["leader", "--json", PATH]);
    let expected = format!(
        "{{\"identity\":\"one\",\"epoch\":{epoch},\"acknowledged\":true,\"data\":\"10.0.0.7:80\"}}\n"
    );
    assert_eq!(json.out, expected);
    leading.send_line();
    assert_eq!(leading.end().status, 0);
    assert_eq!(without_time(watching.out.line()), "-");
    watching.signal(libc::SIGINT);
    assert_eq!(watching.end().status, 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn the_layout_chooses_whose_election_it_is() {
    let server = server();
    for (options, kind) in [(&["--layout", "selector"][..], "-lock-"), (&["--naming", "kazoo"], "__lock__")] {
        let mut leading = standing(&server, options, UNTIL_A_LINE);
        assert_eq!(leading.out.line(), "started");
        assert!(contenders(&server, PATH)[0].contains(kind));
        assert_eq!(run(&server, &[&["leader"], options, &[PATH]].concat()).status, 0);
        let unasked = run(&server, &["leader", PATH]);
        assert_eq!(unasked.status, 1);
        assert!(unasked.err.contains("try --layout selector"), "{}", unasked.err);
        leading.send_line();
        assert_eq!(leading.end().status, 0);
        assert_nothing_left(&server, PATH);
    }
}

#[test]
fn who_has_a_higher_priority_leads_and_the_other_one_stands_again() {
    let server = server();
    let lower = standing(&server, &["--identity", "lower", "--priority", "-1"], "echo lower; exec cat");
    lower.out.line_with("lower");
    let mut higher = standing(&server, &["--identity", "higher"], UNTIL_A_LINE);
    assert_eq!(higher.out.line(), "started");
    assert!(lower.err.line_with("standing again").contains(PATH));
    higher.send_line();
    assert_eq!(higher.end().status, 0);
    lower.out.line_with("lower");
    lower.signal(libc::SIGTERM);
    // Before its input ends, which would end `cat`, too.
    assert_eq!(lower.out.rest(), "");
    assert_eq!(lower.end().status, 128 + libc::SIGTERM);
    assert_nothing_left(&server, PATH);
}

#[test]
fn who_is_not_healthy_does_not_stand_and_hands_over() {
    let server = server();
    let well = std::env::temp_dir().join(format!("zkrecipes-well-{}", std::process::id()));
    let check = format!("test -e {}", well.display());
    // Also the time that each check has.
    let options = ["--identity", "one", "--healthy", &check, "--healthy-every", "1s"];
    let one = standing(&server, &options, "echo leads; exec sleep 1000");
    assert!(one.err.line_with("not healthy").contains(&check));
    assert_eq!(contenders(&server, PATH).len(), 0, "it does not stand");
    std::fs::write(&well, "").expect("a file");
    one.err.line_with("healthy again");
    one.out.line_with("leads");
    let two = standing(&server, &["--identity", "two"], "echo leads; exec sleep 1000");
    eventually("the second stands", || contenders(&server, PATH).len() == 2);
    std::fs::remove_file(&well).expect("it is there");
    one.err.line_with("not healthy");
    // Nobody asks for it, and it does not stand again.
    assert!(one.err.line().contains(&format!("giving back {PATH}")));
    assert!(one.err.line().contains("does not stand until it is healthy"));
    two.out.line_with("leads");
    eventually("the first does not stand", || contenders(&server, PATH).len() == 1);
    for running in [one, two] {
        running.signal(libc::SIGTERM);
        assert_eq!(running.end().status, 128 + libc::SIGTERM);
    }
    assert_nothing_left(&server, PATH);
}

#[test]
fn a_check_of_health_that_hangs_is_killed_and_counts_as_not_healthy() {
    let server = server();
    let options = ["--healthy", "sleep 3600; true", "--healthy-every", "200ms"];
    let running = standing(&server, &options, "echo leads");
    assert!(running.err.line_with("not healthy").contains("had not ended"));
    running.signal(libc::SIGTERM);
    assert_eq!(running.end().status, 128 + libc::SIGTERM);
    assert_nothing_left(&server, PATH);
}
