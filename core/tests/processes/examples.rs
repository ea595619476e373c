//! The examples of Rust, run as users run them, each on a server of its own.

use std::path::Path;
use std::process::Command;

#[test]
fn every_example_runs_to_its_end_and_says_something() {
    // `cargo test` builds them beside the tests.
    let this = std::env::current_exe().expect("this program");
    let built = this.ancestors().nth(2).expect("two folders").join("examples");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/rust");
    let mut names: Vec<_> = std::fs::read_dir(sources)
        .expect("the examples")
        .map(|entry| entry.expect("readable").path())
        // A folder is a crate of its own.
        .filter(|path| path.is_file())
        .map(|path| path.with_extension("").file_name().expect("a name").to_str().expect("UTF-8").to_owned())
        .collect();
    names.sort_unstable();
    assert!(names.iter().any(|name| name == "lock"), "{names:?}");
    for name in names {
        let output = Command::new(built.join(&name)).output().unwrap_or_else(|error| {
            panic!("{name}: {error}; is it in core/Cargo.toml, and did `cargo build --examples` run?")
        });
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{name}: {err}");
        assert!(!out.is_empty() && err.is_empty(), "{name} printed {out:?} and {err:?}");
    }
}
