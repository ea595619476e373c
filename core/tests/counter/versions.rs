//! The counter where the versions of its node run over, as they do after 2,147,483,647 changes and once more at -1, which a
//! write takes for any version.

use std::time::Duration;

use crate::support::{client_with, eventually, nodes_under, server, soon};
use futures_util::future::join_all;
use zkrecipes::{Client, Counter, CounterOptions, CreateMode};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/counters/orders";
const TEN: Duration = Duration::from_secs(10);

async fn counter(server: &Server) -> (Client, Counter) {
    let client = client_with(server, TEN).await;
    let counter = client.counter(PATH, CounterOptions::default()).expect("valid");
    (client, counter)
}

async fn version(client: &Client) -> i32 {
    client.nodes().exists(PATH).await.expect("asked").expect("it is there").version
}

#[tokio::test(flavor = "multi_thread")]
async fn many_count_across_every_end_of_the_versions() {
    let server = server();
    let (onlooker, first) = counter(&server).await;
    first.add(1).await.expect("counted");
    let mut value = 1;
    for begin in [i32::MAX - 3, -6, -2] {
        let crowd = join_all((0..4).map(|_| counter(&server))).await;
        assert!(server.set_data_version(PATH, begin));
        let count = |counter: Counter| async move {
            for _ in 0..3 {
                counter.add(1).await.expect("counted");
            }
        };
        soon("all have counted", join_all(crowd.iter().map(|(_, counter)| count(counter.clone())))).await;
        value += 12;
        assert_eq!(first.get().await.expect("read"), value, "from version {begin}");
        assert_ne!(version(&onlooker).await, -1);
    }
    assert!(version(&onlooker).await >= 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_comes_late_undoes_nothing_where_every_version_is_taken_for_the_right_one() {
    let server = server();
    let ((late, counts_late), (_early, counts_early)) = (counter(&server).await, counter(&server).await);
    counts_early.add(10).await.expect("counted");
    // Somebody else's library has led it there.
    assert!(server.set_data_version(PATH, -1));
    let slow =
        server.inject(Fault::delay_request("multi", Duration::from_secs(2)).session(late.session_id()));
    let counting = tokio::spawn(async move { counts_late.add(1).await });
    eventually("it has read, and writes", || server.fault_fired(slow)).await;
    assert_eq!(soon("the sum", counts_early.add(100)).await.expect("counted"), 110);
    assert_eq!(soon("the sum", counting).await.expect("joined").expect("counted"), 111);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_also_there() {
    for begin in [-2, -1] {
        let server = server();
        let (client, counts) = counter(&server).await;
        client.nodes().ensure("/counters").await.expect("made");
        client.nodes().create(PATH, &7_i64.to_be_bytes(), CreateMode::Persistent).await.expect("made");
        assert!(server.set_data_version(PATH, begin));
        for fault in [Fault::drop_before("multi"), Fault::drop_after("multi")] {
            let lost = server.inject(fault);
            let before = counts.get().await.expect("read");
            assert_eq!(soon("the sum", counts.add(1)).await.expect("counted"), before + 1, "from {begin}");
            assert!(server.fault_fired(lost));
        }
        drop(client);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_more_stays_only_where_others_led_to_that_version() {
    for (begin, stay) in [(-2, 0), (-1, 1)] {
        let server = server();
        let (client, counts) = counter(&server).await;
        counts.add(1).await.expect("counted");
        assert!(server.set_data_version(PATH, begin));
        counts.add(1).await.expect("counted");
        client.close(None).await.expect("closed");
        assert_eq!(nodes_under(&server, PATH).len(), stay, "from {begin}");
    }
}
