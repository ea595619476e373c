//! Reads that straddle a reconnection, on a transport that reconnects when it is told to.

use std::future::ready;
use std::sync::atomic::AtomicU64;

use super::*;
use crate::session::system_clock::SystemClock;
use crate::session::wire::scripted::{Script, Scripted};

/// Answers `sync`, and nothing else.
struct Line {
    generation: Arc<AtomicU64>,
    syncs: Arc<AtomicUsize>,
}

impl Script for Line {
    fn link(&self) -> Link {
        Link { generation: self.generation.load(Ordering::Acquire), state: LinkState::Up }
    }

    fn sync(&self) -> Flight<()> {
        self.syncs.fetch_add(1, Ordering::AcqRel);
        Box::pin(ready(Ok(())))
    }
}

struct Holder;

impl Tenant for Holder {
    fn lose(&self, _: LostReason) {}
}

#[tokio::test]
async fn a_holders_read_that_was_sent_on_another_connection_than_it_was_asked_for_does_not_count() {
    let (generation, syncs) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicUsize::new(0)));
    let wire = Line { generation: generation.clone(), syncs: syncs.clone() };
    let clock = Arc::new(SystemClock);
    let now = clock.now();
    let epoch = Epoch::new(
        Box::new(Scripted(wire)),
        clock,
        "",
        AclChoice::Open,
        LeaseMode::Strict,
        now,
        Arc::default(),
    );
    let holder: Arc<dyn Tenant> = Arc::new(Holder);
    let interest = epoch.interest("/held");
    interest.admit(Arc::downgrade(&holder));

    let read = || ready(Ok(()));
    assert_eq!(epoch.caught_up("/record", read).await, Ok(()));
    assert_eq!(syncs.load(Ordering::Acquire), 0, "the first connection has told everything");

    // Asked for before the connection broke, sent on the next one.
    let straddles = || {
        let generation = generation.clone();
        async move {
            generation.fetch_add(2, Ordering::AcqRel);
            Ok(())
        }
    };
    assert_eq!(epoch.caught_up("/record", straddles).await, Err(WireError::ConnectionLoss));
    assert_eq!(syncs.load(Ordering::Acquire), 0);
    assert_eq!(epoch.caught_up("/record", read).await, Ok(()));
    assert_eq!(syncs.load(Ordering::Acquire), 1, "asked again, behind a sync");
    assert_eq!(epoch.caught_up("/record", read).await, Ok(()));
    assert_eq!(syncs.load(Ordering::Acquire), 1, "one for each connection");
}
