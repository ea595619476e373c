//! The end of the sequence numbers, for everything that queues: up to, across and long after 2147483647.
//!
//! There the server's counter stops, so that suffixes repeat; creates that are in flight together show negatives in
//! between. What came first is then told by the czxid alone.
//!
//! The embedded server can be put there in no time. `range.py` puts a real one there and names it in `ZKR_RANGE`.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::ground::Ground;
use crate::support::{eventually, lock_of, options, server, soon};
use futures_util::future::join_all;
use tokio::sync::mpsc::unbounded_channel;
use zkrecipes::{Client, CreateMode, Error, ErrorKind, Held, LockOptions};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/locks/range";
const TEN: Duration = Duration::from_secs(10);
const SIZE: usize = 3;
const LAST: i32 = i32::MAX;

/// What a contender wants.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Want {
    Lock,
    Read,
    Write,
    /// So many of three permits.
    Permits(usize),
    /// Two locks as one, named in the one order or the other.
    Both {
        backwards: bool,
    },
    /// A lock that is passed on in memory at most this often.
    HandedOn(u32),
}

type Asking = Pin<Box<dyn Future<Output = Result<Held, Error>> + Send>>;

impl Want {
    fn ask(self, client: &Client) -> Asking {
        let of = |name: &str| lock_of(client, &format!("{PATH}/{name}"));
        match self {
            Want::Lock => Box::pin(lock_of(client, PATH).acquire()),
            Want::Read => Box::pin(client.read_write_lock(PATH).expect("valid").read().acquire()),
            Want::Write => Box::pin(client.read_write_lock(PATH).expect("valid").write().acquire()),
            Want::Permits(n) => Box::pin(client.semaphore(PATH, SIZE).expect("valid").acquire(n)),
            Want::Both { backwards } => {
                let mut locks = [of("a"), of("b")];
                if backwards {
                    locks.reverse();
                }
                Box::pin(client.multi_lock(&locks).expect("valid").acquire())
            }
            Want::HandedOn(local_handoff) => {
                let options = LockOptions::default().local_handoff(local_handoff);
                Box::pin(client.lock(PATH, options).expect("valid").acquire())
            }
        }
    }

    /// The nodes that number their children for it; contenders queue under the first.
    fn parents(self) -> Vec<String> {
        match self {
            Want::Permits(_) => vec![format!("{PATH}/locks"), format!("{PATH}/leases")],
            Want::Both { .. } => vec![format!("{PATH}/a"), format!("{PATH}/b")],
            _ => vec![PATH.to_owned()],
        }
    }

    fn excludes(self, other: Want) -> bool {
        (self, other) != (Want::Read, Want::Read)
    }
}

/// A world whose parents are near the end, or can be put there: embedded, and real if there is one.
fn worlds() -> Vec<Ground> {
    static USED: AtomicUsize = AtomicUsize::new(0);
    let mut worlds = vec![Ground::Embedded(server())];
    if let Ok(upstream) = std::env::var("ZKR_RANGE") {
        let chroot = format!("/range-{:03}", USED.fetch_add(1, Ordering::SeqCst));
        worlds.push(Ground::real(upstream, chroot));
    }
    worlds
}

fn each<T: Copy>(kinds: impl IntoIterator<Item = T>) -> Vec<(T, Ground)> {
    kinds.into_iter().flat_map(|kind| worlds().into_iter().map(move |world| (kind, world))).collect()
}

/// The next contenders of this kind get these numbers. A real server counts on by itself from where it was put.
fn number_next(ground: &Ground, want: Want, next: i32) {
    let Ground::Embedded(server) = ground else { return };
    for parent in want.parents() {
        assert!(server.set_next_sequence(&parent, next), "{parent} is there");
    }
}

fn queued(ground: &Ground, want: Want) -> usize {
    ground.nodes_under(&want.parents()[0]).len()
}

async fn make_parents(client: &Client, want: Want) {
    // Taking it once makes every node it needs, and the lasting one with a semaphore's size.
    want.ask(client).await.expect("free").release().await.expect("released");
}

async fn assert_nothing_left(ground: &Ground, want: Want) {
    for parent in want.parents() {
        ground.assert_nothing_left(&parent).await;
    }
}

/// Who is inside, by their own word: finds those who should not be there together.
#[derive(Default)]
struct Room {
    inside: Mutex<Vec<(Want, u64)>>,
    last: Mutex<Vec<(Want, (u64, u32))>>,
}

