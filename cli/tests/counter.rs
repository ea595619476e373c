//! `zkrecipes counter`.

mod support;

use support::{run, server};

const PATH: &str = "/counters/orders";

#[test]
fn a_counter_begins_at_nothing_and_counts_up_and_down() {
    let server = server();
    for (args, printed) in [
        (&["get", PATH][..], "0\n"),
        (&["add", PATH], "1\n"),
        (&["add", PATH, "41"], "42\n"),
        (&["add", PATH, "-50"], "-8\n"),
        (&["add", "--", PATH, "+8"], "0\n"),
        (&["get", PATH], "0\n"),
    ] {
        let ended = run(&server, &[&["counter"], args].concat());
        assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (0, printed, ""), "{args:?}");
    }
    assert_eq!(server.sessions(), [0; 0]);
    assert_eq!(server.nodes().iter().filter(|path| path.starts_with(PATH)).count(), 1, "no mark stays");
}

#[test]
fn the_layout_and_the_naming_choose_how_the_value_is_kept() {
    let server = server();
    for (path, options, hex) in [
        ("/counters/long", &[][..], "\"hex\":\"0000000000000102\""),
        ("/counters/int", &["--layout", "shared"], "\"hex\":\"00000102\""),
        ("/counters/digits", &["--naming", "kazoo"], "\"data\":\"258\""),
    ] {
        let ended = run(&server, &[&["counter", "add", path, "258"], options].concat());
        assert_eq!(ended.out, "258\n", "{ended:?}");
        let kept = run(&server, &["tree", "--json", path]);
        assert!(kept.out.contains(hex), "{kept:?}");
    }
    // Who takes it for another one is told, and changes nothing.
    let ended = run(&server, &["counter", "add", "--layout", "shared", "/counters/long"]);
    assert_eq!((ended.status, ended.out.as_str()), (2, ""), "{ended:?}");
    assert_eq!(run(&server, &["counter", "get", "/counters/long"]).out, "258\n");
}
