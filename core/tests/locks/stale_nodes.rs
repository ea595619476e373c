//! What others left behind or made others wait for: adopted nodes, missed predecessors, unconfirmed releases.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, lock_of, options, server, soon};
use futures_util::FutureExt;
use zkrecipes::{Client, CreateMode, ErrorKind, Naming, State};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/leftovers";
const TEN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_session_is_never_adopted_whatever_its_name() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        lock_of(&a, PATH).acquire().await.expect("free").release().await.expect("released");
        ground.clear_log();
        let fault = ground.inject(Fault::drop_before("create2").session(a.session_id()));
        ground.inject(Fault::refuse_connections(1).forever());
        let acquiring = tokio::spawn(lock_of(&a, PATH).acquire());
        eventually("the create is lost", || ground.fault_fired(fault)).await;
        // Under the very name that was asked for, but somebody else's.
        let asked = ground.requests_of(&a, "create2").remove(0).path;
        let name = asked.rsplit('/').next().expect("a name");
        let (nodes, path) = (b.nodes(), format!("{PATH}/{name}"));
        let theirs = nodes.create(&path, b"", CreateMode::EphemeralSequential).await.expect("created");
        ground.clear_faults();
        let held = soon("the acquire", acquiring).await.expect("joined").expect("the lock");
        assert_ne!(held.node(), theirs);
        let stat = a.nodes().exists(held.node()).await.expect("asked").expect("it stands");
        assert_eq!(stat.ephemeral_owner as u64, a.session_id());
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_withdraws_while_its_path_is_made_leaves_no_path() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        b.nodes().ensure(PATH).await.expect("made");
        let path = format!("{PATH}/withdrawn");
        let is_made = || async { b.nodes().exists(&path).await.expect("asked").is_some() };
        // No collector takes what never had a child.
        ground.inject(Fault::delay_reply("createContainer", Duration::from_secs(2)).path(&path));
        let acquiring = tokio::spawn(lock_of(&a, &path).acquire());
        soon("the path", async { while !is_made().await {} }).await;
        acquiring.abort();
        soon("the end of it", async { while is_made().await {} }).await;
    }
}

