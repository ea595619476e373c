//! What is random: names that are like no other, and which of several to try first. A simulation has its seed decide that, too.

use std::cell::RefCell;

use uuid::Uuid;

type RandomSource = Box<dyn FnMut() -> u128>;

thread_local! {
    static SOURCE: RefCell<Option<RandomSource>> = const { RefCell::new(None) };
}

/// A name that nobody else has.
pub(crate) fn guid() -> Uuid {
    let drawn = SOURCE.with_borrow_mut(|source| source.as_mut().map(|draw| draw()));
    drawn.map_or_else(Uuid::new_v4, Uuid::from_u128)
}

/// One of so many, each as likely as the others.
pub(crate) fn below(many: usize) -> usize {
    guid().as_u128() as usize % many
}

/// Until the answer is dropped, all that is random on this thread is drawn from `source`.
pub fn draw_from(source: impl FnMut() -> u128 + 'static) -> Drawing {
    SOURCE.set(Some(Box::new(source)));
    Drawing(())
}

/// What is random is drawn from somewhere else.
#[must_use = "dropping it ends it"]
pub struct Drawing(());

impl Drop for Drawing {
    fn drop(&mut self) {
        SOURCE.set(None);
    }
}
