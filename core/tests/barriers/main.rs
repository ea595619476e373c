//! Barriers and double barriers.

#[path = "../support/mod.rs"]
mod support;

mod barrier;
mod double_barrier;
mod faults;
mod members;
mod sessions;
