//! What differs by the system: the same files for each, with the same functions.
//!
//! - `library`: the testing kit, which is loaded when it is asked for.
//! - `process`: its forks and its end.
//! - `wakeup`: what an event loop waits for.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{library, process, wakeup};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::{library, process, wakeup};
