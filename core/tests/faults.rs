//! Every request of every recipe, lost, unanswered or cut short, one at a time, until there is none left to hit.
//!
//! Whatever happens: no two who exclude each other, the call ends with what it asked for or a typed error, the recipe
//! works afterwards, and nothing is left in ZooKeeper.

mod support;

use std::pin::Pin;
use std::time::Duration;

use support::ground::{Ground, ground};
use support::mishap::{MISHAPS, Mishap, Sweep};
use support::{SOON, eventually, lock_of, soon};
use zkrecipes::{
    Client, Election, ElectionOptions, Error, ErrorKind, Held, Lock, LockOptions, MultiLock, ReadWriteLock,
    Semaphore, drive,
};

const PATH: &str = "/locks/faults";
const TEN: Duration = Duration::from_secs(10);

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Read,
    Write,
    /// Write, then from writing to reading.
    Downgrade,
    /// Two of three permits.
    Permits,
    Both,
    HandedOn,
    /// It leads, and says that it has begun to.
    Candidate,
}

/// What one owner uses.
#[derive(Clone)]
enum Handle {
    Lock(Lock),
    Sides(ReadWriteLock),
    Permits(Semaphore),
    Both(MultiLock),
    Election(Election),
}

type Working = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl Kind {
    fn of(self, client: &Client) -> Handle {
        let sides = || client.read_write_lock(PATH).expect("valid");
        match self {
            Kind::Plain => Handle::Lock(lock_of(client, PATH)),
            Kind::Read => Handle::Lock(sides().read().clone()),
            Kind::Write => Handle::Lock(sides().write().clone()),
            Kind::Downgrade => Handle::Sides(sides()),
            Kind::Permits => Handle::Permits(client.semaphore(PATH, 3).expect("valid")),
            Kind::Both => {
                let locks = ["b", "a"].map(|name| lock_of(client, &format!("{PATH}/{name}")));
                Handle::Both(client.multi_lock(&locks).expect("valid"))
            }
            Kind::HandedOn => {
                let options = LockOptions::default().local_handoff(2);
                Handle::Lock(client.lock(PATH, options).expect("valid"))
            }
            Kind::Candidate => {
                let election = client.election(PATH, b"", ElectionOptions::default());
                Handle::Election(election.expect("valid"))
            }
        }
    }

    /// Somebody who keeps it waiting.
    async fn rival(self, client: &Client) -> Held {
        let kind = if self == Kind::Read { Kind::Write } else { self };
        kind.of(client).acquire().await.expect("the rival's")
    }
}

impl Handle {
    async fn acquire(&self) -> Result<Held, Error> {
        match self {
            Handle::Lock(lock) => lock.acquire().await,
            Handle::Sides(sides) => sides.write().acquire().await,
            Handle::Permits(semaphore) => semaphore.acquire(2).await,
            Handle::Both(both) => both.acquire().await,
            Handle::Election(election) => Ok(drive::acquire(election, 1, None).await?.hand_over()),
        }
    }

    /// Acquires and releases once.
    fn work(&self) -> Working {
        let handle = self.clone();
        Box::pin(async move {
            let mut held = handle.acquire().await?;
            if let Handle::Sides(_) = &handle {
                held = held.downgrade().await?;
            }
            if let Handle::Election(_) = &handle {
                drive::leadership(held.clone()).acknowledge(b"ready").await?;
            }
            held.release().await
        })
    }

    fn cancel(&self) {
        match self {
            Handle::Lock(lock) => lock.cancel(),
            Handle::Sides(sides) => {
                sides.read().cancel();
                sides.write().cancel();
            }
            Handle::Permits(semaphore) => semaphore.cancel(),
            Handle::Both(both) => both.cancel(),
            Handle::Election(election) => election.cancel(),
        }
    }
}

