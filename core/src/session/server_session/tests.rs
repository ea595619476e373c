//! Reads that straddle a reconnection, on a transport that reconnects when it is told to.

use std::future::ready;
use std::sync::atomic::AtomicU64;

use super::*;
use crate::session::system_clock::SystemClock;
use crate::session::wire::scripted::{Script, Scripted};
use crate::session::wire::{Read, Stat};

/// Answers `sync`, and nothing else.
struct AnswersSync {
    generation: Arc<AtomicU64>,
    syncs: Arc<AtomicUsize>,
}

impl Script for AnswersSync {
    fn link(&self) -> Link {
        Link { generation: self.generation.load(Ordering::Acquire), state: LinkState::Up }
    }

    fn sync(&self) -> Flight<()> {
        self.syncs.fetch_add(1, Ordering::AcqRel);
        Box::pin(ready(Ok(())))
    }
}

fn server_session_over(script: impl Script) -> Arc<ServerSession> {
    server_session_since(SystemClock.now(), script)
}

/// One that was asked for at that time.
fn server_session_since(asked: Moment, script: impl Script) -> Arc<ServerSession> {
    let (acl, terms) = (AclChoice::Open, LeaseTerms::default());
    ServerSession::new(
        Box::new(Scripted(script)),
        Arc::new(SystemClock),
        "",
        acl,
        terms,
        asked,
        Arc::default(),
    )
}

#[tokio::test]
async fn who_waits_for_certainty_looks_again_although_nothing_brings_it() {
    let script = AnswersSync { generation: Arc::default(), syncs: Arc::default() };
    let server_session = server_session_since(SystemClock.now() - Duration::from_secs(10), script);
    let soon = server_session.session_timeout() / 4;
    tokio::time::timeout(soon, server_session.until_firm_or_soon()).await.expect("time to look");
    assert!(!server_session.is_firm(), "no heartbeat was answered");
}

struct LosesAtOnce;

impl Tenant for LosesAtOnce {
    fn lose(&self, _: LostReason) -> bool {
        true
    }

    fn is_written(self: Arc<Self>) {}
}

/// Is just letting go, so that its node is gone may be its own doing.
#[derive(Default)]
struct LetsGo(Mutex<Vec<LostReason>>);

impl Tenant for LetsGo {
    fn lose(&self, reason: LostReason) -> bool {
        lock(&self.0).push(reason);
        reason != LostReason::Deleted
    }

    fn is_written(self: Arc<Self>) {}
}

#[tokio::test]
async fn who_may_have_deleted_its_node_itself_is_told_of_the_end_of_the_session_all_the_same() {
    let server_session =
        server_session_over(AnswersSync { generation: Arc::default(), syncs: Arc::default() });
    let holder = Arc::new(LetsGo::default());
    let tenant: Arc<dyn Tenant> = holder.clone();
    let interest = server_session.interest("/held");
    assert!(interest.admit(Arc::downgrade(&tenant)));
    assert!(server_session.node_is_gone(interest.id));
    assert!(server_session.nodes_to_check().is_empty(), "it is not looked at again");
    server_session.lose_all(LostReason::Session);
    assert_eq!(*lock(&holder.0), [LostReason::Deleted, LostReason::Session]);
}

/// Has let go, and passes its turn on just as it is told.
struct PassesOn {
    interest: Mutex<Option<Interest>>,
    next: Arc<LetsGo>,
}

impl Tenant for PassesOn {
    fn lose(&self, _: LostReason) -> bool {
        let next: Arc<dyn Tenant> = self.next.clone();
        lock(&self.interest).as_ref().is_some_and(|interest| interest.admit(Arc::downgrade(&next)))
    }

    fn is_written(self: Arc<Self>) {}
}

#[tokio::test]
async fn who_takes_a_turn_over_is_told_although_the_one_before_is_being_told() {
    let server_session =
        server_session_over(AnswersSync { generation: Arc::default(), syncs: Arc::default() });
    let next = Arc::new(LetsGo::default());
    let before = Arc::new(PassesOn { interest: Mutex::default(), next: next.clone() });
    let tenant: Arc<dyn Tenant> = before.clone();
    let interest = server_session.interest("/held");
    let id = interest.id;
    assert!(interest.admit(Arc::downgrade(&tenant)));
    *lock(&before.interest) = Some(interest);
    assert!(server_session.node_is_gone(id));
    assert_eq!(*lock(&next.0), []);
    assert!(server_session.node_is_gone(id), "it is looked at again");
    assert_eq!(*lock(&next.0), [LostReason::Deleted]);
}

#[tokio::test]
async fn who_is_admitted_when_its_node_was_found_gone_hears_of_that() {
    let server_session =
        server_session_over(AnswersSync { generation: Arc::default(), syncs: Arc::default() });
    let interest = server_session.interest("/passed-on");
    assert!(interest.stands());
    assert!(!server_session.node_is_gone(interest.id), "nobody has it");
    assert!(!interest.stands());
    let holder: Arc<dyn Tenant> = Arc::new(LosesAtOnce);
    assert!(!interest.admit(Arc::downgrade(&holder)));
}

