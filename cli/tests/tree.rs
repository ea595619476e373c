//! `zkrecipes tree`.

mod support;

use support::{UNTIL_A_LINE, assert_nothing_left, contenders, holding, run, server};
use zkrecipes::blocking::Client;
use zkrecipes::{Auth, ClientOptions, CreateMode};

#[test]
fn a_tree_has_parents_first_and_shows_data_and_metadata() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let nodes = client.nodes();
    for (path, data) in [
        ("/app", &b""[..]),
        ("/app/b", b"two\nlines"),
        ("/app/a", &[0, 0, 7]),
        ("/app/a/deep", &[b'x'; 100]),
        // Sorts between /app/a and /app/a/deep as text, and is no child of /app/a.
        ("/app/a-b", b""),
    ] {
        nodes.create(path, data, CreateMode::Persistent).expect("free");
    }
    nodes.create("/app/e", b"", CreateMode::Ephemeral).expect("free");
    nodes.create("/app/c", b"", CreateMode::Container).expect("free");
    nodes.set("/app/b", b"other\nlines", None).expect("there");

    let ended = run(&server, &["tree", "/app"]);
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
    let lines: Vec<_> = ended.out.lines().collect();
    let names: Vec<_> = lines.iter().map(|line| line.split("  ").next().unwrap_or_default()).collect();
    assert_eq!(names, ["NODE", "/app", "", "", "", "", "", ""], "{ended:?}");
    let cells: Vec<Vec<_>> = lines[1..].iter().map(|line| line.split_whitespace().collect()).collect();
    let session = format!("{:#x}", server.sessions()[0]);
    let names: Vec<_> = cells.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["/app", "a", "deep", "a-b", "b", "c", "e"]);
    assert!(lines[2].starts_with("  a ") && lines[3].starts_with("    deep "), "{ended:?}");
    let without_age = |at: usize| {
        let row = &cells[at];
        assert!(row[3].ends_with('s'), "{row:?}");
        [&row[1..3], &row[4..]].concat()
    };
    assert_eq!(without_age(0), ["0", "0", "-"]);
    assert_eq!(without_age(1), ["3", "0", "-", "0x000007"]);
    assert_eq!(without_age(2), ["100", "0", "-", &("x".repeat(60) + "…")]);
    assert_eq!(without_age(4), ["11", "1", "-", "other", "lines"]);
    assert_eq!(without_age(5), ["0", "0", "-"]);
    assert_eq!(without_age(6), ["0", "0", &session]);

    let full = run(&server, &["tree", "--full", "/app/a/deep"]);
    assert!(full.out.contains(&"x".repeat(100)), "{full:?}");
    for (depth, nodes) in [("0", 1), ("1", 6), ("2", 7)] {
        let ended = run(&server, &["tree", "--depth", depth, "/app"]);
        assert_eq!(ended.out.lines().count(), 1 + nodes, "{ended:?}");
    }
}

#[test]
fn a_tree_as_json_has_everything() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    client.nodes().create("/app", "say \"hi\"".as_bytes(), CreateMode::Persistent).expect("free");
    client.nodes().create("/app/e", &[0xff], CreateMode::Ephemeral).expect("free");
    let session = format!("{:#x}", server.sessions()[0]);
    let ended = run(&server, &["tree", "--json", "/app"]);
    let objects: Vec<_> = ended.out.trim_end().trim_matches(['[', ']']).split(",\n ").collect();
    let begins = "{\"path\":\"/app\",\"data\":\"say \\\"hi\\\"\",\"bytes\":8,\"version\":0,\"children\":1,\
                  \"children_version\":1,\"session\":null,\"created\":\"20";
    assert!(objects[0].starts_with(begins), "{ended:?}");
    let begins = format!(
        "{{\"path\":\"/app/e\",\"data\":null,\"hex\":\"ff\",\"bytes\":1,\"version\":0,\"children\":0,\
         \"children_version\":0,\"session\":\"{session}\",\"created\":\"20"
    );
    assert!(objects[1].starts_with(&begins), "{ended:?}");
    assert_eq!(objects.len(), 2);
}

#[test]
fn the_root_has_a_tree_too() {
    let server = server();
    let mut holder = holding(&server, &["/locks/report"], UNTIL_A_LINE);
    let node = contenders(&server, "/locks/report").remove(0);
    let ended = run(&server, &["tree", "/"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let line = |start: &str| ended.out.lines().any(|line| line.starts_with(start));
    assert!(line("/ ") && line("  locks ") && line("    report "), "{ended:?}");
    assert!(line(&format!("      {}", node.replace("/locks/report/", ""))), "{ended:?}");
    assert!(line("  zookeeper "), "{ended:?}");
    let root: Vec<_> = ended.out.lines().nth(1).expect("the root").split_whitespace().collect();
    assert_eq!(root, ["/", "0", "0", "-", "-"]);
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_nothing_left(&server, "/locks/report");
}

#[test]
fn no_node_is_status_1() {
    let server = server();
    for options in [&[][..], &["--json"]] {
        let ended = run(&server, &[&["tree"], options, &["/nowhere"]].concat());
        assert_eq!((ended.status, ended.out.as_str()), (1, ""));
        assert!(ended.err.contains("/nowhere"), "{ended:?}");
    }
}

#[test]
fn what_may_not_be_read_is_shown_without_its_data() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    client.nodes().create("/open", b"", CreateMode::Persistent).expect("free");
    let options = ClientOptions::default().auth(Auth::new("digest", "somebody:secret"));
    let other = Client::connect(&server.connect_string(), options).expect("a server");
    other.nodes().create("/open/private", b"hidden", CreateMode::Persistent).expect("free");
    other.nodes().create("/open/private/below", b"", CreateMode::Persistent).expect("free");
    let ended = run(&server, &["tree", "/open"]);
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
    assert_eq!(ended.out.lines().count(), 3, "{ended:?}");
    assert!(ended.out.contains("(denied)") && !ended.out.contains("hidden"), "{ended:?}");
    let ended = run(&server, &["tree", "--json", "/open"]);
    assert!(ended.out.ends_with(",\n {\"path\":\"/open/private\",\"denied\":true}]\n"), "{ended:?}");
    let ended = run(&server, &["tree", "--auth", "digest:somebody:secret", "/open"]);
    assert!(ended.out.contains("hidden") && ended.out.contains("    below"), "{ended:?}");
}
