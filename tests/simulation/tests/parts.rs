//! Seeds that several processes share.

use std::process::Command;

/// What the command says of a run, without how long it took.
fn said(jobs: &str) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_zkrecipes-simulation");
    let run = Command::new(program)
        .args(["--seed", "31", "--seeds", "6", "--jobs", jobs])
        .output()
        .expect("the command runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    let said = String::from_utf8_lossy(&run.stdout);
    let lines: Vec<_> = said.lines().map(str::to_owned).collect();
    let (took, rest) = lines.split_first().expect("it says how long it took");
    let counts = took.split(" (").next().map(str::to_owned);
    counts.into_iter().chain(rest.iter().cloned()).collect()
}

#[test]
fn one_process_or_several_play_the_same_schedules() {
    let (alone, shared) = (said("1"), said("3"));
    assert!(alone.iter().any(|line| line.starts_with("the schedules are ")), "{alone:?}");
    assert_eq!(alone.last().map(String::as_str), Some("6 passed, 0 failed"));
    assert_eq!(alone, shared);
}
