//! The list of servers is replaced while a client runs.

use std::time::Duration;

use crate::support::{eventually, lock_of, options, soon};
use zkrecipes::{Client, ErrorKind, State};
use zkrecipes_embedded::Server;

const LONG: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_at_a_server_of_the_new_list_with_what_it_holds() {
    let ensemble = Server::builder().start_ensemble(3).expect("free ports");
    let member = |at| ensemble.member(at).expect("of three");
    let client = Client::connect(&format!("{}/app", member(1)), options(LONG)).await.expect("it answers");
    let (session, held) = (client.session_id(), lock_of(&client, "/locks/a").acquire().await.expect("free"));
    // The server is still in the list.
    client.update_hosts(&format!("{},{}/app", member(0), member(1))).expect("a list");
    soon("an answer", client.nodes().exists("/")).await.expect("asked");
    assert_eq!(client.metrics().suspensions, 0, "it stays");

    client.update_hosts(&format!("{},{}/app", member(0), member(2))).expect("a list");
    eventually("it moves", || client.metrics().reconnections == 1).await;
    assert!(ensemble.stop_member(1), "it runs");
    soon("an answer", held.verify()).await.expect("still held");
    assert_eq!((client.session_id(), client.metrics().sessions_lost), (session, 0));

    for (wrong, words) in [
        (format!("{}/other", member(0)), "chroot"),
        (member(0), "chroot"),
        ("zk1:x/app".to_owned(), "port"),
        (",/app".to_owned(), "names no server"),
    ] {
        let error = client.update_hosts(&wrong).expect_err(&wrong);
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains("hosts"), "{error}");
    }
    soon("an answer", held.verify()).await.expect("nothing has changed");
    assert_eq!(client.metrics().suspensions, 1);
    held.release().await.expect("released");
    client.close(None).await.expect("closed");
    let error = client.update_hosts(&format!("{}/app", member(0))).expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_whose_servers_are_gone_finds_the_new_ones() {
    let old = crate::support::server();
    let client = crate::support::client_with(&old, Duration::from_secs(2)).await;
    drop(old);
    eventually("the session is lost", || client.state() == State::Lost).await;
    let new = crate::support::server();
    client.update_hosts(&new.connect_string()).expect("a list");
    let held = soon("the lock", lock_of(&client, "/locks/b").acquire()).await.expect("free");
    assert_eq!(new.sessions(), [client.session_id()]);
    held.release().await.expect("released");
    client.close(None).await.expect("closed");
}
