//! The partitions that are assigned to this member: it queues for each, hands it to whoever asks, and lets go of it when it is
//! assigned to somebody else.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;

use super::assignment::Assignment;
use super::sharing::Sharing;
use crate::error::{Error, ErrorKind, Result};
use crate::futures::unless;
use crate::mutex::lock;
use crate::options::LockOptions;
use crate::session::Session;
use crate::session::skipped_nodes::Flaw;
use crate::turn::hold::Tenure;

type Tending = Pin<Box<dyn Future<Output = (usize, Result<()>)> + Send>>;

pub(super) struct Turns {
    sharing: Arc<Sharing>,
    /// By partition that is tended, whether it is assigned to us.
    assigned: BTreeMap<usize, watch::Sender<bool>>,
    tended: FuturesUnordered<Tending>,
}

impl Turns {
    pub(super) fn new(sharing: &Arc<Sharing>) -> Turns {
        Turns { sharing: sharing.clone(), assigned: BTreeMap::new(), tended: FuturesUnordered::new() }
    }

    /// What is assigned to us is ours from now on, as soon as its turn is, and what is not is to be let go of.
    pub(super) fn follow(&mut self, assignment: &Assignment) {
        for partition in 0..self.sharing.partitions.len() {
            let is_ours = assignment.member(partition) == Some(&self.sharing.member.name);
            match self.assigned.get(&partition) {
                Some(assigned) => {
                    assigned.send_if_modified(|was| std::mem::replace(was, is_ours) != is_ours);
                }
                None if is_ours => self.begin(partition),
                None => {}
            }
        }
    }

    fn begin(&mut self, partition: usize) {
        let (assigned, is_ours) = watch::channel(true);
        self.assigned.insert(partition, assigned);
        let sharing = self.sharing.clone();
        self.tended.push(Box::pin(async move { (partition, tend(&sharing, partition, is_ours).await) }));
    }

    /// Resolves with what trying again cannot help.
    pub(super) async fn tend(&mut self) -> Error {
        loop {
            match self.tended.next().await {
                Some((partition, Ok(()))) => {
                    let was = self.assigned.remove(&partition);
                    if was.is_some_and(|assigned| *assigned.borrow()) {
                        self.begin(partition);
                    }
                }
                Some((_, Err(error))) => return error,
                None => std::future::pending().await,
            }
        }
    }

    pub(super) async fn until_all_let_go(&mut self) {
        while self.tended.next().await.is_some() {}
    }
}

/// Keeps one partition for as long as it is ours.
async fn tend(sharing: &Sharing, partition: usize, mut is_ours: watch::Receiver<bool>) -> Result<()> {
    let session = sharing.client.session()?;
    let turn = sharing.client.lock(&sharing.path_of(partition), LockOptions::default())?;
    let mut pause = sharing.pause();
    while *is_ours.borrow_and_update() {
        let Some(won) = unless(turn.acquire(), until_not(&mut is_ours)).await else { break };
        let held = match won {
            Ok(held) => held,
            Err(error) => {
                let path = turn.path();
                // That is this one's access list, or a quota, or an ephemeral node in its place, which somebody may change: the others
                // go on.
                let is_news = match error.kind() {
                    ErrorKind::ConnectionLost => true,
                    ErrorKind::Denied | ErrorKind::Invalid => {
                        session.is_first_time(&format!("not won {path}"))
                    }
                    _ => return Err(error),
                };
                if error.kind() == ErrorKind::Denied {
                    session.skip(path, Flaw::Denied);
                }
                if is_news {
                    tracing::warn!(target: "zkrecipes", event = "partition_not_won", path, %error, "a partition could not be queued for; trying again");
                }
                unless(pause.pass(session.clock()), until_not(&mut is_ours)).await;
                continue;
            }
        };
        let (hold, began) = (held.hold().clone(), session.now());
        hold.keep(Box::new(CountedPartition::new(&session)));
        lock(&sharing.won).push_back(held);
        sharing.news.notify_waiters();
        if unless(hold.ended(), until_not(&mut is_ours)).await.is_none() {
            // What nobody works on yet goes at once.
            drop(sharing.withdraw(&hold));
            // Before its owner hears of it, who may look.
            session.counters.partitions_moved.one();
            hold.ask_for_it();
            let drained = session.clock().sleep_until(session.now() + sharing.drain);
            if unless(hold.ended(), drained).await.is_none() {
                hold.take_away();
            }
        }
        drop(sharing.withdraw(&hold));
        if session.now().since(began) > sharing.pause.1 {
            pause.restart();
        }
        if hold.tenure() == Tenure::Released && *is_ours.borrow() {
            // Its owner could not work on it.
            unless(pause.pass(session.clock()), until_not(&mut is_ours)).await;
        }
    }
    Ok(())
}

/// One of the partitions that are held, for the metrics, until the hold of it ends.
struct CountedPartition(Arc<Session>);

impl CountedPartition {
    fn new(session: &Arc<Session>) -> CountedPartition {
        session.counters.partitions.rise();
        session.counters.partitions_won.one();
        CountedPartition(session.clone())
    }
}

impl Drop for CountedPartition {
    fn drop(&mut self) {
        self.0.counters.partitions.fall();
    }
}

/// Resolves when it is somebody else's.
async fn until_not(is_ours: &mut watch::Receiver<bool>) {
    // The sender goes with who tends it.
    drop(is_ours.wait_for(|is_ours| !is_ours).await);
}
