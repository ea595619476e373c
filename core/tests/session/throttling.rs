//! A server that has too much to do answers at once that it did nothing. It is asked again, but not at once.

use std::time::Duration;

use crate::support::ground::grounds;
use crate::support::{eventually, lock_of, soon};
use zkrecipes::{Client, Error};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/throttled";
const TEN: Duration = Duration::from_secs(10);
/// With pauses that begin at 10 ms and double, a loop makes some seven attempts in this time; one that does not pause makes
/// thousands.
const WHILE: Duration = Duration::from_millis(800);
const FEW: usize = 120;

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_watch_is_refused_for_now_leaves_the_server_alone() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let fault = ground.inject(Fault::answer_throttled("getData").session(a.session_id()).forever());
        ground.clear_log();
        held.on_lost(|_| {});
        eventually("the watch is refused", || ground.fault_fired(fault)).await;
        tokio::time::sleep(WHILE).await;
        let asked = || ground.requests_of(&a, "getData").len();
        assert!(asked() <= 20, "{} reads in {WHILE:?}", asked());
        eventually("it is asked for again", || asked() > 1).await;
        ground.clear_faults();
        eventually("it watches", || ground.watch_count() == 1).await;
        b.nodes().delete(held.node(), None).await.expect("deleted");
        eventually("the holder knows", || !held.is_held()).await;
        ground.assert_nothing_left(PATH).await;
    }
}

async fn work(client: &Client, kind: usize, path: &str) -> Result<(), Error> {
    match kind {
        0 => lock_of(client, path).acquire().await?.release().await,
        1 => {
            let sides = client.read_write_lock(path)?;
            let writing = sides.write().acquire().await?;
            writing.downgrade().await?.release().await
        }
        2 => client.semaphore(path, 3)?.acquire(2).await?.release().await,
        _ => {
            let locks = ["b", "a"].map(|name| lock_of(client, &format!("{path}/{name}")));
            client.multi_lock(&locks)?.acquire().await?.release().await
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_refused_for_now_is_asked_for_again_after_a_pause() {
    const OPS: [&str; 7] =
        ["create2", "createContainer", "getChildren*", "getData", "exists", "multi", "delete"];
    for ground in grounds() {
        let mut working = Vec::new();
        for op in OPS {
            for kind in 0..4 {
                let what = format!("kind {kind} with {op} refused");
                let path = format!("{PATH}/{}-{kind}", op.trim_end_matches('*'));
                let client = ground.client(TEN).await;
                ground.inject(Fault::answer_throttled(op).session(client.session_id()).forever());
                let work = tokio::spawn({
                    let client = client.clone();
                    async move { work(&client, kind, &path).await }
                });
                working.push((what, client, work));
            }
        }
        ground.clear_log();
        tokio::time::sleep(WHILE).await;
        let log = ground.log();
        for (what, client, _) in &working {
            let own =
                log.iter().filter(|entry| entry.session_id == client.session_id() && entry.op != "ping");
            let asked = own.count();
            assert!(asked <= FEW, "{asked} requests in {WHILE:?}: {what}");
        }
        ground.clear_faults();
        for (what, client, work) in working {
            soon(&what, work).await.expect("joined").expect(&what);
            client.close(Some(crate::support::SOON)).await.expect("closed");
        }
        eventually("nothing is left", || ground.nodes_under(PATH).is_empty()).await;
    }
}
