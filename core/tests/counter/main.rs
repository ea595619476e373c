//! The counter.

#[path = "../support/mod.rs"]
mod support;

mod changes;
mod versions;
