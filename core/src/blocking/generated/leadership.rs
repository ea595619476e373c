//! Generated from api/leadership.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::Result;
use crate::blocking::Held;
use crate::drive::wait;

/// [`crate::Leadership`], blocking.
#[must_use = "dropping a Leadership resigns at once; keep it for as long as the work takes"]
#[derive(Clone, Debug)]
pub struct Leadership {
    pub(in crate::blocking) core: crate::Leadership,
    base: Held,
}

impl Deref for Leadership {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.base
    }
}

impl Leadership {
    pub(in crate::blocking) fn of(core: crate::Leadership) -> Leadership {
        Leadership { base: Held::of((*core).clone()), core }
    }

    /// See [`crate::Leadership::epoch`].
    pub fn epoch(&self) -> u64 {
        self.core.epoch()
    }

    /// See [`crate::Leadership::acknowledge`].
    pub fn acknowledge(&self, data: &[u8]) -> Result<()> {
        let (core, data) = (self.core.clone(), data.to_owned());
        wait(async move { core.acknowledge(&data).await }, None, None)
    }
}