impl Room {
    fn enter(&self, want: Want, held: &Held) {
        assert!(held.is_held());
        let mut inside = self.inside.lock().expect("inside");
        let pair = (held.fencing_token(), held.passes());
        if let Want::Permits(n) = want {
            let taken: usize = inside.iter().map(|(other, _)| other.permits()).sum();
            assert!(taken + n <= SIZE, "{taken} of {SIZE} permits and {n} more");
        } else {
            let clash = inside.iter().find(|(other, _)| want.excludes(*other));
            assert_eq!(clash, None, "inside together with {want:?}");
        }
        let mut last = self.last.lock().expect("last");
        for (other, before) in last.iter() {
            // Permits that fit beside each other may get here in any order.
            let in_order = match (want, other) {
                (Want::Permits(n), Want::Permits(others)) => n + others > SIZE,
                _ => want.excludes(*other),
            };
            assert!(!in_order || *before < pair, "{want:?} with {pair:?} after {other:?} with {before:?}");
        }
        last.retain(|(other, _)| *other != want);
        last.push((want, pair));
        inside.push((want, held.fencing_token()));
    }

    fn leave(&self, want: Want, held: &Held) {
        let mut inside = self.inside.lock().expect("inside");
        let who = (want, held.fencing_token());
        let at = inside.iter().position(|other| *other == who).expect("it is inside");
        inside.swap_remove(at);
    }
}

impl Want {
    fn permits(self) -> usize {
        if let Want::Permits(n) = self { n } else { 0 }
    }
}

const KINDS: [&[Want]; 6] = [
    &[Want::Lock],
    &[Want::Write],
    &[Want::Read, Want::Write, Want::Read],
    &[Want::Permits(2), Want::Permits(3)],
    &[Want::Both { backwards: false }, Want::Both { backwards: true }],
    &[Want::HandedOn(2)],
];

/// The last numbers of the range, the first and others behind it, and what the counter shows for ever after.
const NUMBERS: [i32; 9] = [LAST - 1, LAST, i32::MIN, LAST, -7, LAST, i32::MIN + 1, -1, LAST];

