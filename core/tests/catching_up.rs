//! After a reconnection the server may lag behind what its predecessor has told: what decides is read after a `sync`.

mod support;

use std::time::Duration;

use support::ground::grounds;
use support::{lock_of, soon};
use zkrecipes::CreateMode;
use zkrecipes_embedded::Fault;

const PATH: &str = "/limits/caught";
const TEN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn permits_are_counted_by_a_server_that_knows_what_the_last_holder_took() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let semaphore = client.semaphore(PATH, 1).expect("valid");
        semaphore.acquire(1).await.expect("free").release().await.expect("released");
        ground.clear_log();
        semaphore.acquire(1).await.expect("free").release().await.expect("released");
        assert_eq!(ground.count("sync", PATH), 0, "one connection all the while tells everything in order");

        let fault = ground.inject(Fault::drop_before("*").path("**/leases"));
        let held = soon("a permit", semaphore.acquire(1)).await.expect("free");
        assert!(ground.fault_fired(fault));
        assert!(ground.count("sync", PATH) > 0, "the new server has to catch up first");
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_holder_reads_first_is_as_new_as_its_lock() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().create("/record", b"", CreateMode::Persistent).await.expect("created");
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        ground.clear_log();
        client.nodes().get("/record").await.expect("there");
        assert_eq!(ground.count("sync", "/record"), 0);
        let fault = ground.inject(Fault::drop_before("*").path("**/else/where"));
        assert_eq!(client.nodes().exists("/else/where").await.expect("asked again"), None);
        assert!(ground.fault_fired(fault));
        assert!(ground.count("sync", "/else") > 0, "the new server has to catch up first");
        held.release().await.expect("released");
    }
}
