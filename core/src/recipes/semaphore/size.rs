//! How many permits there are: what a handle says, and whether what is kept says the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::watch;

use super::layout::SemaphoreLayout;
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::options::Naming;
use crate::process::Process;
use crate::sync::Mutex;

/// How many permits there are, as a handle says.
pub(super) struct Size {
    agreed: AtomicUsize,
    /// What the handle is changing it to, by the number of the change, as long as it is open which of these the server has.
    proposed: Mutex<BTreeMap<u64, ProposedSize>>,
    /// How many changes were ever begun.
    begun: AtomicU64,
    /// Tells when such a change has ended.
    changes: watch::Sender<()>,
}

#[derive(Copy, Clone)]
struct ProposedSize {
    permits: usize,
    /// Whether it is under way. What has ended without an answer may have been applied, or not.
    is_pending: bool,
}

impl Size {
    pub(super) fn of(permits: usize) -> Size {
        Size {
            agreed: AtomicUsize::new(permits),
            proposed: Mutex::default(),
            begun: AtomicU64::new(0),
            changes: watch::Sender::new(()),
        }
    }

    pub(super) fn get(&self) -> usize {
        self.agreed.load(Ordering::Acquire)
    }

    /// The largest one, where several may be true.
    pub(super) fn most(&self) -> usize {
        let proposed = lock(&self.proposed).values().map(|proposed| proposed.permits).max();
        self.get().max(proposed.unwrap_or(0))
    }

    /// The handle is changing it to that.
    pub(super) fn propose(&self, permits: usize) -> SizeChange<'_> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        lock(&self.proposed).insert(number, ProposedSize { permits, is_pending: true });
        SizeChange { size: self, number, process: Process::present() }
    }

    /// Tells when the handle has changed it, or has failed to.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Whether a change that is under way may bring so many.
    pub(super) fn may_reach(&self, permits: usize) -> bool {
        lock(&self.proposed).values().any(|proposed| proposed.is_pending && proposed.permits >= permits)
    }

    fn allows(&self, permits: usize) -> bool {
        let is_proposed = || lock(&self.proposed).values().any(|proposed| proposed.permits == permits);
        permits > 0 && (permits == self.get() || is_proposed())
    }
}

/// A change on its way. Dropped, it has ended without an answer: the server may have the one or the other.
pub(super) struct SizeChange<'a> {
    size: &'a Size,
    number: u64,
    process: Process,
}

impl SizeChange<'_> {
    /// The server has it.
    pub(super) fn settle(self) {
        let Size { agreed, proposed, changes, .. } = self.size;
        let Some(settled) = lock(proposed).get(&self.number).copied() else { return };
        // First, so that whoever is told of a mismatch with the new one knows that what it has read may be older.
        changes.send_replace(());
        agreed.store(settled.permits, Ordering::Release);
        lock(proposed).retain(|number, other| other.is_pending && *number != self.number);
    }

    /// The server has refused it.
    pub(super) fn withdraw(self) {
        lock(&self.size.proposed).remove(&self.number);
        self.size.changes.send_replace(());
    }
}

impl Drop for SizeChange<'_> {
    fn drop(&mut self) {
        // In a forked child the lock may be held by a thread that stayed with the parent.
        if !self.process.is_present() {
            return;
        }
        let mut proposed = lock(&self.size.proposed);
        let Some(ended) = proposed.remove(&self.number) else { return };
        proposed.retain(|_, other| other.is_pending || other.permits != ended.permits);
        proposed.insert(self.number, ProposedSize { is_pending: false, ..ended });
        drop(proposed);
        self.size.changes.send_replace(());
    }
}

/// What the size that is kept says.
pub(super) enum SizeAgreement {
    Agreed(usize),
    /// Nobody has written it yet.
    Unwritten,
}

impl SemaphoreLayout {
    /// Whether others say the same size as we do.
    pub(super) fn agree(&self, here: &Size, data: &[u8]) -> Result<SizeAgreement> {
        match (self.naming, parse(data)) {
            (_, Some(there)) if here.allows(there) => Ok(SizeAgreement::Agreed(there)),
            (Naming::Kazoo, None) if data.is_empty() => Ok(SizeAgreement::Unwritten),
            // What is no number there means something else to somebody else, and kazoo leaves it alone.
            (Naming::Kazoo, None) => Ok(SizeAgreement::Agreed(here.get())),
            _ => Err(Error::new(
                ErrorKind::Mismatch,
                format!(
                    "this handle says {} permits, and {} says {}; make all participants agree, or let a program change it by the verb resize",
                    here.get(),
                    self.size(),
                    String::from_utf8_lossy(data)
                ),
            )),
        }
    }
}

/// The number in the data of a node, if it is one.
pub(super) fn parse(data: &[u8]) -> Option<usize> {
    std::str::from_utf8(data).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kazoo_leaves_data_alone_that_is_no_number() {
        let (curator, kazoo) =
            (SemaphoreLayout::of("/s", Naming::Curator), SemaphoreLayout::of("/s", Naming::Kazoo));
        let two = Size::of(2);
        assert!(matches!(kazoo.agree(&two, b"2"), Ok(SizeAgreement::Agreed(2))));
        assert!(matches!(kazoo.agree(&two, b"about"), Ok(SizeAgreement::Agreed(2))));
        assert!(matches!(kazoo.agree(&two, b""), Ok(SizeAgreement::Unwritten)));
        assert!(kazoo.agree(&two, b"3").is_err());
        assert!(curator.agree(&two, b"about").is_err());
    }

    #[test]
    fn who_resizes_agrees_with_the_old_size_and_with_the_new_one() {
        let (layout, size) = (SemaphoreLayout::of("/s", Naming::Curator), Size::of(2));
        let proposal = size.propose(3);
        assert!(matches!(layout.agree(&size, b"2"), Ok(SizeAgreement::Agreed(2))));
        assert!(matches!(layout.agree(&size, b"3"), Ok(SizeAgreement::Agreed(3))));
        proposal.settle();
        assert!(layout.agree(&size, b"2").is_err());
        assert!(layout.agree(&size, b"0").is_err());
    }

    #[test]
    fn what_was_refused_is_no_size_and_what_was_not_answered_may_be_one() {
        let (layout, size) = (SemaphoreLayout::of("/s", Naming::Curator), Size::of(2));
        let (refused, unanswered) = (size.propose(9), size.propose(5));
        let changes = size.changes();
        assert!(size.may_reach(9) && !size.may_reach(10));
        refused.withdraw();
        assert!(layout.agree(&size, b"9").is_err());
        assert!(size.may_reach(5) && !size.may_reach(9) && size.most() == 5);
        drop(unanswered);
        assert!(matches!(layout.agree(&size, b"5"), Ok(SizeAgreement::Agreed(5))));
        assert!(!size.may_reach(3) && size.most() == 5, "no answer will come");
        assert!(changes.has_changed().expect("the size is here"));
        // The next answer tells what the server has.
        size.propose(3).settle();
        assert!(layout.agree(&size, b"5").is_err() && size.most() == 3);
    }
}
