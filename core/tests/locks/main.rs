//! Locks, read/write locks, semaphores and multi-locks, and what is the same for whatever is acquired.

#[path = "../support/mod.rs"]
mod support;

mod access;
mod call_order;
mod callbacks;
mod calls;
mod credentials;
mod family;
mod faults;
mod gate;
mod handles;
mod inspection;
mod line;
mod local_handoff;
mod lock;
mod multi_lock;
mod permits;
mod range;
mod read_write;
mod revocation;
mod stale_nodes;
mod uncontended;
mod waiting;
mod warnings;