/// Meets the mishap at request `k` of the work; false when there was no such request.
async fn meet(ground: &Ground, kind: Kind, mishap: Mishap, k: u64, rival: Option<&Client>) -> bool {
    let what = format!("{kind:?}: {mishap:?} at request {k}");
    let client = ground.client(mishap.session_timeout()).await;
    let rival = match rival {
        Some(rival) => Some(kind.rival(rival).await),
        None => None,
    };
    ground.clear_log();
    let session = client.session_id();
    let handle = kind.of(&client);
    let fault = ground.inject(mishap.fault().session(session).nth(k));
    let work = tokio::spawn(handle.work());
    let rival = tokio::spawn({
        let (ground, client) = (ground.clone(), client.clone());
        async move {
            let Some(held) = rival else { return };
            // Until the other waits, or met its mishap.
            eventually("the rival is waited for", || {
                ground.fault_fired(fault) || ground.requests_of(&client, "getData").len() >= 2
            })
            .await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            held.leave(false).await.expect("the rival held all the while");
        }
    });
    eventually(&what, || ground.fault_fired(fault) || work.is_finished()).await;
    let fired = ground.fault_fired(fault);
    if fired {
        match mishap {
            Mishap::ReplyLostAndSessionExpired => ground.expire(session).await,
            Mishap::CallDropped => work.abort(),
            Mishap::CallCancelled => handle.cancel(),
            Mishap::ServerRestarted => {
                ground.go_away();
                ground.come_back();
            }
            _ => {}
        }
    }
    ground.clear_faults();
    match soon(&what, work).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => assert!(
            matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::NotHeld | ErrorKind::ConnectionLost),
            "{what}: {error:?}"
        ),
        Err(join) => assert!(join.is_cancelled(), "{what}: {join}"),
    }
    soon("the rival", rival).await.expect("the rival");
    let again = async {
        // A session that has just expired is noticed at the next request.
        while let Err(error) = handle.work().await {
            assert!(
                matches!(error.kind(), ErrorKind::NotHeld | ErrorKind::ConnectionLost),
                "{what}: {error:?}"
            );
        }
    };
    soon(&what, again).await;
    eventually(&format!("nothing is left after {what}"), || ground.nodes_under(PATH).is_empty()).await;
    eventually(&format!("no watch is left after {what}"), || ground.watch_count() == 0).await;
    client.close(Some(SOON)).await.expect("closed");
    fired
}

async fn sweep(kind: Kind, requests: u64) {
    // Each in a world of its own and all at once: most of the time goes by waiting for sessions and connections.
    let mut sweeps = Vec::new();
    for mishap in MISHAPS {
        for with_rival in [false, true] {
            sweeps.push(tokio::spawn(async move {
                let ground = ground();
                let rival = ground.client(TEN).await;
                let mut sweep = Sweep::of(&ground, mishap);
                while let Some(k) = sweep.next()
                    && meet(&ground, kind, mishap, k, with_rival.then_some(&rival)).await
                {}
                sweep.expect(requests, &format!("{kind:?}: {mishap:?}"));
            }));
        }
    }
    for sweep in sweeps {
        sweep.await.expect("met and survived");
    }
}

// At the least: create, list, delete.

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_survives_a_mishap_at_any_request() {
    sweep(Kind::Plain, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_survives_a_mishap_at_any_request() {
    sweep(Kind::Read, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_survives_a_mishap_at_any_request() {
    sweep(Kind::Write, 3).await;
}

// And the reader's node, and its deletion.
#[tokio::test(flavor = "multi_thread")]
async fn a_downgrade_survives_a_mishap_at_any_request() {
    sweep(Kind::Downgrade, 5).await;
}

// And three reads under the lock, the transaction, and two leases to delete.
#[tokio::test(flavor = "multi_thread")]
async fn a_semaphore_survives_a_mishap_at_any_request() {
    sweep(Kind::Permits, 9).await;
}

// Twice, and the check at the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_multi_lock_survives_a_mishap_at_any_request() {
    sweep(Kind::Both, 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_with_local_hand_off_survives_a_mishap_at_any_request() {
    sweep(Kind::HandedOn, 3).await;
}

// And what is read of the path and written there.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_survives_a_mishap_at_any_request() {
    sweep(Kind::Candidate, 5).await;
}
