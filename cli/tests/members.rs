//! `zkrecipes members`.

mod support;

use support::{assert_nothing_left, run, server, start};
use zkrecipes::blocking::Client;
use zkrecipes::{Auth, ClientOptions, CreateMode};

const PATH: &str = "/workers";

#[test]
fn members_are_listed_with_what_they_say() {
    let server = server();
    let nobody = run(&server, &["members", PATH]);
    assert_eq!((nobody.status, nobody.out.as_str()), (0, ""));
    assert!(nobody.err.contains("nobody"), "{nobody:?}");
    assert_eq!(run(&server, &["members", "--json", PATH]).out, "[]\n");

    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let [one, two] = ["web1", "web-number-2"].map(|name| {
        let group = client.group(PATH, Default::default()).expect("a path");
        group.join(name, if name == "web1" { b"10.0.0.7" } else { b"\xff" }).expect("free");
        group
    });
    let table = run(&server, &["members", PATH]);
    assert_eq!(table.out, "MEMBER        DATA\nweb-number-2  0xff\nweb1          10.0.0.7\n");
    let json = run(&server, &["members", "--json", PATH]);
    let expected = "[{\"name\":\"web-number-2\",\"data\":null,\"hex\":\"ff\"},\n {\"name\":\"web1\",\"data\":\"10.0.0.7\"}]\n";
    assert_eq!(json.out, expected);
    drop((one, two));
}

#[test]
fn a_watcher_is_told_who_comes_changes_and_goes() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let (first, second) = (
        client.group(PATH, Default::default()).expect("a path"),
        client.group(PATH, Default::default()).expect("a path"),
    );
    first.join("one", b"1").expect("free");
    let watching = start(&server, &["members", "--watch", PATH]);
    let json = start(&server, &["members", "--watch", "--json", PATH]);
    let told = |plain: &str, fields: &str| {
        let line = watching.out.line();
        assert_eq!(line.split_once("  ").expect("a time").1, plain);
        let line = json.out.line();
        assert!(line.starts_with("{\"at\":\"20") && line.ends_with(&format!(",{fields}}}")), "{line}");
    };
    told("member   one  1", "\"event\":\"member\",\"name\":\"one\",\"data\":\"1\"");
    second.join("two", b"2").expect("free");
    told("joined   two  2", "\"event\":\"joined\",\"name\":\"two\",\"data\":\"2\"");
    first.update(b"11").expect("a member");
    told("changed  one  11", "\"event\":\"changed\",\"name\":\"one\",\"data\":\"11\"");
    second.leave().expect("a member");
    told("left     two", "\"event\":\"left\",\"name\":\"two\",\"data\":null");
    watching.signal(libc::SIGINT);
    json.signal(libc::SIGINT);
    assert_eq!((watching.end().status, json.end().status), (0, 0));
    client.close(None).expect("a server");
    assert_nothing_left(&server, PATH);
}

#[test]
fn kazoos_parties_are_groups_too() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    for (path, layout) in [("/party", "party"), ("/shallow", "shallow_party")] {
        let options = zkrecipes::GroupOptions::default().layout(layout.parse().expect("a layout"));
        let group = client.group(path, options).expect("a path");
        group.join("web1", b"").expect("free");
        let listed = run(&server, &["members", "--layout", layout, path]);
        assert_eq!(listed.out, "MEMBER  DATA\nweb1\n");
    }
    let listed = run(&server, &["members", "--naming", "kazoo", "/party"]);
    assert_eq!(listed.status, 0, "{listed:?}");
}

#[test]
fn a_member_that_may_not_be_read_is_named_and_hides_no_other() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let group = client.group(PATH, Default::default()).expect("a path");
    group.join("ours", b"10.0.0.7").expect("free");
    let options = ClientOptions::default().auth(Auth::new("digest", "somebody:secret"));
    let other = Client::connect(&server.connect_string(), options).expect("a server");
    other.nodes().create(&format!("{PATH}/theirs"), b"", CreateMode::Ephemeral).expect("free");
    let skipped = "zkrecipes: 1 skipped: /workers/theirs (denied)";

    let table = run(&server, &["members", PATH]);
    assert_eq!((table.status, table.out.as_str()), (0, "MEMBER  DATA\nours    10.0.0.7\n"));
    assert_eq!(table.err, format!("{skipped}\n"));
    let json = run(&server, &["members", "--json", PATH]);
    let theirs = r#"{"name":"theirs","data":null,"problem":"it may not be read with these identities"}"#;
    let expected = format!("[{{\"name\":\"ours\",\"data\":\"10.0.0.7\"}},\n {theirs}]\n");
    assert_eq!((json.out, json.err.as_str()), (expected, ""));
    let watching = start(&server, &["members", "--watch", PATH]);
    assert_eq!(watching.err.line(), skipped);
    assert_eq!(run(&server, &["members", "--auth", "digest:somebody:secret", PATH]).err, "");
}
