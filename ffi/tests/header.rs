//! The committed header is the one that the sources give. After a change: `ffi/generate-header.sh`.

use std::path::Path;

/// The headings of the header: each stands before the first function whose name begins like this.
const SECTIONS: [(&str, &str); 19] = [
    ("zkr_error_", "Errors"),
    ("zkr_version", "Clients"),
    ("zkr_lock_", "Locks"),
    ("zkr_contenders_", "Contenders"),
    ("zkr_held_", "Acquisitions"),
    ("zkr_read_write_lock_", "Read/write locks"),
    ("zkr_multi_lock_", "Several locks as one"),
    ("zkr_semaphore_", "Semaphores"),
    ("zkr_client_check_sequencer", "Sequencers"),
    ("zkr_nodes_transaction", "Transactions"),
    ("zkr_nodes_create", "Nodes"),
    ("zkr_cancel_token_", "Cancelling"),
    ("zkr_subscription_", "Subscriptions"),
    ("zkr_buffer_", "Bytes"),
    ("zkr_strings_", "Lists"),
    ("zkr_test_server_", "Testing kit"),
    ("zkr_test_requests_", "Testing kit: requests"),
    ("zkr_test_proxy_", "Testing kit: in front of a real server"),
    ("zkr_test_ensemble_", "Testing kit: several servers"),
];

#[test]
fn the_committed_header_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = here.join("../include/zkrecipes.h");
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("ffi/cbindgen.toml is valid");
    let bindings =
        cbindgen::Builder::new().with_crate(here).with_config(config).generate().expect("a header");
    let mut raw = Vec::new();
    bindings.write(&mut raw);
    let fresh = with_headings(&compact(&String::from_utf8(raw).expect("the header is UTF-8")));

    if std::env::var_os("ZKR_UPDATE_HEADER").is_some() {
        std::fs::write(&committed, fresh).expect("include/zkrecipes.h can be written");
    } else {
        let stands = std::fs::read_to_string(&committed).unwrap_or_default();
        assert!(
            stands == fresh,
            "include/zkrecipes.h is not what the sources give; run ffi/generate-header.sh"
        );
    }
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

fn with_headings(header: &str) -> String {
    let mut out: Vec<String> = header.lines().map(str::to_owned).collect();
    for (prefix, heading) in SECTIONS {
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