#[tokio::test(flavor = "multi_thread")]
async fn who_queues_one_after_the_other_is_served_in_that_order() {
    for (wants, ground) in each(KINDS.into_iter().filter(|wants| !wants.contains(&Want::Read))) {
        let first = ground.client(TEN).await;
        let want = wants[0];
        make_parents(&first, want).await;
        number_next(&ground, want, LAST - 2);
        let held = want.ask(&first).await.expect("free");
        let (sender, mut order) = unbounded_channel();
        let room = Arc::new(Room::default());
        for (place, number) in NUMBERS.into_iter().enumerate() {
            let (want, client) = (wants[place % wants.len()], ground.client(TEN).await);
            number_next(&ground, want, number);
            // Who holds permits has no place any more, once that is deleted; who holds anything else has one.
            let before = place + usize::from(want.permits() == 0);
            eventually("those before it queue", || queued(&ground, want) == before).await;
            let (sender, room) = (sender.clone(), room.clone());
            tokio::spawn(async move {
                let held = want.ask(&client).await.expect("the turn");
                room.enter(want, &held);
                let _ = sender.send(place);
                tokio::time::sleep(Duration::from_millis(2)).await;
                room.leave(want, &held);
                held.release().await.expect("released");
            });
            eventually("it queues", || queued(&ground, want) == before + 1).await;
        }
        held.release().await.expect("released");
        for expected in 0..NUMBERS.len() {
            assert_eq!(soon("the next turn", order.recv()).await, Some(expected), "{wants:?}");
        }
        assert_nothing_left(&ground, want).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_and_writers_that_queue_one_after_the_other_keep_their_order() {
    use Want::{Read, Write};
    for ground in worlds() {
        let first = ground.client(TEN).await;
        make_parents(&first, Write).await;
        number_next(&ground, Write, LAST - 2);
        let held = Write.ask(&first).await.expect("free");
        let queue = [Read, Read, Write, Read, Write, Write, Read, Read, Read];
        let room = Arc::new(Room::default());
        let (sender, mut order) = unbounded_channel();
        let mut leave = Vec::new();
        for (place, (want, number)) in queue.into_iter().zip(NUMBERS).enumerate() {
            let client = ground.client(TEN).await;
            number_next(&ground, want, number);
            let (sender, room) = (sender.clone(), room.clone());
            let (may_leave, told_to_leave) = tokio::sync::oneshot::channel::<()>();
            leave.push(Some(may_leave));
            tokio::spawn(async move {
                let held = want.ask(&client).await.expect("the turn");
                room.enter(want, &held);
                let _ = sender.send(place);
                let _ = told_to_leave.await;
                room.leave(want, &held);
                held.release().await.expect("released");
            });
            eventually("it queues", || queued(&ground, want) == place + 2).await;
        }
        held.release().await.expect("released");
        for group in [0..2, 2..3, 3..4, 4..5, 5..6, 6..9] {
            let mut inside = Vec::new();
            for _ in group.clone() {
                inside.push(soon("the next group", order.recv()).await.expect("one of it"));
            }
            inside.sort_unstable();
            assert!(inside.iter().copied().eq(group.clone()), "{inside:?} instead of {group:?}");
            // Those behind them have nothing to hope for yet.
            assert!(order.try_recv().is_err(), "only {group:?} may be inside");
            for place in group {
                drop(leave[place].take());
            }
        }
        assert_nothing_left(&ground, Write).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn creates_in_flight_together_are_served_by_their_transactions() {
    use Want::{Read, Write};
    for (wants, ground) in each([
        &[Want::Lock; 6][..],
        &[Read, Write, Read, Read, Write, Read],
        &[Write, Write, Read, Write, Write, Read],
        &[Want::Both { backwards: true }; 6],
    ]) {
        let (a, b, c) = (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
        make_parents(&a, wants[0]).await;
        number_next(&ground, wants[0], LAST - 2);
        let first = if wants[0] == Read { Write } else { wants[0] };
        let held = first.ask(&a).await.expect("free");
        let room = Arc::new(Room::default());
        let (sender, mut entered) = unbounded_channel();
        for client in [&a, &b, &c] {
            // Polled together, the requests of one client leave together.
            let asked: Vec<_> = wants.iter().map(|want| want.ask(client)).collect();
            let (room, sender) = (room.clone(), sender.clone());
            tokio::spawn(join_all(asked.into_iter().zip(wants).map(move |(asked, &want)| {
                let (room, sender) = (room.clone(), sender.clone());
                async move {
                    let held = asked.await.expect("the turn");
                    room.enter(want, &held);
                    let _ = sender.send((want, held.node().to_owned()));
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    room.leave(want, &held);
                    held.release().await.expect("released");
                }
            })));
        }
        drop(sender);
        let all = wants.len() * 3;
        eventually("all queue", || queued(&ground, wants[0]) == all + 1).await;
        let parent = &wants[0].parents()[0];
        let mut names = ground.nodes_under(parent);
        names.retain(|name| name != held.node());
        let suffixes: Vec<_> = names.iter().map(|name| &name[name.len() - 11..]).collect();
        // A create that overtakes nobody gets the last number again; one that is in flight beside others may get a negative one.
        let is_past_the_end =
            |suffix: &&&str| suffix.ends_with("2147483647") || suffix.starts_with("-2147483");
        assert!(suffixes.iter().filter(is_past_the_end).count() > 1, "the end was not passed: {suffixes:?}");
        let mut by_czxid = Vec::new();
        for name in names {
            let stat = a.nodes().exists(&name).await.expect("asked").expect("it waits");
            by_czxid.push((stat.czxid, name));
        }
        by_czxid.sort_unstable();
        let place_of = |node: &str| by_czxid.iter().position(|(_, name)| name == node).expect("it queued");
        held.release().await.expect("released");
        let mut order = Vec::new();
        for _ in 0..all {
            let (want, node) = soon("the next turn", entered.recv()).await.expect("somebody");
            order.push((want, place_of(&node)));
        }
        for (at, (later, place)) in order.iter().enumerate() {
            for (earlier, before) in &order[..at] {
                assert!(!later.excludes(*earlier) || before < place, "{later:?} overtook: {order:?}");
            }
        }
        assert_nothing_left(&ground, wants[0]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rush_across_the_end_and_long_after_it_keeps_exclusion_and_rising_tokens() {
    let shared: &[Want] = &[Want::Permits(1), Want::Permits(2), Want::Permits(1)];
    for (wants, ground) in each(KINDS.into_iter().chain([shared])) {
        let room = Arc::new(Room::default());
        let first = ground.client(TEN).await;
        make_parents(&first, wants[0]).await;
        for start in [LAST - 4, LAST] {
            number_next(&ground, wants[0], start);
            let mut tasks = Vec::new();
            for _ in 0..3 {
                let client = ground.client(TEN).await;
                for number in 0..4 {
                    let (client, room, want) = (client.clone(), room.clone(), wants[number % wants.len()]);
                    tasks.push(tokio::spawn(async move {
                        for _ in 0..6 {
                            let held = want.ask(&client).await.expect("the turn");
                            room.enter(want, &held);
                            // Long enough to be found inside by whoever should not be there.
                            tokio::time::sleep(Duration::from_millis(1)).await;
                            room.leave(want, &held);
                            match number % 2 {
                                0 => held.release().await.expect("released"),
                                _ => held.release_in_background().expect("released"),
                            }
                        }
                    }));
                }
            }
            for task in tasks {
                soon("the work", task).await.unwrap_or_else(|error| panic!("{wants:?}: {error}"));
            }
            assert_nothing_left(&ground, wants[0]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_at_the_end_of_the_range_cannot_downgrade_and_one_before_it_can() {
    // Exactly these numbers: only the embedded server can be told.
    let ground = Ground::Embedded(server());
    let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
    make_parents(&a, Want::Write).await;
    let lock = a.read_write_lock(PATH).expect("valid");
    number_next(&ground, Want::Write, LAST);
    let writing = lock.write().acquire().await.expect("free");
    let error = writing.downgrade().await.map(drop).expect_err("there is no number for it");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    writing.verify().await.expect("write is held all the same");
    writing.release().await.expect("released");
    assert_nothing_left(&ground, Want::Write).await;

    number_next(&ground, Want::Write, LAST - 1);
    let writing = lock.write().acquire().await.expect("free");
    let other = tokio::spawn(Want::Write.ask(&b));
    eventually("the other queues", || queued(&ground, Want::Write) == 2).await;
    let reading = writing.downgrade().await.expect("downgraded");
    let late = b.read_write_lock(PATH).expect("valid");
    assert!(late.read().try_acquire().await.expect("asked").is_none(), "the other writer is ahead");
    assert!(!other.is_finished());
    reading.release().await.expect("released");
    soon("the other", other).await.expect("joined").expect("the lock").release().await.expect("released");
    assert_nothing_left(&ground, Want::Write).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contender_whose_node_goes_while_it_asks_for_the_order_queues_again() {
    for (want, ground) in each([Want::Lock, Want::Write]) {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        // A real server is put a few numbers before the end.
        for _ in 0..10 {
            make_parents(&a, want).await;
        }
        number_next(&ground, want, LAST);
        let held = want.ask(&a).await.expect("free");
        // It has the list, which names us both, and asks for the czxids that make the order.
        let delay = Duration::from_millis(400);
        let slow = ground.inject(Fault::delay_request("exists", delay).session(b.session_id()));
        let waiting = tokio::spawn(want.ask(&b));
        eventually("it asks for the order", || ground.fault_fired(slow)).await;
        let ours = ground.nodes_under(PATH).into_iter().find(|node| !held.node().ends_with(node.as_str()));
        a.nodes().delete(&ours.expect("it queues"), None).await.expect("deleted");
        held.release().await.expect("released");
        let held = soon("its turn", waiting).await.expect("joined").expect("the turn");
        held.verify().await.expect("a node that stands");
        held.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_that_looks_again_while_those_next_ahead_leave_still_sees_who_holds() {
    for (want, ground) in each([Want::Lock, Want::Write]) {
        let holder = ground.client(TEN).await;
        for _ in 0..10 {
            make_parents(&holder, want).await;
        }
        number_next(&ground, want, LAST);
        let held = want.ask(&holder).await.expect("free");
        let (mut waiting, mut nodes) = (Vec::new(), ground.nodes_under(PATH));
        // The first watches its own node and the one ahead, and all others the two ahead.
        for watches in [2, 3, 3] {
            let (client, before) = (ground.client(TEN).await, ground.watch_count());
            waiting.push((client.clone(), tokio::spawn(want.ask(&client))));
            eventually("it waits", || ground.watch_count() == before + watches).await;
            nodes.extend(
                ground.nodes_under(PATH).into_iter().filter(|node| !nodes.contains(node)).collect::<Vec<_>>(),
            );
        }
        let (last, third) = waiting.pop().expect("three");
        // It asks in which order those ahead came. Some go before it hears that.
        let delay = Duration::from_millis(400);
        let slow = ground.inject(Fault::delay_request("exists", delay).session(last.session_id()));
        let node = nodes.last().expect("it queues");
        holder.nodes().set(node, b"__REVOKE__", None).await.expect("asked to let go");
        eventually("it asks for the order", || ground.fault_fired(slow)).await;
        waiting.iter().for_each(|(_, one)| one.abort());
        let own = held.node().rsplit('/').next().expect("a name");
        let watches_the_holder =
            || ground.requests_of(&last, "getData").iter().any(|entry| entry.path.ends_with(own));
        eventually("it has looked", || third.is_finished() || watches_the_holder()).await;
        assert!(!third.is_finished(), "{want:?}: somebody else holds");
        held.verify().await.expect("held all the while");
        held.release().await.expect("released");
        soon("its turn", third).await.expect("joined").expect("the turn").release().await.expect("released");
        assert_nothing_left(&ground, want).await;
    }
}

/// Who is first and in doubt of its session looks again and again. Nobody can come before it any more.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_first_past_the_end_asks_for_the_order_once() {
    let server = Server::builder()
        .tick(Duration::from_millis(100))
        .max_session_timeout(Duration::from_secs(2))
        .start()
        .expect("a free port");
    let ground = Ground::Embedded(server);
    let (want, holder) = (Want::Lock, ground.client(TEN).await);
    make_parents(&holder, want).await;
    number_next(&ground, want, LAST);
    let held = want.ask(&holder).await.expect("free");
    // With so slow a tick for its session it is certain for as long as that lasts from its beginning, and never after.
    let doubtful = ground.client_with(options(TEN).server_tick(TEN / 2)).await;
    let other = lock_of(&doubtful, "/locks/other").acquire().await.expect("free");
    let asking = tokio::spawn(want.ask(&doubtful));
    eventually("it queues", || queued(&ground, want) == 2).await;
    let ahead = ground.nodes_under(PATH);
    let last = ground.client(TEN).await;
    let behind = tokio::spawn(want.ask(&last));
    eventually("another one queues", || queued(&ground, want) == 3).await;
    let behind_it = ground.nodes_under(PATH).into_iter().find(|node| !ahead.contains(node)).expect("one");
    eventually("it is in doubt", || !other.is_held()).await;
    held.release().await.expect("released");
    let looks = || ground.lists_of(&doubtful).iter().filter(|list| list.path == PATH).count();
    let before = looks();
    eventually("it looks again and again", || looks() >= before + 4).await;
    let asked = ground.requests_of(&doubtful, "exists");
    assert_eq!(asked.iter().filter(|entry| entry.path == behind_it).count(), 1, "{asked:?}");
    asking.abort();
    behind.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_near_the_end_begins_its_numbers_anew_when_it_is_empty() {
    for ground in worlds() {
        let client = ground.client(TEN).await;
        // On a real server the numbers of this one are nearly used up, too, and nothing else is below it.
        let want = Want::Both { backwards: false };
        for parent in want.parents() {
            client.nodes().ensure(&parent).await.expect("made");
        }
        number_next(&ground, want, LAST - 6);
        let path = &*want.parents()[0];
        let old = format!("{path}/qn-");
        client.nodes().create(&old, b"old", CreateMode::PersistentSequential).await.expect("made");
        let queue = client.queue(path, Default::default()).expect("valid");
        queue.put(b"late").await.expect("nobody has said that the end is near");
        // From now on it says so, also to those who have put nothing.
        let said = format!("{path}-__queue__/numbers");
        let is_said = async {
            while client.nodes().exists(&said).await.expect("an answer").is_none() {
                tokio::task::yield_now().await;
            }
        };
        soon("it says so", is_said).await;
        let other = ground.client(TEN).await;
        let of_another = other.queue(path, Default::default()).expect("valid");
        for queue in [&queue, &of_another] {
            let error =
                queue.put_timeout(b"", Duration::ZERO).await.expect_err("it would say nothing of the order");
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        }
        let putting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.put_many(&["early", "next"]).await }
        });
        for expected in ["old", "late", "early", "next"] {
            assert_eq!(soon("a get", queue.get()).await.expect("there are some"), expected.as_bytes());
        }
        putting.await.expect("joined").expect("there are numbers");
        client.nodes().create(&old, b"", CreateMode::PersistentSequential).await.expect("made");
        assert_eq!(client.nodes().children(path).await.expect("listed"), ["qn-0000000002"]);
    }
}
