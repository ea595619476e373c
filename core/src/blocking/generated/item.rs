//! Generated from api/item.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::Result;
use crate::blocking::{Held, Transaction};
use crate::drive::{check_may_wait, wait};

/// [`crate::Item`], blocking.
#[must_use = "dropping an Item gives it back at once; keep it for as long as the work takes"]
#[derive(Clone, Debug)]
pub struct Item {
    pub(in crate::blocking) core: crate::Item,
    base: Held,
}

impl Deref for Item {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.base
    }
}

impl Item {
    pub(in crate::blocking) fn of(core: crate::Item) -> Item {
        Item { base: Held::of((*core).clone()), core }
    }

    /// See [`crate::Item::data`].
    pub fn data(&self) -> &[u8] {
        self.core.data()
    }

    /// See [`crate::Item::attempts`].
    pub fn attempts(&self) -> u32 {
        self.core.attempts()
    }

    /// See [`crate::Item::ack`].
    pub fn ack(&self) -> Result<()> {
        check_may_wait()?;
        wait(self.core.ack(), None, None)
    }

    /// See [`crate::Item::ack_with`].
    pub fn ack_with(&self, writes: &Transaction) -> Result<()> {
        check_may_wait()?;
        wait(self.core.ack_with(&writes.core), None, None)
    }

    /// See [`crate::Item::nack`].
    pub fn nack(&self) -> Result<()> {
        check_may_wait()?;
        wait(self.core.nack(), None, None)
    }
}
