//! `zkrecipes latch`.

mod support;

use support::{run, server};

const PATH: &str = "/latches/imports";

#[test]
fn a_latch_is_counted_down_until_it_is_open() {
    let server = server();
    for (args, status, printed) in [
        (&["remaining", "--of", "3", PATH][..], 0, "3\n"),
        (&["count-down", "--of", "3", PATH], 0, "2\n"),
        (&["wait", "--of", "3", "--timeout", "0s", PATH], 75, ""),
        (&["count-down", "--of", "3", PATH, "2"], 0, "0\n"),
        (&["wait", "--of", "3", PATH], 0, ""),
        (&["reset", "--of", "5", PATH], 0, ""),
        (&["remaining", "--of", "5", PATH], 0, "5\n"),
    ] {
        let ended = run(&server, &[&["latch"], args].concat());
        assert_eq!((ended.status, ended.out.as_str()), (status, printed), "{args:?}: {ended:?}");
    }
    let ended = run(&server, &["latch", "wait", "--of", "5", "--timeout", "0s", PATH]);
    assert!(ended.err.contains("/latches/imports is still closed"), "{ended:?}");
    assert_eq!(server.sessions(), [0; 0]);
}
