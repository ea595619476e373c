//! Linux, macOS and their kin.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod processes;
pub(crate) mod signals;
pub(crate) mod streams;
pub(crate) mod terminal;
