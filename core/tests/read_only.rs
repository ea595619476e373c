//! A client that may read from a server without quorum goes on with a session of its own once there is one again.

mod support;

use std::time::Duration;

use support::{eventually, lock_of, options, server, soon};
use zkrecipes::Client;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_only_read_is_replaced_when_the_server_writes_again() {
    let server = server();
    server.set_read_only(true);
    // For longer than anything here waits: a session that is left behind is seen.
    let options = options(Duration::from_secs(60)).read_only(true);
    let client = Client::connect(&server.connect_string(), options).await.expect("it may read");
    client.nodes().exists("/").await.expect("it reads");
    let local = client.session_id();
    server.set_read_only(false);
    server.drop_connections();

    let held = soon("the lock", lock_of(&client, "/locks/a").acquire()).await.expect("it is free");
    assert_ne!(client.session_id(), local);
    // The embedded server remembers the local session until its timeout.
    let sessions = || server.sessions().into_iter().filter(|id| *id != local).collect::<Vec<_>>();
    // What the connection opened by itself, before it was known that the local session is over, is closed.
    eventually("one session, and the client knows it", || sessions() == [client.session_id()]).await;
    let stat = client.nodes().exists(held.node()).await.expect("it reads").expect("it is there");
    assert_eq!(stat.ephemeral_owner as u64, client.session_id());
    eventually("the lease of that session", || held.is_held()).await;
    held.release().await.expect("released");
    client.close(None).await.expect("closed");
    eventually("no session is left", || sessions().is_empty()).await;
}
