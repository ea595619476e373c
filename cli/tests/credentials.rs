//! Who the command is towards the servers: from where it takes that, and that it does not hand it on.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use support::{Ended, Running, UNTIL_A_LINE, command, holding, run, server};

const PATH: &str = "/locks/report";
const GIVEN: &str = "digest:ann:hunter2";

/// A file of that mode, in a folder of its own.
struct Kept(PathBuf);

impl Kept {
    fn new(name: &str, content: &str, mode: u32) -> Kept {
        let folder = std::env::temp_dir().join(format!("zkrecipes-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("secret");
        fs::write(&file, content).expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("ours");
        Kept(file)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().expect("a folder"));
    }
}

fn ends(mut command: Command, variable: &str, value: &str) -> Ended {
    command.env(variable, value);
    Running::of(command).end()
}

#[test]
fn what_a_command_runs_does_not_get_the_credentials() {
    let server = server();
    let with = |args: &[&str]| ends(command(&server, args), "ZKRECIPES_AUTH", GIVEN);
    for verb in [
        &["lock", PATH][..],
        &["elect", "/leaders/report"],
        &["barrier", "enter", "--parties=1", "/barriers/report"],
        &["queue", "claim", "--until-empty", "/queues/report"],
    ] {
        for is_passed in [false, true] {
            assert_eq!(with(&["queue", "put", "/queues/report", "item"]).status, 0);
            let flag: &[&str] = if is_passed { &["--pass-credentials"] } else { &[] };
            let ended = with(&[verb, flag, &["--", "env"]].concat());
            assert_eq!(ended.status, 0, "{verb:?}: {ended:?}");
            assert!(
                ended.out.contains("ZKRECIPES_HOSTS="),
                "the rest of the environment is there: {ended:?}"
            );
            assert_eq!(ended.out.contains("hunter2"), is_passed, "{verb:?}: {ended:?}");
        }
    }
}

#[test]
fn what_checks_a_candidate_does_not_get_the_credentials() {
    let server = server();
    for is_passed in [false, true] {
        let told = Kept::new("health", "", 0o600);
        let check = format!("env >{}", told.path());
        let flag: &[&str] = if is_passed { &["--pass-credentials"] } else { &[] };
        let args = [&["elect", "--healthy", &check, "/leaders/report"], flag, &["--", "true"]].concat();
        let ended = ends(command(&server, &args), "ZKRECIPES_AUTH", GIVEN);
        assert_eq!(ended.status, 0, "{ended:?}");
        let told = fs::read_to_string(told.path()).expect("it was checked");
        assert!(told.contains("PATH=") && told.contains("hunter2") == is_passed, "{told}");
    }
}

#[test]
fn what_works_on_a_partition_does_not_get_the_credentials() {
    let server = server();
    for is_passed in [false, true] {
        let flag: &[&str] = if is_passed { &["--pass-credentials"] } else { &[] };
        let work = ["--", "sh", "-c", "env; echo; exec sleep 60"];
        let mut command =
            command(&server, &[&["partition", "--of", "1", "/partitions"], flag, &work].concat());
        command.env("ZKRECIPES_AUTH", GIVEN);
        let working = Running::of(command);
        let told: Vec<_> =
            std::iter::repeat_with(|| working.out.line()).take_while(|line| !line.is_empty()).collect();
        let told = told.join("\n");
        assert!(told.contains("PATH=") && told.contains("hunter2") == is_passed, "{told}");
        working.signal(libc::SIGTERM);
        assert_eq!(working.end().status, 128 + libc::SIGTERM);
    }
}

#[test]
fn credentials_come_from_a_file_that_nobody_else_may_read() {
    let server = server();
    let mut holder = holding(&server, &["--auth", GIVEN, PATH], UNTIL_A_LINE);
    let file = Kept::new("auth", &format!("digest:other:x\n{GIVEN}\n"), 0o600);
    assert_eq!(run(&server, &["ls", "--auth-file", file.path(), PATH]).status, 0);
    assert_eq!(ends(command(&server, &["ls", PATH]), "ZKRECIPES_AUTH_FILE", file.path()).status, 0);
    let open = Kept::new("open", GIVEN, 0o640);
    for ended in [
        run(&server, &["ls", "--auth-file", open.path(), PATH]),
        run(&server, &["ls", "--sasl-file", open.path(), PATH]),
        ends(command(&server, &["ls", PATH]), "ZKRECIPES_AUTH_FILE", open.path()),
        ends(command(&server, &["ls", PATH]), "ZKRECIPES_SASL_FILE", open.path()),
    ] {
        assert_eq!(ended.status, 2, "{ended:?}");
        assert!(ended.err.contains("640") && ended.err.contains("chmod 600"), "{ended:?}");
        assert!(!ended.err.contains("hunter2"), "{ended:?}");
    }
    let empty = Kept::new("empty", "\n", 0o600);
    assert_eq!(run(&server, &["ls", "--auth-file", empty.path(), PATH]).status, 2);
    let odd = Kept::new("odd", "hunter2", 0o600);
    let ended = run(&server, &["ls", "--auth-file", odd.path(), PATH]);
    assert_eq!((ended.status, ended.err.contains("hunter2")), (2, false), "{ended:?}");
    holder.send_line();
    assert_eq!(holder.end().status, 0);
}

#[test]
fn a_path_that_lets_everybody_delete_is_told_of_or_refused() {
    let server = server();
    assert_eq!(run(&server, &["lock", "/open/lock", "--", "true"]).status, 0);
    let with = |verb: &[&str]| ends(command(&server, verb), "ZKRECIPES_AUTH", GIVEN);
    assert_eq!(run(&server, &["queue", "put", "/open/queue", "item"]).status, 0);
    for (verb, path) in [
        (&["lock", "/open/queue"][..], "/open/queue"),
        (&["queue", "put", "/open/queue", "item"], "/open/queue"),
    ] {
        let rest: &[&str] = if verb[0] == "lock" { &["--", "true"] } else { &[] };
        let told = with(&[verb, rest].concat());
        assert!(
            told.status == 0 && told.err.contains(path) && told.err.contains("everybody may delete"),
            "{told:?}"
        );
        let refused = with(&[&["--refuse-open-parents"], verb, rest].concat());
        assert!(refused.status != 0 && refused.err.contains("everybody delete"), "{refused:?}");
    }
}

#[test]
fn an_empty_authority_is_refused_and_is_no_word_for_plain_text() {
    let server = server();
    let ended = ends(command(&server, &["ls", PATH]), "ZKRECIPES_TLS_CA", "");
    assert_ne!(ended.status, 0, "{ended:?}");
    assert!(ended.err.contains("tls.ca"), "{ended:?}");
    assert_eq!(run(&server, &["ls", PATH]).status, 0, "without it there is plain text");
}
