//! As `core/src/session/wire/mod.rs`.

#[path = "../stands/machine.rs"]
pub(crate) mod machine;
pub(crate) mod own;

use crate::runtime::Later;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    Up,
    Down,
    Ended,
    Unheard,
    Denied,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub generation: u64,
    pub state: LinkState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    ConnectionLoss,
    NoNode,
    SessionEnded,
}

impl WireError {
    pub(crate) fn is_unanswered(&self) -> bool {
        false
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Deleted,
    DataChanged,
    SessionEnded,
}

#[derive(Clone, Default)]
pub struct Stat {
    pub czxid: i64,
    pub ctime: i64,
    pub ephemeral_owner: i64,
}

pub type Flight<T> = Later<Result<T, WireError>>;

pub type Watch = Later<Event>;

#[derive(Default)]
pub struct Noted;

pub struct Trouble;

impl Trouble {
    pub(crate) fn closed(_words: impl Into<String>) -> Trouble {
        Trouble
    }
}

impl From<String> for Trouble {
    fn from(_: String) -> Trouble {
        Trouble
    }
}
