//! The committed headers are those that the sources give. After a change: `ffi/generate-header.sh`.

use std::path::Path;

/// The headings of the header that no description in `api/` has: each stands before the first function whose name begins
/// like this.
const SECTIONS: &[(&str, &str)] = &[
    ("zkr_error_", "Errors"),
    ("zkr_version", "Clients"),
    ("zkr_client_metrics", "Metrics"),
    ("zkr_on_log", "Logs"),
    ("zkr_read_write_lock_", "Read/write locks"),
    ("zkr_entries_", "Lists of entries"),
    ("zkr_payloads_", "Lists of payloads"),
    ("zkr_commit_statuses_", "Lists of two-phase commits"),
    ("zkr_client_check_sequencer", "Sequencers"),
    ("zkr_cancel_token_", "Cancelling"),
    ("zkr_subscription_", "Subscriptions"),
    ("zkr_buffer_", "Bytes"),
    ("zkr_strings_", "Lists"),
];

const TESTING_SECTIONS: &[(&str, &str)] =
    &[("zkr_test_requests_", "Requests"), ("zkr_test_ensemble_", "Several servers")];

#[test]
fn the_committed_header_is_up_to_date() {
    check(Path::new(env!("CARGO_MANIFEST_DIR")), "../api", "zkrecipes.h", SECTIONS);
}

#[test]
fn the_committed_header_of_the_testing_kit_is_up_to_date() {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing");
    check(&kit, "../api/testing", "zkrecipes_testing.h", TESTING_SECTIONS);
}

fn check(crate_home: &Path, described: &str, name: &str, sections: &[(&str, &str)]) {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include").join(name);
    let mut config =
        cbindgen::Config::from_file(crate_home.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    for (given, choice) in choices(crate_home) {
        config.export.include.push(choice.clone());
        config.export.exclude.push(given.clone());
        config.export.rename.insert(given, choice);
    }
    let bindings =
        cbindgen::Builder::new().with_crate(crate_home).with_config(config).generate().expect("a header");
    let mut raw = Vec::new();
    bindings.write(&mut raw);
    let raw = String::from_utf8(raw).expect("the header is UTF-8");
    let mut sections: Vec<_> =
        sections.iter().map(|(prefix, heading)| ((*prefix).into(), (*heading).into())).collect();
    sections.extend(described_headings(&Path::new(env!("CARGO_MANIFEST_DIR")).join(described)));
    // The macros with the defaults of options.
    let defaults = std::fs::read_to_string(crate_home.join("src/generated/defaults.h")).unwrap_or_default();
    let raw = raw.replace("@DEFAULTS@\n", &defaults);
    let fresh = with_version(&with_headings(&compact(&raw), &sections));

    if std::env::var_os("ZKR_UPDATE_HEADER").is_some() {
        std::fs::write(&committed, fresh).expect("the header can be written");
    } else {
        let stands = std::fs::read_to_string(&committed).unwrap_or_default();
        assert!(stands == fresh, "include/{name} is not what the sources give; run ffi/generate-header.sh");
    }
}

/// The headings in the descriptions of verbs, each with the beginning of the names of its functions.
fn described_headings(folder: &Path) -> Vec<(String, String)> {
    let described =
        std::fs::read_dir(folder).expect("descriptions").map(|file| file.expect("an entry").path());
    let texts = described
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| std::fs::read_to_string(path).expect("text"));
    let read = |text: String| {
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        Some((value("prefix").or_else(|| value("type"))? + "_", value("heading")?))
    };
    texts.filter_map(read).collect()
}

/// The enums that C may pass any number for: the sources take them as numbers, of types whose comments say so.
fn choices(crate_home: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["src", "src/generated"] {
        for file in std::fs::read_dir(crate_home.join(folder)).into_iter().flatten() {
            let Ok(text) = std::fs::read_to_string(file.expect("an entry").path()) else { continue };
            let mut lines = text.lines();
            while let Some(line) = lines.next() {
                let Some(choice) = line.strip_prefix("/// A ").and_then(|line| line.strip_suffix(" from C."))
                else {
                    continue;
                };
                let declared = lines.find_map(|line| line.strip_prefix("pub struct ")).expect("its type");
                let given = declared.split('(').next().unwrap_or_default();
                found.push((given.to_owned(), choice.to_owned()));
            }
        }
    }
    found.sort();
    found
}

/// The version of the package, which stands in Cargo.toml alone.
fn with_version(header: &str) -> String {
    header
        .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
}

/// Comments of one line on one line, and a tag for every type, so that it can be declared ahead.
fn compact(header: &str) -> String {
    let lines: Vec<&str> = header.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (indent, comment) = lines[at].split_at(lines[at].len() - lines[at].trim_start().len());
        if comment == "/**" && lines.get(at + 2).is_some_and(|line| line.trim() == "*/") {
            out.push(format!("{indent}/** {} */", lines[at + 1].trim_start().trim_start_matches("* ")));
            at += 3;
        } else if let Some(kind) =
            ["typedef struct", "typedef enum"].iter().find(|kind| comment == format!("{kind} {{"))
        {
            let name = lines[at..]
                .iter()
                .find_map(|line| line.strip_prefix("} ")?.strip_suffix(';'))
                .expect("a name");
            out.push(format!("{kind} {name} {{"));
            at += 1;
        } else {
            out.push(lines[at].to_owned());
            at += 1;
        }
    }
    out.join("\n") + "\n"
}

fn with_headings(header: &str, sections: &[(String, String)]) -> String {
    let mut out: Vec<String> = header.lines().map(str::to_owned).collect();
    for (prefix, heading) in sections {
        let function = out
            .iter()
            .position(|line| {
                let name =
                    line.split('(').next().unwrap_or_default().rsplit([' ', '*']).next().unwrap_or_default();
                line.contains('(') && !line.starts_with([' ', '#', '/', '}', 't']) && name.starts_with(prefix)
            })
            .unwrap_or_else(|| panic!("the header has no function {prefix}…"));
        let comment =
            out[..function].iter().rposition(|line| line.starts_with("/**")).expect("functions have docs");
        let rule = "-".repeat(100 - heading.len());
        out.splice(comment..comment, [format!("/* {heading} {rule} */"), String::new()]);
    }
    out.join("\n") + "\n"
}
