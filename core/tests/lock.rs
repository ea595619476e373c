//! The lock's promises, against the embedded server with its request log.

use std::time::Duration;

use zkrecipes::{Client, ClientOptions, ErrorKind, LockOptions};
use zkrecipes_embedded::Server;

type TestResult = Result<(), Box<dyn std::error::Error>>;

async fn client(server: &Server) -> Client {
    Client::connect(&server.connect_string(), ClientOptions::default()).await.expect("the server answers")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_lock_costs_one_create_and_one_list_and_a_release_one_delete() -> TestResult {
    let server = Server::start()?;
    let client = client(&server).await;
    let lock = client.lock("/locks/a", LockOptions::default())?;
    lock.acquire().await?.release().await?;
    server.clear_log();
    let held = lock.acquire().await?;
    assert!(held.is_held());
    held.release().await?;
    let ops: Vec<_> = server.log().iter().map(|entry| entry.op).filter(|op| *op != "ping").collect();
    assert_eq!(ops, ["create2", "getChildren", "delete"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_gets_the_lock_when_it_is_released() -> TestResult {
    let server = Server::start()?;
    let (a, b) = (client(&server).await, client(&server).await);
    let held = a.lock("/locks/a", LockOptions::default())?.acquire().await?;
    let waiter = tokio::spawn({
        let lock = b.lock("/locks/a", LockOptions::default())?;
        async move { lock.acquire().await }
    });
    assert!(server.wait_for(|entry| entry.op == "getData", Duration::from_secs(5)));
    let first = held.fencing_token();
    held.release().await?;
    let second = waiter.await??;
    assert!(second.fencing_token() > first);
    let timeout =
        a.lock("/locks/a", LockOptions::default())?.acquire_timeout(Duration::from_millis(50)).await;
    assert_eq!(timeout.map(|_| ()).map_err(|e| e.kind()), Err(ErrorKind::Timeout));
    Ok(())
}
