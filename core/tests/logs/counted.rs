//! What metrics tell of queues and partitions.

use std::time::Duration;

use crate::support::{client_with, server, soon};
use zkrecipes::{Error, Nack, PutOptions, QueueOptions};

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_items_is_counted() -> Result<(), Error> {
    let server = server();
    let client = client_with(&server, Duration::from_secs(10)).await;
    let queue = client.queue("/queues/items", QueueOptions::default().max_attempts(2))?;
    queue.put_many(&["one", "two", "three"]).await?;
    for _ in ["it is put", "it was put before"] {
        queue.put_with(b"four", PutOptions::default().key("the-fourth")).await?;
    }
    let counted = || {
        let all = client.metrics();
        [all.puts, all.gets, all.claims, all.acks, all.nacks, all.dead_letters, all.work.count]
    };
    assert_eq!(counted(), [4, 0, 0, 0, 0, 0, 0]);
    assert_eq!(queue.get().await?, b"one");
    let item = soon("an item", queue.claim()).await?;
    assert_eq!(counted(), [4, 1, 1, 0, 0, 0, 0]);
    item.ack().await?;
    assert!(item.ack().await.is_err(), "it is done");
    assert_eq!(counted(), [4, 1, 1, 1, 0, 0, 1]);
    for attempt in 1..=2 {
        let item = soon("it again", queue.claim()).await?;
        item.nack_with(Nack::default().delay(Duration::ZERO)).await?;
        assert_eq!(counted(), [4, 1, 1 + attempt, 1, attempt, attempt / 2, 1 + attempt]);
    }
    // Given back, and nobody has failed.
    soon("the last", queue.claim()).await?.release().await?;
    assert_eq!(counted(), [4, 1, 4, 1, 2, 1, 4]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_come_and_go_are_counted() -> Result<(), Error> {
    let server = server();
    let client = client_with(&server, Duration::from_secs(10)).await;
    let counted = || {
        let all = client.metrics();
        (all.partitions, all.partitions_won, all.partitions_moved)
    };
    let imports = client.partitioner("/partitions/counted", 2, Default::default())?;
    let first = soon("a partition", imports.next(None)).await?;
    let second = soon("the other one", imports.next(None)).await?;
    assert_eq!(counted(), (2, 2, 0));
    let other = client_with(&server, Duration::from_secs(10)).await;
    let neighbour = other.partitioner("/partitions/counted", 2, Default::default())?;
    let (asks, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let listening: Vec<_> = [&first, &second]
        .into_iter()
        .map(|partition| {
            let (asks, name) = (asks.clone(), partition.name().to_owned());
            partition.on_revoke(move || drop(asks.send(name.clone())))
        })
        .collect();
    let (moved, won) = tokio::join!(
        async {
            let name = soon("one is asked for", asked.recv()).await.expect("it listens");
            let moved = if name == first.name() { &first } else { &second };
            assert_eq!(counted(), (2, 2, 1));
            moved.release().await.map(|()| name)
        },
        soon("it moves", neighbour.next(None)),
    );
    assert_eq!(won?.name(), moved?);
    assert_eq!(counted(), (1, 2, 1));
    drop(listening);
    for kept in [&first, &second] {
        let _ = kept.release().await;
    }
    imports.leave().await?;
    assert_eq!(counted().0, 0);
    Ok(())
}
