//! A quota that is used up, as real servers enforce it from 3.9 on: each verb says so, and neither leaves anything nor asks on.

use std::time::Duration;

use crate::support::ground::{Ground, ground};
use crate::support::{SOON, eventually, lock_of, soon};
use zkrecipes::{Client, ErrorKind, PutOptions, Queue, QueueOptions, Result};
use zkrecipes_embedded::Fault;

const PATH: &str = "/quotas/path";
const TEN: Duration = Duration::from_secs(10);
/// What asks again without a pause makes thousands of requests in this time.
const WHILE: Duration = Duration::from_millis(200);
const FEW: usize = 20;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Verb {
    Lock,
    Downgrade,
    Permits,
    Both,
    Lead,
    Put,
    PutMany,
    PutWithKey,
    Get,
    Ack,
    Nack,
    Bury,
    Set,
    Update,
    Add,
    Enter,
    Join,
    Bind,
    Raise,
}

const ALL: [Verb; 19] = [
    Verb::Lock,
    Verb::Downgrade,
    Verb::Permits,
    Verb::Both,
    Verb::Lead,
    Verb::Put,
    Verb::PutMany,
    Verb::PutWithKey,
    Verb::Get,
    Verb::Ack,
    Verb::Nack,
    Verb::Bury,
    Verb::Set,
    Verb::Update,
    Verb::Add,
    Verb::Enter,
    Verb::Join,
    Verb::Bind,
    Verb::Raise,
];

impl Verb {
    fn is_of_a_queue(self) -> bool {
        self.needs_an_item() || matches!(self, Verb::Put | Verb::PutMany | Verb::PutWithKey)
    }

    fn needs_an_item(self) -> bool {
        matches!(self, Verb::Get | Verb::Ack | Verb::Nack | Verb::Bury)
    }

    fn queue(self, client: &Client) -> Queue {
        let attempts = if self == Verb::Bury { 1 } else { 16 };
        client.queue(PATH, QueueOptions::default().max_attempts(attempts)).expect("valid")
    }

    async fn work(self, client: &Client) -> Result<()> {
        let queue = self.queue(client);
        match self {
            Verb::Lock => lock_of(client, PATH).acquire().await?.release().await,
            Verb::Downgrade => {
                let writing = client.read_write_lock(PATH)?.write().acquire().await?;
                writing.downgrade().await?.release().await
            }
            Verb::Permits => client.semaphore(PATH, 3)?.acquire(2).await?.release().await,
            Verb::Both => {
                let locks = ["b", "a"].map(|name| lock_of(client, &format!("{PATH}/{name}")));
                client.multi_lock(&locks)?.acquire().await?.release().await
            }
            Verb::Lead => {
                let leadership = client.election(PATH, b"", Default::default())?.campaign().await?;
                leadership.acknowledge(b"ready").await?;
                leadership.release().await
            }
            Verb::Put => queue.put(b"one").await,
            Verb::PutMany => queue.put_many(&["one", "two", "three"]).await,
            Verb::PutWithKey => queue.put_with(b"one", PutOptions::default().key("key")).await,
            Verb::Get => queue.get().await.map(drop),
            Verb::Ack => queue.claim().await?.ack().await,
            Verb::Nack | Verb::Bury => queue.claim().await?.nack().await,
            Verb::Set => client.config(PATH)?.set(b"one", None).await.map(drop),
            Verb::Update => client.config(PATH)?.update(|_| b"one".to_vec()).await.map(drop),
            Verb::Add => client.counter(PATH, Default::default())?.add(1).await.map(drop),
            Verb::Enter => client.double_barrier(PATH, 1, None)?.run(async {}).await,
            Verb::Join => {
                let group = client.group(PATH, Default::default())?;
                group.join("one", b"").await?;
                group.leave().await
            }
            Verb::Bind => {
                let names = client.names(PATH)?;
                names.bind("one", b"", true).await?;
                names.unbind("one").await
            }
            Verb::Raise => {
                let barrier = client.barrier(PATH)?;
                barrier.create().await?;
                barrier.remove().await
            }
        }
    }
}

/// From its `k`-th write on a client finds the quota used up; false if it has not so many.
async fn meet(verb: Verb, k: u64) -> bool {
    let what = format!("{verb:?} without room for write {k}");
    let ground = ground();
    let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
    let (of_it, of_other) = (verb.queue(&client), verb.queue(&other));
    if verb.needs_an_item() {
        of_other.put(b"item").await.expect("there is room");
    }
    let used_up = Fault::answer_quota_exceeded("*").session(client.session_id());
    let used_up = ground.inject(used_up.nth(k).forever());
    let done = soon(&what, verb.work(&client)).await;
    let is_met = ground.fault_fired(used_up);
    assert!(done.is_err() || !is_met || k > 1, "{what}: done all the same");
    if let Err(error) = &done {
        assert_eq!(error.kind(), ErrorKind::Denied, "{what}: {error}");
        assert!(is_met && error.to_string().contains("quota"), "{what}: {error}");
        ground.clear_log();
        tokio::time::sleep(WHILE).await;
        let session = client.session_id();
        let asked = ground.log().iter().filter(|entry| entry.session_id == session).count();
        assert!(asked <= FEW, "{what}: {asked} requests in {WHILE:?}");
        if verb.is_of_a_queue() {
            let stays = if verb.needs_an_item() { 1 } else { error.put().unwrap_or(0) };
            assert_eq!(soon(&what, of_it.len()).await.expect("counted"), stays, "{what}");
        }
    }
    ground.clear_faults();
    if verb.needs_an_item() {
        of_other.put(b"another").await.expect("there is room");
    }
    soon(&format!("{what}, and then"), verb.work(&other)).await.expect(&what);
    client.close(Some(SOON)).await.expect("closed");
    eventually(&format!("nothing is left of {what}"), || ground.nodes_under(PATH).is_empty()).await;
    if let Ground::Embedded(server) = &ground {
        drop((of_other, other.close(Some(SOON)).await));
        let is_mark = |node: &String| node.ends_with("-change");
        eventually(&format!("no mark is left of {what}"), || !server.nodes().iter().any(is_mark)).await;
    }
    is_met
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_that_is_used_up_is_told_and_nothing_is_left() {
    let mut all = Vec::new();
    for verb in ALL {
        all.push(tokio::spawn(async move {
            let mut k = 1;
            while meet(verb, k).await {
                k += 1;
                assert!(k < 30, "{verb:?} writes without end");
            }
            assert!(k > 1, "{verb:?} writes nothing");
        }));
    }
    for verb in all {
        verb.await.expect("met and survived");
    }
}
