//! `zkrecipes partition` and `partitions`.

mod support;

use support::{Running, run, server, start};
use zkrecipes_embedded::Server;

const PATH: &str = "/partitions/imports";
const SCRIPT: &str = "echo $ZKR_PARTITION $ZKR_FENCING_TOKEN; exec sleep 60";

fn working(server: &Server, name: &str) -> Running {
    let args = ["partition", "--names", "eu,us", "--name", name, PATH, "--", "sh", "-c", SCRIPT];
    start(server, &args)
}

#[test]
fn a_command_runs_for_each_partition_that_is_ours() {
    let server = server();
    let one = working(&server, "one");
    let mut lines = [one.out.line(), one.out.line()];
    lines.sort();
    assert!(lines[0].starts_with("eu ") && lines[1].starts_with("us "), "{lines:?}");
    let shown = run(&server, &["partitions", PATH]);
    assert_eq!(shown.status, 0, "{shown:?}");
    assert!(shown.out.lines().count() == 3 && shown.out.contains("\neu  "), "{shown:?}");
    let told = run(&server, &["partitions", "--watch", "--for", "300ms", "--json", PATH]);
    assert_eq!((told.status, told.out.lines().count()), (0, 2), "{told:?}");
    // Another member takes one of them over, whose command is ended first.
    let two = working(&server, "two");
    let taken = two.out.line();
    assert!(taken.starts_with("eu ") || taken.starts_with("us "), "{taken}");
    two.signal(libc::SIGTERM);
    assert_eq!(two.end().status, 128 + libc::SIGTERM);
    let again = one.out.line();
    assert_eq!(again.split(' ').next(), taken.split(' ').next(), "it comes back");
    one.signal(libc::SIGTERM);
    assert_eq!(one.end().status, 128 + libc::SIGTERM);
    assert_eq!(server.sessions(), [0; 0]);
    let nobody = run(&server, &["partitions", "--json", PATH]);
    assert!(!nobody.out.contains("owner\":\""), "{nobody:?}");
}

#[test]
fn partitions_are_listed_by_number_and_no_headings_stand_over_nothing() {
    let server = server();
    let nobody = run(&server, &["partitions", PATH]);
    assert_eq!((nobody.status, nobody.out.as_str()), (0, ""), "{nobody:?}");
    // They ignore the signal that is passed on to them, and are there yet when they are told.
    let script = format!("trap '' TERM; {SCRIPT}");
    let args = ["partition", "--of", "12", "--grace", "100ms", PATH, "--", "sh", "-c", &script];
    let working = start(&server, &args);
    (0..12).for_each(|_| drop(working.out.line()));
    let shown = run(&server, &["partitions", PATH]).out;
    let names: Vec<_> = shown.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
    working.signal(libc::SIGTERM);
    assert!(working.err.line().contains("giving back"), "nobody asks for them");
    assert_eq!(working.end().status, 128 + libc::SIGTERM);
}

#[test]
fn what_is_no_list_of_partitions_is_refused() {
    let server = server();
    let ended = run(&server, &["partition", PATH, "--", "true"]);
    assert_eq!(ended.status, 2, "{ended:?}");
    let ended = run(&server, &["partition", "--of", "2", PATH, "--", "no-such-command"]);
    assert_eq!(ended.status, 127, "{ended:?}");
    let ended = run(&server, &["partition", "--names", "a,a", PATH, "--", "true"]);
    assert!(ended.status != 0 && ended.err.contains("named twice"), "{ended:?}");
}