/// What looks for a node whose creation got no answer asks the quorum first. Ahead of the creation that would prove nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_node_of_a_dropped_acquire_is_looked_for_behind_its_creation_however_little_may_leave() {
    let server = server();
    // Only the way of the client breaks.
    let way = Ground::real(server.connect_string(), String::new());
    let client = way.client_with(options(TEN).max_in_flight(1)).await;
    let lock = lock_of(&client, PATH);
    lock.acquire().await.expect("free").release().await.expect("released");
    way.inject(Fault::refuse_connections(1).forever());
    way.break_connections();
    eventually("it has no connection", || client.state() != State::Connected).await;
    let nodes = client.nodes();
    let mut filling = Box::pin(nodes.create("/first", b"", CreateMode::Persistent));
    assert!((&mut filling).now_or_never().is_none(), "what comes next has to wait for its answer");
    assert!(Box::pin(lock.acquire()).now_or_never().is_none(), "begun and dropped");
    server.clear_log();
    way.clear_faults();
    let asked = |op: &str, of: &dyn Fn(&str) -> bool| {
        server.log().iter().position(|entry| entry.op == op && of(&entry.path))
    };
    let order = || {
        let created = asked("create2", &|path| path.starts_with(&format!("{PATH}/")));
        created.zip(asked("multi", &|path| path == PATH))
    };
    eventually("both have left", || order().is_some()).await;
    let (created, settled) = order().expect("both have left");
    assert!(created < settled, "{:?}", server.log());
    soon("the first", filling).await.expect("it is new");
    Ground::Embedded(server).assert_nothing_left(PATH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_handle_of_the_same_session_is_never_adopted() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        let fault = ground.inject(Fault::drop_after("create2"));
        let second = tokio::spawn(lock_of(&client, PATH).acquire());
        eventually("the answer is lost", || ground.fault_fired(fault)).await;
        eventually("it has found its own node and waits", || ground.watch_count() == 2).await;
        assert!(held.is_held() && !second.is_finished());
        held.release().await.expect("released");
        let second = soon("its turn", second).await.expect("joined").expect("the lock");
        assert_ne!(second.node(), held.node());
        second.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

/// Long enough between two attempts for a test to act.
fn unhurried() -> zkrecipes::ClientOptions {
    let mut options = options(TEN);
    options.retry.base = Duration::from_secs(2);
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_is_applied_after_it_was_given_up_does_not_stand_in_its_own_way() {
    for ground in grounds() {
        let (a, b) = (ground.client_with(unhurried()).await, ground.client(TEN).await);
        lock_of(&a, PATH).acquire().await.expect("free").release().await.expect("released");
        ground.clear_log();
        let fault = ground.inject(Fault::drop_before("create2").session(a.session_id()));
        let acquiring = tokio::spawn(lock_of(&a, PATH).acquire());
        eventually("the create is lost", || ground.fault_fired(fault)).await;
        eventually("it is looked for", || !ground.requests_of(&a, "getEphemerals").is_empty()).await;
        // What a deposed leader had only written down, the new one applies: under the name that was asked for, in the
        // same session.
        let asked = ground.requests_of(&a, "create2").remove(0).path;
        let name = asked.rsplit('/').next().expect("a name");
        let late = a.nodes().create(&format!("{PATH}/{name}"), b"", CreateMode::EphemeralSequential).await;
        let late = late.expect("created");
        assert!(!acquiring.is_finished());
        let held = soon("the acquire", acquiring).await.expect("joined").expect("the lock");
        assert_eq!(held.node(), late, "the first of the two is kept");
        eventually("the other one goes", || ground.nodes_under(PATH) == [late.clone()]).await;
        held.verify().await.expect("it stands");
        let next = tokio::spawn(lock_of(&b, PATH).acquire());
        held.release().await.expect("released");
        soon("the next turn", next).await.expect("joined").expect("free").release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_that_are_applied_after_they_were_given_up_take_no_room() {
    for ground in grounds() {
        // The next attempt is answered, or its answer is lost as well, or it finds its names taken.
        for (naming, is_lost_again) in
            [(Naming::Curator, false), (Naming::Curator, true), (Naming::Kazoo, false)]
        {
            let client = ground.client_with(unhurried().naming(naming)).await;
            apply_late(&ground, &client, naming, is_lost_again).await;
        }
    }
}

async fn apply_late(ground: &Ground, client: &Client, naming: Naming, is_lost_again: bool) {
    let (path, leases, mode) = match naming {
        Naming::Kazoo => (format!("{PATH}-k"), format!("{PATH}-k"), CreateMode::Ephemeral),
        _ => (PATH.to_owned(), format!("{PATH}/leases"), CreateMode::EphemeralSequential),
    };
    let permits = || async { client.nodes().children(&leases).await.expect("listed").len() };
    let semaphore = client.semaphore(&path, 2).expect("valid");
    semaphore.acquire(2).await.expect("free").release().await.expect("released");
    ground.clear_log();
    let taking = format!("**{leases}/*");
    let fault = ground.inject(Fault::drop_before("multi").path(&taking));
    let acquiring = tokio::spawn(semaphore.acquire(2));
    eventually("the transaction is lost", || ground.fault_fired(fault)).await;
    let lists = || ground.lists_of(client).into_iter().filter(|entry| entry.path.ends_with(&leases)).count();
    // Once to see whether there is room, and once to look for them.
    eventually("they are looked for", || lists() >= 2).await;
    let lost = ground.requests_of(client, "multi").into_iter();
    let asked =
        lost.map(|entry| entry.parts).find(|parts| parts.iter().any(|(_, path)| is_below(path, &leases)));
    let late = client.nodes().transaction();
    for (_, asked) in asked.expect("permits").iter().filter(|(_, path)| is_below(path, &leases)) {
        let name = asked.rsplit('/').next().expect("a name");
        late.create(&format!("{leases}/{name}"), b"", mode).expect("valid");
    }
    late.commit().await.expect("created");
    assert!(!acquiring.is_finished());
    assert_eq!(permits().await, 2);
    let again = is_lost_again.then(|| ground.inject(Fault::drop_after("multi").path(&taking)));
    let held = soon("the permits", acquiring).await.expect("joined").expect("free");
    assert_eq!(held.permits(), 2);
    assert!(again.is_none_or(|again| ground.fault_fired(again)));
    let until = std::time::Instant::now() + crate::support::SOON;
    while permits().await != 2 {
        assert!(std::time::Instant::now() < until, "what is too much stays");
    }
    held.verify().await.expect("they stand");
    held.release().await.expect("released");
    ground.assert_nothing_left(PATH).await;
    assert_eq!(permits().await, 0);
}

fn is_below(path: &str, parent: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(above, _)| above.ends_with(parent))
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_of_which_somebody_deleted_some_are_given_back_before_others_are_taken() {
    for ground in grounds() {
        let (a, b) = (ground.client_with(unhurried()).await, ground.client(TEN).await);
        let semaphore = a.semaphore(PATH, 2).expect("valid");
        semaphore.acquire(2).await.expect("free").release().await.expect("released");
        let leases = format!("{PATH}/leases");
        ground.clear_log();
        // The permits are created, the answer is lost, and before anybody looks for them one is gone.
        let lost = ground.inject(Fault::drop_after("multi").path("**/leases/**"));
        ground.inject(Fault::stall_connections(Duration::from_secs(2)));
        let acquiring = tokio::spawn(semaphore.acquire(2));
        eventually("the answer is lost", || ground.fault_fired(lost)).await;
        let created = b.nodes().children(&leases).await.expect("listed");
        assert_eq!(created.len(), 2);
        b.nodes().delete(&format!("{leases}/{}", created[0]), None).await.expect("deleted");
        let held = soon("the permits", acquiring).await.expect("joined").expect("free");
        held.verify().await.expect("they stand");
        let session = a.session_id();
        let log: Vec<_> = ground.log().into_iter().filter(|entry| entry.session_id == session).collect();
        let taken = |entry: &zkrecipes_embedded::LogEntry| {
            entry.parts.iter().any(|(op, path)| op.starts_with("create") && path.contains("-lease-"))
        };
        let last_taken = log.iter().rposition(taken).expect("taken again");
        let given_back =
            log.iter().position(|entry| entry.op == "delete" && entry.path.ends_with(&created[1]));
        assert!(given_back.is_some_and(|at| at < last_taken), "{log:?}");
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_lets_go_does_not_wait_for_itself() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = Arc::new(lock_of(&a, PATH).acquire().await.expect("free"));
        let asked = held.clone();
        held.on_revoke(move || asked.release_in_background().expect("it is held"));
        assert!(lock_of(&b, PATH).revoke(None, None).await.expect("asked"));
        let next = soon("the turn", lock_of(&b, PATH).acquire()).await.expect("let go");
        assert!(!held.is_held());
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_predecessor_that_goes_before_it_is_watched_is_not_waited_for() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        // It has seen the holder in the list; its watches arrive after the release.
        let slow = Fault::delay_request("getData", Duration::from_millis(200)).session(b.session_id());
        let fault = ground.inject(slow);
        let waiter = tokio::spawn(lock_of(&b, PATH).acquire());
        eventually("its watches are on their way", || ground.fault_fired(fault)).await;
        held.release().await.expect("released");
        let next = soon("the turn", waiter).await.expect("joined").expect("the lock");
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_cannot_be_confirmed_says_so_and_goes_on() {
    for ground in grounds() {
        let mut options = options(TEN);
        options.retry.give_up_after = Some(Duration::from_secs(1));
        let a = ground.client_with(options).await;
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        ground.go_away();
        let error = soon("the release", held.release()).await.expect_err("nobody can confirm it");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        assert!(!held.is_held(), "let go all the same");
        assert_eq!(held.release().await.expect_err("once").kind(), ErrorKind::NotHeld);
        ground.come_back();
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_try_at_once_no_more_succeed_than_there_are_permits() {
    for ground in grounds() {
        let inside = Arc::new(AtomicUsize::new(0));
        let got = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for _ in 0..6 {
            let client = ground.client(TEN).await;
            let (inside, got) = (inside.clone(), got.clone());
            tasks.push(tokio::spawn(async move {
                let semaphore = client.semaphore(PATH, 2).expect("valid");
                for _ in 0..15 {
                    let Some(held) = semaphore.try_acquire(1).await.expect("asked") else { continue };
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 2, "three of two permits");
                    got.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    held.release().await.expect("released");
                }
            }));
        }
        for task in tasks {
            soon("the work", task).await.expect("joined");
        }
        assert!(got.load(Ordering::SeqCst) > 0, "somebody succeeds");
        ground.assert_nothing_left(&format!("{PATH}/leases")).await;
        ground.assert_nothing_left(&format!("{PATH}/locks")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_waits_also_while_the_server_is_away() {
    for ground in grounds() {
        let (a, b) =
            (ground.client(Duration::from_secs(40)).await, ground.client(Duration::from_secs(40)).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let waiter = tokio::spawn(lock_of(&b, PATH).acquire());
        eventually("it waits", || ground.watch_count() == 2).await;
        ground.go_away();
        b.close_in_background();
        let error = soon("the wait", waiter).await.expect("joined").map(drop).expect_err("closed");
        assert_eq!(error.kind(), ErrorKind::Closed);
        ground.come_back();
        eventually("its node goes", || ground.nodes_under(PATH) == [held.node()]).await;
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_whose_requests_are_lost_goes_on_until_one_is_not() {
    for ground in grounds() {
        let mut options = options(TEN);
        options.retry.give_up_after = Some(Duration::from_secs(1));
        let a = ground.client_with(options).await;
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        ground.inject(Fault::drop_before("delete").session(a.session_id()).forever());
        let error = soon("the release", held.release()).await.expect_err("nobody can confirm it");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        // One may still be under way from the call itself, and no more.
        let sent = ground.requests_of(&a, "delete").len();
        eventually("it is asked for again", || ground.requests_of(&a, "delete").len() > sent + 2).await;
        ground.clear_faults();
        ground.assert_nothing_left(PATH).await;
    }
}