#[tokio::test]
async fn a_holders_read_that_was_sent_on_another_connection_than_it_was_asked_for_does_not_count() {
    let (generation, syncs) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicUsize::new(0)));
    let server_session =
        server_session_over(AnswersSync { generation: generation.clone(), syncs: syncs.clone() });
    let holder: Arc<dyn Tenant> = Arc::new(LosesAtOnce);
    let interest = server_session.interest("/held");
    assert!(interest.admit(Arc::downgrade(&holder)));

    let read = || ready(Ok(()));
    assert_eq!(server_session.caught_up("/record", read).await, Ok(()));
    assert_eq!(syncs.load(Ordering::Acquire), 0, "the first connection has told everything");

    // Asked for before the connection broke, sent on the next one.
    let straddles = || {
        let generation = generation.clone();
        async move {
            generation.fetch_add(2, Ordering::AcqRel);
            Ok(())
        }
    };
    assert_eq!(server_session.caught_up("/record", straddles).await, Err(WireError::ConnectionLoss));
    assert_eq!(syncs.load(Ordering::Acquire), 0);
    assert_eq!(server_session.caught_up("/record", read).await, Ok(()));
    assert_eq!(syncs.load(Ordering::Acquire), 1, "asked again, behind a sync");
    assert_eq!(server_session.caught_up("/record", read).await, Ok(()));
    assert_eq!(syncs.load(Ordering::Acquire), 1, "one for each connection");
}

/// An idle session only syncs, which is no beat.
#[tokio::test]
async fn the_heart_of_an_idle_session_is_woken_where_it_would_look_too_late() {
    let (generation, syncs) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicUsize::new(0)));
    let server_session = server_session_over(AnswersSync { generation, syncs });
    let moment = || tokio::time::sleep(Duration::from_millis(1));
    moment().await;
    server_session.sync("/").await.expect("answered");
    let beating = tokio::spawn(server_session.clone().keep());
    let planned = || server_session.planned.load(Ordering::Acquire);
    while planned() == LOOKING {
        moment().await;
    }
    let idle = planned();
    let interest = server_session.interest("/held");
    let began = std::time::Instant::now();
    // By itself it would look no earlier than that, however late.
    while planned() >= idle {
        assert!(began.elapsed() < Duration::from_secs(20), "it sleeps on");
        moment().await;
    }
    let soon = planned();
    let another = server_session.interest("/held/too");
    tokio::task::yield_now().await;
    assert_eq!(planned(), soon, "what comes then wakes nobody");
    drop((interest, another));
    beating.abort();
}

/// Knows no request that reads several nodes, nor which nodes a session has, as servers of long ago.
#[derive(Default)]
struct Old {
    asked: Arc<AtomicUsize>,
}

impl Script for Old {
    fn link(&self) -> Link {
        Link { generation: 1, state: LinkState::Up }
    }

    fn sync(&self) -> Flight<()> {
        Box::pin(ready(Ok(())))
    }

    fn get_data(&self, path: &str) -> Flight<(Vec<u8>, Stat)> {
        let answer =
            if path == "/gone" { Err(WireError::NoNode) } else { Ok((path.into(), Stat::default())) };
        Box::pin(ready(answer))
    }

    fn get_each(&self, _: &[String]) -> Flight<Vec<Read>> {
        self.asked.fetch_add(1, Ordering::AcqRel);
        Box::pin(ready(Err(WireError::Unimplemented)))
    }

    fn children(&self, path: &str) -> Flight<Vec<String>> {
        Box::pin(ready(Ok(vec![format!("all of {path}")])))
    }

    fn own_ephemerals(&self, _: &str) -> Flight<Vec<String>> {
        self.asked.fetch_add(1, Ordering::AcqRel);
        Box::pin(ready(Err(WireError::Unimplemented)))
    }
}

#[tokio::test]
async fn an_old_server_is_asked_for_all_nodes_and_once_for_our_own() {
    let old = Old::default();
    let asked = old.asked.clone();
    let server_session = server_session_over(old);
    for _ in 0..2 {
        let names = server_session.list_own_children("/line").await.expect("listed");
        assert_eq!(names[..], ["all of /line"]);
    }
    assert_eq!(asked.load(Ordering::Acquire), 1);
}

#[tokio::test]
async fn of_an_old_server_nodes_are_read_one_by_one_and_it_is_asked_otherwise_once() {
    let old = Old::default();
    let asked = old.asked.clone();
    let server_session = server_session_over(old);
    for _ in 0..2 {
        let mut found = Vec::new();
        for read in server_session.get_each(&["/a", "/gone", "/b"].map(str::to_owned)) {
            found.push(read.await.map(|(data, _)| data));
        }
        assert_eq!(found, [Ok(b"/a".to_vec()), Err(WireError::NoNode), Ok(b"/b".to_vec())]);
    }
    assert_eq!(asked.load(Ordering::Acquire), 1);
}

#[tokio::test]
async fn a_chore_that_panics_keeps_no_close_waiting() {
    let (generation, syncs) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicUsize::new(0)));
    let server_session = server_session_over(AnswersSync { generation, syncs });
    drop(server_session.in_background(async { panic!("on purpose") }));
    tokio::time::timeout(Duration::from_secs(10), server_session.until_tidy()).await.expect("tidy");
}

#[tokio::test]
async fn a_parent_of_which_no_answer_told_what_node_it_is_is_known_by_the_next_list() {
    let script = AnswersSync { generation: Arc::default(), syncs: Arc::default() };
    let server_session = server_session_over(script);
    for unknown in [None, Some(0), Some(-1)] {
        server_session.vouch_for("/parent", unknown);
        server_session.saw_parent("/parent", 7);
        assert!(server_session.is_vouched_for("/parent"), "{unknown:?}");
        server_session.saw_parent("/parent", 8);
        assert!(!server_session.is_vouched_for("/parent"), "another one by now");
    }
}
