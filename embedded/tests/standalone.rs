//! The program `zkrecipes-server`.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use support::{Raw, word};

fn program(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zkrecipes-server"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

#[test]
fn it_prints_its_address_serves_and_ends_on_a_signal() {
    let mut child = program(&["--port", "0", "--tick=100"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
    let mut raw = Raw::connect(&address);
    assert_eq!((raw.create("/a", 0), raw.timeout), (Ok("/a".to_owned()), 2000));
    assert_eq!(word(&address, "ruok"), "imok");
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert!(child.wait().unwrap().success());
    assert!(raw.is_closed());
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    for part in ["for development and tests only", "session 0x", "stopped by SIGTERM"] {
        assert!(log.contains(part), "{part} in {log}");
    }
}

#[test]
fn it_explains_itself_and_its_users_mistakes() {
    let output = |arguments: &[&str]| program(arguments).wait_with_output().unwrap();
    let help = output(&["--help"]);
    assert!(help.status.success());
    assert!(String::from_utf8(help.stdout).unwrap().contains("--data-limit"));
    for (arguments, named) in [
        (&["--prot", "1"][..], "--prot"),
        (&["--port"], "--port needs a value"),
        (&["--port", "99999"], "99999"),
        (&["--port", "0", "--emulate", "2.0"], "2.0"),
        (&["--host", "nowhere"], "nowhere"),
        (&["--port", "0", "--host", "0.0.0.0"], "--allow-remote"),
        (&["--port", "0", "--host", "::"], "--allow-remote"),
    ] {
        let failed = output(arguments);
        assert_eq!(failed.status.code(), Some(2));
        let message = String::from_utf8(failed.stderr).unwrap();
        assert!(message.contains(named), "{named} in {message}");
    }
}

#[test]
fn what_it_keeps_survives_its_end() {
    let file = std::env::temp_dir().join(format!("zkrecipes-server-{}", std::process::id()));
    let name = file.to_str().unwrap();
    let mut raw: Option<Raw> = None;
    for round in 0..3 {
        let mut child = program(&["--port", "0", "--quiet", "--keep", name]);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        let mut back = match raw {
            None => Raw::connect(&address),
            Some(old) => {
                Raw::attach(&address, old.session, &old.password, 10_000, 1 + round).expect("its session")
            }
        };
        assert_eq!(back.create("/e", 1).is_ok(), round == 0);
        assert_eq!(back.create("/n-", 2), Ok(format!("/n-000000000{}", round + 1)));
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(child.wait().unwrap().success());
        raw = Some(back);
    }
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, b"something else").unwrap();
    let failed = program(&["--port", "0", "--keep", name]).wait_with_output().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(String::from_utf8(failed.stderr).unwrap().contains("not from a server of this version"));
}

#[test]
fn other_machines_are_let_in_by_an_explicit_word_only() {
    let mut child = program(&["--port", "0", "--quiet", "--host", "0.0.0.0", "--allow-remote"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit(':').next().expect("a port").to_owned();
    assert_eq!(word(&format!("127.0.0.1:{port}"), "ruok"), "imok");
    child.kill().unwrap();
    child.wait().unwrap();
}
