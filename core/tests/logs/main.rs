//! What is logged, counted and told. In a process of their own, since they hear all that is said in it, and as the settings of
//! the log are the process's; `tests/binaries.py` runs one after the other, so that no two servers give the same number to a
//! session.

#[path = "../support/mod.rs"]
mod support;

mod counted;
mod observability;
mod open_parents;
mod rare_events;
mod skipped;
