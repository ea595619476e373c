//! A client over a session of the crate zookeeper-client, which belongs to the application.

mod support;

use std::time::Duration;

use support::{eventually, lock_of, server, soon};
use zkrecipes::{Auth, Client, ClientOptions, CreateMode, ErrorKind, GroupOptions, State};
use zkrecipes_embedded::Server;

async fn session(server: &Server) -> zookeeper_client::Client {
    let connector = zookeeper_client::Client::connector().with_session_timeout(Duration::from_secs(10));
    connector.connect(&format!("{}/app", server.connect_string())).await.expect("a session")
}

async fn over(session: &zookeeper_client::Client) -> Client {
    Client::over(session.clone(), ClientOptions::default()).await.expect("it lives")
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_client_takes_what_it_made_and_leaves_the_session() {
    let server = server();
    let session = session(&server).await;
    let client = over(&session).await;
    let held = lock_of(&client, "/locks/a").acquire().await.expect("free");
    assert_eq!(client.session_id(), session.session_id().0 as u64);
    client.group("/group", GroupOptions::default()).expect("valid").join("me", b"").await.expect("joined");
    let list = zookeeper_client::Acls::anyone_all();
    let own = zookeeper_client::CreateMode::Ephemeral.with_acls(list);
    session.create("/own", b"", &own).await.expect("created");
    client.close(None).await.expect("closed");
    assert!(!held.is_held());
    assert_eq!(session.list_ephemerals("/").await.expect("listed"), ["/own"]);
    // Another client has the lock at once.
    let next = over(&session).await;
    let held = soon("the lock", lock_of(&next, "/locks/a").acquire()).await.expect("free");
    held.release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_has_ended_is_told_and_is_not_replaced() {
    let server = server();
    let session = session(&server).await;
    let client = over(&session).await;
    let held = lock_of(&client, "/locks/a").acquire().await.expect("free");
    server.expire(client.session_id());
    soon("the loss", held.lost()).await;
    eventually("it is lost", || client.state() == State::Lost).await;
    let refused = async {
        loop {
            match client.nodes().exists("/locks").await {
                Err(error) if error.kind() == ErrorKind::Closed => return error,
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    assert!(soon("the answer", refused).await.to_string().contains("new client"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_to_the_connection_is_noticed() {
    let server = server();
    let session = session(&server).await;
    let client = over(&session).await;
    let held = lock_of(&client, "/locks/a").acquire().await.expect("free");
    server.drop_connections();
    eventually("it is in touch again", || client.metrics().reconnections == 1).await;
    assert!(held.is_held());
    client.nodes().create("/after", b"", CreateMode::Ephemeral).await.expect("created");
    held.release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_a_connection_are_refused() {
    let server = server();
    let session = session(&server).await;
    let options = ClientOptions::default().auth(Auth::new("digest", "me:secret"));
    let error = Client::over(session, options).await.map(drop).expect_err("it is connected");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("auth") && !error.to_string().contains("secret"), "{error}");
}
