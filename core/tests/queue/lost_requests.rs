//! Whatever happens to any request: nothing is lost, and nothing is doubled, beyond what is promised.

use std::sync::{Arc, Mutex};

use super::support::ground::{Ground, ground};
use super::support::mishap::{MISHAPS, Mishap, Sweep};
use super::support::{SOON, eventually, soon};
use super::{PATH, TEN};
use tokio::task::{JoinError, JoinHandle};
use zkrecipes::{ErrorKind, QueueOptions};
use zkrecipes_embedded::FaultId;

/// What happened to the items, as far as their users were told.
#[derive(Default, Debug)]
struct Ledger {
    /// Put for certain, and perhaps.
    put: Vec<String>,
    doubtful: Vec<String>,
    taken: Vec<String>,
    /// How many may have been taken that nobody has.
    lost: usize,
}

/// What the client finds that a mishap happens to.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Queued {
    /// Items are there.
    Before,
    /// It waits for them.
    After,
}

/// Puts, gets, claims, acknowledges and gives back, with a mishap at request `k`; false when there was no such request.
async fn meet(ground: &Ground, queued: Queued, mishap: Mishap, k: u64) -> bool {
    let what = format!("{mishap:?} at request {k}, items put {queued:?}");
    let (client, other) = (ground.client(mishap.session_timeout()).await, ground.client(TEN).await);
    let path = format!("{PATH}-{queued:?}-{mishap:?}-{k}");
    let queue = client.queue(&path, QueueOptions::default()).expect("valid");
    let rest = other.queue(&path, QueueOptions::default()).expect("valid");
    if queued == Queued::Before {
        rest.put_many(&["a", "b", "c"]).await.expect("put");
    }
    let ledger = Arc::new(Mutex::new(Ledger {
        put: ["a", "b", "c"].map(str::to_owned).to_vec(),
        ..Ledger::default()
    }));
    let session = client.session_id();
    let fault = ground.inject(mishap.fault().session(session).nth(k));
    let work = tokio::spawn({
        let (queue, ledger) = (queue.clone(), ledger.clone());
        async move {
            let note = |change: &dyn Fn(&mut Ledger)| change(&mut ledger.lock().expect("no panic"));
            let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
            if queued == Queued::Before {
                note(&|ledger| ledger.doubtful.push("d".into()));
                if queue.put(b"d").await.is_ok() {
                    note(&|ledger| {
                        ledger.doubtful.clear();
                        ledger.put.push("d".into());
                    });
                }
            }
            match queue.get().await {
                Ok(data) => note(&|ledger| ledger.taken.push(text(&data))),
                Err(error) if error.kind() == ErrorKind::ConnectionLost => note(&|ledger| ledger.lost += 1),
                Err(_) => {}
            }
            if let Ok(item) = queue.claim().await {
                let _ = item.nack().await;
            }
            if let Ok(item) = queue.claim().await {
                match item.ack().await {
                    Ok(()) => note(&|ledger| ledger.taken.push(text(item.data()))),
                    Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                        note(&|ledger| ledger.lost += 1)
                    }
                    Err(error) => {
                        assert!(matches!(error.kind(), ErrorKind::NotHeld | ErrorKind::Cancelled), "{error}")
                    }
                }
            }
        }
    });
    if queued == Queued::After {
        let waiting = format!("{path}-__queue__/waiting");
        let waits = || !ground.nodes_under(&waiting).is_empty();
        eventually(&what, || waits() || ground.fault_fired(fault) || work.is_finished()).await;
        rest.put_many(&["a", "b", "c"]).await.expect("put");
    }
    let (fired, ended) = befall(ground, mishap, fault, session, work, || queue.cancel(), &what).await;
    if let Err(join) = ended {
        assert!(join.is_cancelled(), "{what}: {join}");
    }
    // An ack that is on its way goes on.
    let may_lose = usize::from(fired && matches!(mishap, Mishap::CallDropped));
    soon(&what, client.close(Some(SOON))).await.expect("closed");
    let mut found = Vec::new();
    // What a session that has not ended yet has claimed comes when it has.
    while soon(&what, rest.len()).await.expect("looked") > 0 {
        let item = soon(&what, rest.claim()).await.expect("all that is there can be claimed");
        found.push(String::from_utf8_lossy(item.data()).into_owned());
        soon(&what, item.ack()).await.expect("ours");
    }
    let ledger = ledger.lock().expect("no panic");
    let mut seen: Vec<_> = ledger.taken.iter().chain(&found).cloned().collect();
    seen.sort();
    let mut unique = seen.clone();
    unique.dedup();
    assert_eq!(seen, unique, "{what}: nothing twice: {ledger:?}, then {found:?}");
    let missing: Vec<_> = ledger.put.iter().filter(|item| !seen.contains(item)).collect();
    assert!(
        missing.len() <= ledger.lost + may_lose,
        "{what}: {missing:?} is lost: {ledger:?}, then {found:?}"
    );
    if matches!(mishap, Mishap::CallDropped | Mishap::CallCancelled) {
        let may_repeat = |item: &&String| ledger.doubtful.contains(item);
        assert!(!seen.iter().any(|item| may_repeat(&item)), "{what}: {ledger:?}, then {found:?}");
    }
    let known = |item: &&String| ledger.put.contains(item) || ledger.doubtful.contains(item);
    assert!(seen.iter().all(|item| known(&item)), "{what}: {ledger:?}, then {found:?}");
    fired
}

