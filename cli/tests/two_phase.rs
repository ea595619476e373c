//! `zkrecipes 2pc`.

mod support;

use std::time::Duration;

use support::{assert_nothing_left, cells, run, server};
use zkrecipes::blocking::Client;
use zkrecipes::{ClientOptions, CommitMode, CreateMode, Outcome};

const PATH: &str = "/payments";
const LONG: Duration = Duration::from_secs(600);

#[test]
fn transactions_are_shown_as_they_go_on() {
    let server = server();
    assert_eq!(run(&server, &["2pc", "ls", "--json", PATH]).out, "[]\n");
    let none = run(&server, &["2pc", "show", PATH, "p-1"]);
    assert_eq!((none.status, none.out.as_str()), (1, ""));
    assert!(none.err.contains("p-1"), "{none:?}");

    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let payments = client.two_phase_commit(PATH, CommitMode::default()).expect("a path");
    let bank = client.two_phase_commit(PATH, CommitMode::default()).expect("a path");
    bank.join("bank").expect("free");
    let transaction = payments.begin("p-1", &["bank", "shop"], b"100 EUR", LONG).expect("new");
    bank.next(None).expect("one").vote_commit().expect("in time");

    let listed = run(&server, &["2pc", "ls", PATH]);
    let mut row = cells(&listed.out).remove(0);
    assert!(row.remove(2).ends_with('s'), "its age: {listed:?}");
    assert_eq!(row.join(" "), "p-1 open 1/2 0/2 present", "{listed:?}");
    let shown = run(&server, &["2pc", "show", PATH, "p-1"]);
    for part in
        ["outcome      open", "payload      100 EUR", "bank  yes      yes    no", "shop  no       no     no"]
    {
        assert!(shown.out.contains(part), "{part}: {shown:?}");
    }
    let json = run(&server, &["2pc", "show", "--json", PATH, "p-1"]);
    assert!(json.out.starts_with("{\"id\":\"p-1\",\"outcome\":null,"), "{json:?}");
    assert!(json.out.contains("\"payload\":\"100 EUR\""), "{json:?}");
    assert!(
        json.out.contains("{\"site\":\"bank\",\"present\":true,\"voted\":true,\"done\":false}"),
        "{json:?}"
    );

    let decided = run(&server, &["2pc", "decide", "--reason", "the shop is shut", PATH, "p-1", "abort"]);
    assert_eq!((decided.status, decided.out.as_str()), (0, "abort\n"));
    assert_eq!(transaction.outcome(None).expect("decided"), Outcome::Abort);
    let shown = run(&server, &["2pc", "show", PATH, "p-1"]);
    assert!(shown.out.contains("reason       the shop is shut"), "{shown:?}");
    client.close(None).expect("a server");
    assert_nothing_left(&server, PATH);
}

#[test]
fn what_is_committed_stays_committed() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let payments = client.two_phase_commit(PATH, CommitMode::default()).expect("a path");
    payments.join("bank").expect("free");
    let transaction = payments.begin("p-1", &["bank"], b"", LONG).expect("new");
    payments.next(None).expect("one").vote_commit().expect("in time");
    assert_eq!(transaction.outcome(None).expect("decided"), Outcome::Commit);
    let decided = run(&server, &["2pc", "decide", PATH, "p-1", "abort"]);
    assert_eq!((decided.status, decided.out.as_str()), (1, "commit\n"), "{decided:?}");
    assert_eq!(run(&server, &["2pc", "decide", PATH, "p-2", "abort"]).status, 1);
    client.close(None).expect("a server");
}

/// A later version has written it, or somebody who uses the path for something else.
#[test]
fn of_a_transaction_that_is_not_understood_the_list_says_why() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    client.nodes().ensure(&format!("{PATH}/transactions")).expect("made");
    let odd = format!("{PATH}/transactions/odd");
    client.nodes().create(&odd, b"10.0.0.7", CreateMode::Persistent).expect("made");
    let listed = run(&server, &["2pc", "ls", PATH]);
    assert!(cells(&listed.out)[0].join(" ").starts_with("odd unknown"), "{listed:?}");
    assert!(listed.err.contains("odd is unknown: what it says is not understood"), "{listed:?}");
    client.close(None).expect("a server");
}
