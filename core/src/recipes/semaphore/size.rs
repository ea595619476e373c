//! How many permits there are: what a handle says, and whether what is kept says the same.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::layout::SemaphoreLayout;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Naming;

/// How many permits there are, as a handle says.
pub(super) struct Size {
    agreed: AtomicUsize,
    /// What the handle is changing it to, as long as it is open which of the two the server has; else 0.
    proposed: AtomicUsize,
    /// How often the handle has changed it.
    changes: AtomicUsize,
}

impl Size {
    pub(super) fn of(permits: usize) -> Size {
        Size {
            agreed: AtomicUsize::new(permits),
            proposed: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
        }
    }

    pub(super) fn get(&self) -> usize {
        self.agreed.load(Ordering::Acquire)
    }

    /// The larger one, where both may be true.
    pub(super) fn most(&self) -> usize {
        self.get().max(self.proposed.load(Ordering::Acquire))
    }

    pub(super) fn propose(&self, permits: usize) {
        self.proposed.store(permits, Ordering::Release);
    }

    pub(super) fn settle(&self, permits: usize) {
        // First, so that whoever is told of a mismatch with the new one knows that what it has read may be older.
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.agreed.store(permits, Ordering::Release);
        self.proposed.store(0, Ordering::Release);
    }

    pub(super) fn changes(&self) -> usize {
        self.changes.load(Ordering::Acquire)
    }

    fn allows(&self, permits: usize) -> bool {
        permits > 0 && (permits == self.get() || permits == self.proposed.load(Ordering::Acquire))
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
        size.propose(3);
        assert!(matches!(layout.agree(&size, b"2"), Ok(SizeAgreement::Agreed(2))));
        assert!(matches!(layout.agree(&size, b"3"), Ok(SizeAgreement::Agreed(3))));
        size.settle(3);
        assert!(layout.agree(&size, b"2").is_err());
        assert!(layout.agree(&size, b"0").is_err());
    }
}
