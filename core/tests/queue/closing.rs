//! What is under way when a client closes, or when nobody waits for it any more.

use super::support::{client, eventually, nodes_under, server, soon};
use super::{PATH, assert_tidy, multi_is_applied_and_then_nothing_is_heard, queue_of};

#[tokio::test(flavor = "multi_thread")]
async fn closing_loses_no_item_whose_removal_has_lost_its_answer() {
    for (has_mark, is_dropped) in [(false, true), (true, true), (true, false)] {
        let server = server();
        let (closing, other) = (client(&server).await, client(&server).await);
        let queue = queue_of(&closing);
        if has_mark {
            queue_of(&other).put(b"first").await.expect("put");
            queue.get().await.expect("there is one");
        }
        queue_of(&other).put(b"one").await.expect("put");
        multi_is_applied_and_then_nothing_is_heard(&server, &closing);
        let getting = tokio::spawn(async move { queue.get().await });
        eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
        if is_dropped {
            getting.abort();
        }
        closing.close_in_background();
        server.clear_faults();
        soon("closing", closing.close(None)).await.expect("closed");
        let _ = soon("the get", getting).await;
        let left = queue_of(&other).items().await.expect("read");
        assert_eq!(left, [b"one"], "a mark stood: {has_mark}, nobody waited: {is_dropped}");
        assert_tidy(&server).await;
    }
}
