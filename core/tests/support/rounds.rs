//! Members of one double barrier, and who of them may go on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use zkrecipes::{Client, DoubleBarrier, Result};

use super::ground::Ground;
use super::{eventually, soon};

pub const PATH: &str = "/barriers/step";
pub const READY: &str = "/barriers/step/ready";
pub const TEN: Duration = Duration::from_secs(10);

pub fn of(client: &Client, parties: usize) -> DoubleBarrier {
    client.double_barrier(PATH, parties, None).expect("valid")
}

pub fn entering(barrier: &DoubleBarrier) -> JoinHandle<Result<()>> {
    let barrier = barrier.clone();
    tokio::spawn(async move { barrier.enter(None).await })
}

pub fn leaving(barrier: &DoubleBarrier) -> JoinHandle<Result<()>> {
    let barrier = barrier.clone();
    tokio::spawn(async move { barrier.leave(None).await })
}

pub async fn done(what: &str, work: JoinHandle<Result<()>>) {
    soon(what, work).await.expect("joined").unwrap_or_else(|error| panic!("{what}: {error:?}"));
}

pub async fn children(client: &Client) -> Vec<String> {
    client.nodes().children(PATH).await.unwrap_or_default()
}

pub async fn count_is(client: &Client, count: usize) {
    soon("so many nodes", async {
        while children(client).await.len() != count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

pub async fn nothing_left(ground: &Ground, client: &Client) {
    count_is(client, 0).await;
    eventually("no watch is left", || ground.watch_count() == 0).await;
}

/// Who has come and who has finished, so that a member that goes on too early is seen.
#[derive(Default)]
pub struct Ledger {
    pub came: AtomicUsize,
    pub finished: AtomicUsize,
    /// A member may be lost inside: then the others need not wait for its end.
    pub may_die: bool,
}

impl Ledger {
    pub async fn round(&self, barrier: &DoubleBarrier, round: usize) -> Result<()> {
        let all = round * barrier.parties();
        self.came.fetch_add(1, Ordering::SeqCst);
        barrier.enter(None).await?;
        assert!(self.came.load(Ordering::SeqCst) >= all, "entered before all had come");
        tokio::task::yield_now().await;
        self.finished.fetch_add(1, Ordering::SeqCst);
        barrier.leave(None).await?;
        let finished = self.finished.load(Ordering::SeqCst);
        assert!(self.may_die || finished >= all, "left before all had finished");
        Ok(())
    }
}
