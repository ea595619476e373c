//! The same for all kinds of queues, for bounds, and for what is done together with its effects: whatever happens to any
//! request, nothing is lost or doubled, what answers Timeout or Cancelled does not go in, and an item is gone exactly if
//! its effect is there.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::lost_requests::befall;
use super::support::ground::{Ground, ground};
use super::support::mishap::{MISHAPS, Mishap, Sweep};
use super::support::{SOON, eventually, soon};
use super::{Any, Kind, PATH, TEN};
use zkrecipes::{Client, CreateMode, Error, ErrorKind, Item};

const KINDS: [Kind; 5] = [Kind::Plain, Kind::Priority, Kind::Delay, Kind::Shards, Kind::Bounded(4)];
/// How long a put waits for room that nobody makes.
const FULL: Duration = Duration::from_millis(40);

/// What became of the items, as far as their users were told.
#[derive(Default, Debug)]
struct Ledger {
    put: Vec<String>,
    /// Those that may be in, and those that must not.
    doubtful: Vec<String>,
    refused: Vec<String>,
    got: Vec<String>,
    /// Done for certain together with their effect, and perhaps.
    done: Vec<String>,
    perhaps_done: Vec<String>,
    /// How many may have been taken that nobody has.
    lost: usize,
}

impl Ledger {
    fn was_put(&mut self, item: &str, outcome: &Result<(), Error>) {
        self.doubtful.retain(|other| other != item);
        let list = match outcome.as_ref().map_err(Error::kind) {
            Ok(()) => &mut self.put,
            Err(ErrorKind::Timeout | ErrorKind::Cancelled) => &mut self.refused,
            Err(_) => &mut self.doubtful,
        };
        list.push(item.to_owned());
    }
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

fn effect(path: &str, item: &str) -> String {
    format!("{path}-effects/{item}")
}

async fn finish(client: &Client, path: &str, item: &Item) -> Result<(), Error> {
    let effects = client.nodes().transaction();
    effects.create(&effect(path, &text(item.data())), b"", CreateMode::Persistent)?;
    item.ack_with(&effects).await
}

async fn work(client: Client, queue: Any, path: String, kind: Kind, ledger: Arc<Mutex<Ledger>>) {
    let note = |change: &dyn Fn(&mut Ledger)| change(&mut ledger.lock().expect("no panic"));
    let more: &[_] = if matches!(kind, Kind::Bounded(_)) { &["d", "e"] } else { &["d"] };
    for &item in more {
        note(&|ledger| ledger.doubtful.push(item.to_owned()));
        let put = queue.put_within(item, if item == "e" { FULL } else { TEN }).await;
        note(&|ledger| ledger.was_put(item, &put));
    }
    match queue.backlog().get().await {
        Ok(data) => note(&|ledger| ledger.got.push(text(&data))),
        Err(error) if error.kind() == ErrorKind::ConnectionLost => note(&|ledger| ledger.lost += 1),
        Err(_) => {}
    }
    if let Ok(item) = queue.backlog().claim().await {
        let _ = item.nack().await;
    }
    if let Ok(item) = queue.backlog().claim().await {
        let name = text(item.data());
        note(&|ledger| ledger.perhaps_done.push(name.clone()));
        let done = finish(&client, &path, &item).await;
        note(&|ledger| match &done {
            Ok(()) => ledger.done.push(name.clone()),
            Err(error) if error.kind() == ErrorKind::ConnectionLost => {}
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::NotHeld | ErrorKind::Cancelled), "{error}");
                ledger.perhaps_done.retain(|other| *other != name);
            }
        });
    }
}

