//! What differs by the system: the same files for each, with the same functions.
//!
//! - `signals`: what asks this process to end.
//! - `processes`: a command with what it started.
//! - `terminal`: its size, and keys as they are typed.
//! - `streams`: what stands at the other end of stdin and stdout.
//! - `files`: who may read one.
//! - `clock`: the one by which leases are kept.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{clock, files, processes, signals, streams, terminal};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::{clock, files, processes, signals, streams, terminal};