/// Lets a mishap happen to `work`, whose request `fault` is about. Whether it has, and how the work ended.
pub async fn befall<T: Send + 'static>(
    ground: &Ground,
    mishap: Mishap,
    fault: FaultId,
    session: u64,
    work: JoinHandle<T>,
    cancel: impl Fn(),
    what: &str,
) -> (bool, Result<T, JoinError>) {
    eventually(what, || ground.fault_fired(fault) || work.is_finished()).await;
    let fired = ground.fault_fired(fault);
    match mishap {
        Mishap::ReplyLostAndSessionExpired if fired => ground.expire(session).await,
        Mishap::CallDropped if fired => work.abort(),
        Mishap::CallCancelled if fired => cancel(),
        Mishap::ServerRestarted if fired => {
            ground.go_away();
            ground.come_back();
        }
        _ => {}
    }
    ground.clear_faults();
    (fired, soon(what, work).await)
}

async fn a_mishap_at_any_request(queued: Queued) {
    // Each in a world of its own and all at once: most of the time goes by waiting for sessions and connections.
    let sweeps = MISHAPS.map(|mishap| {
        tokio::spawn(async move {
            let ground = ground();
            let mut sweep = Sweep::of(&ground, mishap);
            while let Some(k) = sweep.next()
                && meet(&ground, queued, mishap, k).await
            {}
            // At the least: a put or a wait, the get with its read, two claims with their reads, a nack and an ack.
            sweep.expect(8, &format!("{mishap:?}"));
            // A mark may outlive a client that closes without a session, until somebody collects it.
            let is_claim = |node: &String| node.contains("/claims/");
            eventually("no claim is left", || !ground.nodes_under("/queues").iter().any(is_claim)).await;
            eventually("no watch is left", || ground.watch_count() == 0).await;
        })
    });
    for sweep in sweeps {
        sweep.await.expect("met and survived");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mishap_at_any_request_loses_nothing_and_doubles_nothing() {
    a_mishap_at_any_request(Queued::Before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mishap_at_any_request_of_one_who_waits_loses_nothing_and_doubles_nothing() {
    a_mishap_at_any_request(Queued::After).await;
}

/// Puts so many that it takes several transactions, with a mishap at request `k`; false when there was no such request.
async fn meet_with_many(ground: &Ground, mishap: Mishap, k: u64) -> bool {
    const ALL: usize = 2000;
    let what = format!("{mishap:?} at request {k}");
    let (client, other) = (ground.client(mishap.session_timeout()).await, ground.client(TEN).await);
    let path = format!("{PATH}-many-{mishap:?}-{k}");
    let queue = client.queue(&path, QueueOptions::default()).expect("valid");
    let rest = other.queue(&path, QueueOptions::default()).expect("valid");
    // With a mark that stands, all are sent at once.
    queue.put(b"first").await.expect("put");
    let session = client.session_id();
    let fault = ground.inject(mishap.fault().session(session).nth(k));
    let numbers: Vec<_> = (0..ALL).map(|n| n.to_string()).collect();
    let work = tokio::spawn({
        let (queue, numbers) = (queue.clone(), numbers.clone());
        async move { queue.put_many(&numbers).await }
    });
    let (fired, put) = befall(ground, mishap, fault, session, work, || queue.cancel(), &what).await;
    soon(&what, client.close(Some(SOON))).await.expect("closed");
    let found = rest.items().await.expect("looked");
    let found: Vec<_> = found.iter().map(|data| String::from_utf8_lossy(data).into_owned()).collect();
    assert_eq!(found[0], "first", "{what}");
    assert!(found[1..] == numbers[..found.len() - 1], "{what}: once each, in order: {} of them", found.len());
    match put {
        Ok(Ok(())) => assert_eq!(found.len(), 1 + ALL, "{what}"),
        Ok(Err(error)) => {
            let (told, there) = (error.put().expect("it says how many"), found.len() - 1);
            let is_known = matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Cancelled);
            let is_true = if is_known { told == there } else { told <= there };
            assert!(is_true, "{what}: {error}: {told}, and there are {there}");
        }
        Err(join) => {
            assert!(join.is_cancelled(), "{what}: {join}");
            assert_eq!(found.len(), 1, "{what}: what was put for nobody is taken back");
        }
    }
    fired
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mishap_at_any_request_of_many_that_are_put_keeps_their_order_and_doubles_nothing() {
    let sweeps = MISHAPS.map(|mishap| {
        tokio::spawn(async move {
            let ground = ground();
            let mut sweep = Sweep::of(&ground, mishap);
            while let Some(k) = sweep.next()
                && meet_with_many(&ground, mishap, k).await
            {}
            // Some that there is room for; then three times another look at the room, and some transactions at once.
            sweep.expect(10, &format!("{mishap:?}"));
        })
    });
    for sweep in sweeps {
        sweep.await.expect("met and survived");
    }
}
