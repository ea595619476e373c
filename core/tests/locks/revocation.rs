//! Asking for what others hold, and telling others what one holds: exactly the one that is meant.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::support::ground::grounds;
use crate::support::{SOON, eventually, lock_of, options, soon};
use zkrecipes::{
    AclChoice, AclEntry, Auth, Client, CreateMode, ErrorKind, Held, LostReason, Naming, RetryOptions, State,
};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/asking";
const TEN: Duration = Duration::from_secs(10);

fn hears(held: &Held) -> std::sync::mpsc::Receiver<()> {
    let (sender, asked) = channel();
    held.on_revoke(move || _ = sender.send(()));
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_one_who_is_named_is_asked() {
    for ground in grounds() {
        let (a, b, c) = (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let holder = hears(&held);
        let waiter = tokio::spawn(lock_of(&b, PATH).acquire());
        eventually("it waits", || ground.watch_count() == 3).await;
        let of_c = lock_of(&c, PATH);
        let names = of_c.contenders().await.expect("listed");
        assert!(of_c.revoke(Some(&names[1].node), None).await.expect("asked"));
        // The holder's own node is still watched by both, so nothing was written to it.
        held.verify().await.expect("held");
        let data = c.nodes().get(held.node()).await.expect("it stands").0;
        assert_eq!(data, names[0].identity.as_bytes());
        assert!(holder.try_recv().is_err(), "the holder was not meant");
        // By force, too, it is the waiter's node that goes.
        assert!(of_c.revoke(Some(&names[1].node), Some(Duration::ZERO)).await.expect("asked"));
        held.verify().await.expect("held");
        assert!(!of_c.revoke(Some(&names[1].node), None).await.expect("gone"), "there is nobody to ask");
        held.release().await.expect("released");
        let next = soon("the waiter", waiter).await.expect("joined").expect("the lock");
        let next_hears = hears(&next);
        next.verify().await.expect("held");
        assert!(next_hears.try_recv().is_err(), "that was about a place it had lost");
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_holds_is_asked_once_and_who_waits_is_not() {
    for ground in grounds() {
        let (a, b, c) = (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
        let sides = |client: &zkrecipes::Client| client.read_write_lock(PATH).expect("valid");
        let readers = [
            sides(&a).read().acquire().await.expect("free"),
            sides(&b).read().acquire().await.expect("readers share"),
        ];
        let heard: Vec<_> = readers.iter().map(hears).collect();
        let writer = tokio::spawn(sides(&c).write().acquire());
        eventually("the writer waits", || ground.nodes_under(PATH).len() == 3).await;
        let asking = sides(&c);
        assert!(asking.write().revoke(None, None).await.expect("asked"));
        assert!(asking.write().revoke(None, None).await.expect("asked again"));
        for (reader, heard) in readers.iter().zip(&heard) {
            heard.recv_timeout(SOON).expect("every reader holds");
            assert!(reader.is_held());
            reader.verify().await.expect("asking takes nothing away");
            assert!(heard.try_recv().is_err(), "told once");
            reader.release().await.expect("released");
        }
        let writing = soon("the writer", writer).await.expect("joined").expect("the lock");
        let asked = hears(&writing);
        writing.verify().await.expect("held");
        assert!(asked.try_recv().is_err(), "it only waited when the holders were asked");
        writing.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_still_said_who_holds_after_a_request_for_which_nobody_listens() {
    for ground in grounds() {
        let (a, b) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let mut all = Vec::new();
        for path in [PATH, "/locks/asking-too"] {
            let held = lock_of(&a, path).acquire().await.expect("free");
            let asking = lock_of(&b, path);
            let holder = asking.contenders().await.expect("listed").remove(0).identity;
            assert!(asking.revoke(None, None).await.expect("asked"));
            all.push((held, asking, holder));
        }
        for (held, asking, holder) in &all {
            let is_said =
                async { while asking.contenders().await.expect("listed")[0].identity != *holder {} };
            soon("the holder says it again", is_said).await;
            assert!(hears(held).recv_timeout(SOON).is_ok() && held.is_held(), "it was asked");
            held.release().await.expect("released");
        }
        ground.assert_nothing_left("/locks").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_lets_go_in_time_is_not_revoked_by_force() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let asked = hears(&held);
        let lock = lock_of(&b, PATH);
        let revoking = tokio::spawn(async move { lock.revoke(None, Some(SOON)).await });
        asked.recv_timeout(SOON).expect("asked");
        held.release().await.expect("its node was left to it");
        assert!(soon("the revocation", revoking).await.expect("joined").expect("asked"));
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_was_not_asked_first_is_told_deleted_and_not_revoked() {
    for ground in grounds() {
        for ask_first in [false, true] {
            let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
            let held = lock_of(&a, PATH).acquire().await.expect("free");
            let (sender, losses) = channel();
            held.on_lost(move |error| _ = sender.send(error.reason()));
            let asked = hears(&held);
            eventually("its node is watched", || ground.watch_count() == 1).await;
            if ask_first {
                assert!(lock_of(&b, PATH).revoke(None, None).await.expect("asked"));
                asked.recv_timeout(SOON).expect("asked");
            }
            b.nodes().delete(held.node(), None).await.expect("deleted");
            let reason = if ask_first { LostReason::Revoked } else { LostReason::Deleted };
            assert_eq!(losses.recv_timeout(SOON), Ok(Some(reason)));
            ground.assert_nothing_left(PATH).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sequencer_means_one_transaction_and_not_just_a_path() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let (sequencer, node) = (held.sequencer(), held.node().to_owned());
        assert!(b.check_sequencer(&sequencer).await.expect("asked"));
        // Decided by the quorum: a deposed leader answers a sync and reads, but commits no transaction.
        assert_eq!(ground.transactions(&node), 1);
        let watching = tokio::spawn({
            let (b, sequencer) = (b.clone(), sequencer.clone());
            async move { b.watch_sequencer(&sequencer).await }
        });
        eventually("it watches", || ground.watch_count() == 1).await;
        // What happens to the data does not matter.
        assert!(lock_of(&b, PATH).revoke(None, None).await.expect("asked"));
        eventually("it watches again", || ground.watch_count() == 1).await;
        assert!(b.check_sequencer(&sequencer).await.expect("asked"));
        assert!(!watching.is_finished());
        // In one transaction the node goes, and another one of the same name is there.
        let swap = b.nodes().transaction();
        swap.delete(&node, None).expect("valid");
        swap.create(&node, b"another", CreateMode::Ephemeral).expect("valid");
        swap.commit().await.expect("swapped");
        assert!(!b.check_sequencer(&sequencer).await.expect("asked"), "another acquisition");
        soon("the watcher", watching).await.expect("joined").expect("it fired");
        soon("at once", b.watch_sequencer(&sequencer)).await.expect("it no longer stands");
        b.nodes().delete(&node, None).await.expect("deleted");
        assert_eq!(held.verify().await.expect_err("gone").kind(), ErrorKind::NotHeld);
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_can_only_look_when_its_node_is_gone_knows_that_it_was_revoked() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let (sender, losses) = channel();
        held.on_lost(move |error| _ = sender.send(error.reason()));
        eventually("its node is watched", || ground.watch_count() == 1).await;
        // The news that something was written arrives; what it was can be read only later.
        let slow = Fault::delay_request("getData", Duration::from_millis(300)).session(a.session_id());
        let fault = ground.inject(slow);
        assert!(lock_of(&b, PATH).revoke(None, Some(Duration::ZERO)).await.expect("asked"));
        assert_eq!(losses.recv_timeout(SOON), Ok(Some(LostReason::Revoked)));
        assert!(ground.fault_fired(fault));
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_whose_own_session_ends_goes_on_waiting_and_deletes_nothing_early() {
    let budget = Duration::from_millis(600);
    for ground in grounds() {
        let retry = RetryOptions::default().give_up_after(budget);
        let (a, b) = (ground.client(TEN).await, ground.client_with(options(TEN).retry(retry)).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let asked = hears(&held);
        let lock = lock_of(&b, PATH);
        let revoking = tokio::spawn(async move { lock.revoke(None, Some(10 * SOON)).await });
        asked.recv_timeout(SOON).expect("asked");
        eventually("both watch", || ground.watch_count() == 2).await;
        // Whatever was left of a budget that began with the call is used up.
        tokio::time::sleep(budget * 6 / 5).await;
        let session = b.session_id();
        ground.expire(session).await;
        eventually("the asker has a new session", || b.session_id() != session).await;
        ground.go_away();
        tokio::time::sleep(budget * 6 / 5).await;
        ground.come_back();
        eventually("both watch again", || ground.watch_count() == 2).await;
        assert!(!revoking.is_finished(), "{:?}", revoking.await);
        held.verify().await.expect("it had all the time that was given");
        held.release().await.expect("its node was left to it");
        assert!(soon("the revocation", revoking).await.expect("joined").expect("asked"));
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_ask_and_not_read_gives_the_holder_all_the_time_that_was_said() {
    for ground in grounds() {
        for is_parent_readable in [true, false] {
            let auth = Auth::new("digest", "holder:secret");
            let acl = AclChoice::List(vec![
                AclEntry::new("auth", "", "rwcda"),
                AclEntry::new("world", "anyone", "wd"),
            ]);
            let a = ground.client_with(options(TEN).auth(auth).acl(acl)).await;
            let b = ground.client(TEN).await;
            if is_parent_readable {
                b.nodes().ensure(PATH).await.expect("everybody's");
            }
            let lock = lock_of(&b, PATH);
            let of_a = lock_of(&a, PATH);
            let name = |held: &Held| held.node().rsplit('/').next().expect("a name").to_owned();

            let held = of_a.acquire().await.expect("free");
            let asked = hears(&held);
            let given = if is_parent_readable { 10 * SOON } else { Duration::from_secs(1) };
            let revoking = tokio::spawn({
                let (lock, name) = (lock.clone(), name(&held));
                async move { lock.revoke(Some(&name), Some(given)).await }
            });
            asked.recv_timeout(SOON).expect("asked");
            if is_parent_readable {
                eventually("the asker watches", || ground.lists_of(&b).len() == 1).await;
                // Others come and go meanwhile.
                let other = a.nodes().create(&format!("{PATH}/other"), b"", CreateMode::Ephemeral).await;
                a.nodes().delete(&other.expect("created"), None).await.expect("deleted");
            }
            held.verify().await.expect("the time is not over");
            held.release().await.expect("its node was left to it");
            assert!(soon("the revocation", revoking).await.expect("joined").expect("asked"));

            // Who does not let go keeps it for the time that was said, and then no longer.
            let (held, given) = (of_a.acquire().await.expect("free"), Duration::from_millis(400));
            let (sender, losses) = channel();
            held.on_lost(move |error| _ = sender.send((Instant::now(), error.reason())));
            let asks = Instant::now();
            assert!(lock.revoke(Some(&name(&held)), Some(given)).await.expect("asked"));
            let (lost, reason) = losses.recv_timeout(SOON).expect("lost");
            assert!(lost - asks >= given, "lost after {:?}", lost - asks);
            assert_eq!(reason, Some(LostReason::Revoked));
            ground.assert_nothing_left(PATH).await;
            a.nodes().delete(PATH, None).await.expect("deleted");
            ground.clear_log();
        }
    }
}

/// A permit as kazoo makes it: each acquisition of a client has a node of the same name.
const PERMIT: &str = "/locks/asking/0123456789abcdef0123456789abcdef";

/// What an owner does that lets go, and then acquires again.
async fn acquires_again(client: &Client, is_first: bool) -> i64 {
    if !is_first {
        client.nodes().delete(PERMIT, None).await.expect("its own");
    }
    client.nodes().create(PERMIT, b"kazoo", CreateMode::Ephemeral).await.expect("free");
    client.nodes().exists(PERMIT).await.expect("looked").expect("it stands").czxid
}

#[tokio::test(flavor = "multi_thread")]
async fn force_deletes_no_later_node_of_the_same_name() {
    for ground in grounds() {
        for is_answer_lost in [false, true] {
            let kazoo = || options(TEN).naming(Naming::Kazoo);
            let (a, b) = (ground.client_with(kazoo()).await, ground.client_with(kazoo()).await);
            a.nodes().ensure(PATH).await.expect("made");
            acquires_again(&a, true).await;
            let semaphore = b.semaphore(PATH, 1).expect("valid");
            let given = if is_answer_lost { Duration::ZERO } else { 10 * SOON };
            if is_answer_lost {
                ground.inject(Fault::drop_after("delete").session(b.session_id()));
                ground.inject(Fault::refuse_connections(1).session(b.session_id()).forever());
            }
            let node = PERMIT.rsplit_once('/').expect("a path").1;
            let revoking = tokio::spawn(async move { semaphore.revoke(Some(node), Some(given)).await });
            let stands = async || a.nodes().exists(PERMIT).await.expect("looked");
            let again = if is_answer_lost {
                soon("the deletion", async { while stands().await.is_some() {} }).await;
                acquires_again(&a, true).await
            } else {
                eventually("the asker watches", || ground.watch_count() == 1).await;
                // It does not hear what becomes of the node.
                let session = b.session_id();
                ground.inject(Fault::refuse_connections(1).session(session).forever());
                ground.inject(Fault::drop_before("*").session(session));
                let nodes = b.nodes();
                tokio::spawn(async move { nodes.exists("/").await });
                eventually("it is not connected", || b.state() != State::Connected).await;
                acquires_again(&a, false).await
            };
            ground.clear_faults();
            assert!(soon("the revocation", revoking).await.expect("joined").expect("asked"));
            assert_eq!(stands().await.map(|stat| stat.czxid), Some(again), "{is_answer_lost}");
            a.close(Some(TEN)).await.expect("closed");
        }
    }
}