/// Puts, gets, claims, gives back and acknowledges with effects, with a mishap at request `k`; false when there was no such
/// request.
async fn meet(ground: &Ground, kind: Kind, mishap: Mishap, k: u64) -> bool {
    let what = format!("{kind:?}, {mishap:?} at request {k}");
    let (client, other) = (ground.client(mishap.session_timeout()).await, ground.client(TEN).await);
    let path = format!("{PATH}-{mishap:?}-{k}");
    let (queue, rest) = (Any::of(kind, &client, &path), Any::of(kind, &other, &path));
    other.nodes().ensure(&format!("{path}-effects")).await.expect("made");
    let first = ["a", "b", "c"];
    for item in first {
        rest.put_within(item, TEN).await.expect("put");
    }
    let ledger = Ledger { put: first.map(str::to_owned).to_vec(), ..Ledger::default() };
    let ledger = Arc::new(Mutex::new(ledger));
    let session = client.session_id();
    let fault = ground.inject(mishap.fault().session(session).nth(k));
    let work = tokio::spawn(work(client.clone(), queue.clone(), path.clone(), kind, ledger.clone()));
    let (fired, ended) =
        befall(ground, mishap, fault, session, work, || queue.backlog().cancel(), &what).await;
    let is_dropped = ended.is_err();
    if let Err(join) = ended {
        assert!(join.is_cancelled(), "{what}: {join}");
    }
    soon(&what, client.close(Some(SOON))).await.expect("closed");
    let mut left = Vec::new();
    // What a session that has not ended yet has claimed comes when it has.
    while soon(&what, rest.backlog().len()).await.expect("looked") > 0 {
        let item = soon(&what, rest.backlog().claim()).await.expect("all that is there can be claimed");
        left.push(text(item.data()));
        soon(&what, item.ack()).await.expect("ours");
    }
    let effects = other.nodes().children(&format!("{path}-effects")).await.expect("listed");
    let ledger = ledger.lock().expect("no panic");
    let told = format!("{what}: {ledger:?}, then {left:?}, effects {effects:?}");
    let mut seen: Vec<_> = ledger.got.iter().chain(&effects).chain(&left).cloned().collect();
    seen.sort();
    let mut unique = seen.clone();
    unique.dedup();
    assert_eq!(seen, unique, "nothing twice, and what has an effect is gone: {told}");
    assert!(ledger.done.iter().all(|item| effects.contains(item)), "what is done has its effect: {told}");
    assert!(effects.iter().all(|item| ledger.perhaps_done.contains(item)), "no other has one: {told}");
    let missing = ledger.put.iter().filter(|item| !seen.contains(item)).count();
    // A get that is dropped in the moment of its answer takes nothing along: it was told, or it goes back.
    assert!(missing <= ledger.lost, "nothing is lost: {told}");
    let mut must_not = ledger.refused.iter().chain(ledger.doubtful.iter().filter(|_| is_dropped));
    assert!(must_not.all(|item| !seen.contains(item)), "what is refused does not go in: {told}");
    let known = |item: &&String| ledger.put.contains(item) || ledger.doubtful.contains(item);
    assert!(seen.iter().all(|item| known(&item)), "nothing else: {told}");
    fired
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mishap_at_any_request_to_any_kind_of_queue_loses_nothing_and_doubles_nothing() {
    // Each in a world of its own and all at once: most of the time goes by waiting for sessions and connections.
    let mut sweeps = Vec::new();
    for (nth, kind) in KINDS.into_iter().enumerate() {
        for mishap in MISHAPS {
            sweeps.push(tokio::spawn(async move {
                let ground = ground();
                let mut sweep = Sweep::in_part(mishap, nth);
                while let Some(k) = sweep.next()
                    && meet(&ground, kind, mishap, k).await
                {}
                sweep.expect(8, &format!("{kind:?}, {mishap:?}"));
                let is_claim = |node: &String| node.contains("/claims/");
                eventually("no claim is left", || !ground.nodes_under("/queues").iter().any(is_claim)).await;
                eventually("no watch is left", || ground.watch_count() == 0).await;
            }));
        }
    }
    for sweep in sweeps {
        sweep.await.expect("met and survived");
    }
}
