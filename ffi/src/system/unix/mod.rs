//! Linux, macOS and their kin.

pub(crate) mod library;
pub(crate) mod process;
pub(crate) mod wakeup;
