//! The crates of `patch/`, on which zookeeper-client stands: they are in place, and are what it uses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All that `patch/` provides and zookeeper-client needs. A new version may need more, or no longer all of it.
const USED: &[&str] = &[
    "Timer::after",
    "Timer::at",
    "Timer::interval",
    "Timer::never",
    "TcpStream::connect",
    "async_io::Timer",
    "async_net::TcpStream",
];

/// Neither type of the registry is so.
#[test]
fn timers_and_sockets_are_tokios() {
    fn is_tokios<T: From<tokio::time::Sleep>, S: AsRef<tokio::net::TcpStream>>() {}
    is_tokios::<async_io::Timer, async_net::TcpStream>();
}

#[test]
fn what_stands_in_is_what_the_crate_uses() {
    let mut used = BTreeSet::new();
    for file in sources(&crate_folder().join("src")) {
        let text = fs::read_to_string(&file).expect("text");
        // Its tests come last in each file.
        used.extend(uses(text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()));
    }
    assert_eq!(used, USED.iter().map(|name| (*name).to_owned()).collect(), "see patch/README.md");
}

/// Where cargo has the sources that this is built with.
fn crate_folder() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--offline", "--format-version=1", "--manifest-path"]).arg(manifest);
    let told = String::from_utf8(cargo.output().expect("cargo").stdout).expect("text");
    let mut manifests = told.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let ours = manifests.find(|path| path.contains("/zookeeper-client-")).expect("it is a dependency");
    Path::new(ours).parent().expect("in a folder").to_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path());
    let all = entries.flat_map(|entry| if entry.is_dir() { sources(&entry) } else { vec![entry] });
    all.collect()
}

/// What is imported of the two crates, and the functions of that which are called.
fn uses(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let after = |what: &str| -> Vec<String> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let starts = text.match_indices(what).filter(|(at, _)| !text[..*at].ends_with(is_word));
        let rests = starts.map(|(at, _)| &text[at + what.len()..]);
        rests.map(|rest| rest.split(|c| !is_word(c)).next().unwrap_or_default().to_owned()).collect()
    };
    for of in ["async_io::", "async_net::"] {
        for import in after(of) {
            let calls = after(&format!("{import}::")).into_iter().map(|name| format!("{import}::{name}"));
            found.extend(calls);
            found.insert(format!("{of}{import}"));
        }
    }
    found
}
