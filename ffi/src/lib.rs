//! The C ABI. Every function here is *convert, drive, convert*: arguments are checked and copied, the core does the
//! work, its answer becomes a status, a handle or a callback. No recipe logic stands in this crate.
//!
//! - [`handle`]: what C holds looks like a pointer and is a number, looked up and checked at every call.
//! - [`guard`]: the one panic boundary, and the one place where an error reaches C.
//! - [`verbs`]: the shapes that verbs have; [`answers`]: what they find, on its way to C. Their functions are in
//!   `generated`, from the descriptions in `api/`.
//! - [`events`]: waiting, callbacks, and the queue that a daemon's own event loop dispatches.
//!
//! `include/zkrecipes.h` is generated from these files; their documentation is written for readers of C.

#![allow(non_camel_case_types)]
// Every exported function takes pointers from C; the header and the guard say what is promised about them.
#![allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref)]

mod answers;
mod embedded;
mod exit;
mod guard;
mod handle;
mod input;
mod options;
mod sized;
mod system;
mod verbs;

// In the order in which the header shows them.
mod status;

mod error;

mod client;

mod metrics;

mod log;

#[path = "generated/lock.rs"]
mod lock;

mod contenders;

mod held;

mod read_write_lock;

mod multi_lock;

#[path = "generated/semaphore.rs"]
mod semaphore;

#[path = "generated/counter.rs"]
mod counter;

mod election;

#[path = "generated/election.rs"]
mod elections;

#[path = "generated/campaign.rs"]
mod campaign;

#[path = "generated/barrier.rs"]
mod barrier;

#[path = "generated/double_barrier.rs"]
mod double_barrier;

mod commits;

#[path = "generated/two_phase_commit.rs"]
mod two_phase_commit;

#[path = "generated/queue.rs"]
mod queue;

#[path = "generated/queue_put.rs"]
mod queue_put;

#[path = "generated/priority_queue.rs"]
mod priority_queue;

#[path = "generated/delay_queue.rs"]
mod delay_queue;

mod items;

#[path = "generated/config.rs"]
mod config;

#[path = "generated/names.rs"]
mod names;

#[path = "generated/group.rs"]
mod group;

#[path = "generated/latch.rs"]
mod latch;

#[path = "generated/partitioner.rs"]
mod partitioner;

mod services;

#[path = "generated/discovery.rs"]
mod discovery;

// In front of this line api/generate puts what has no place in the header yet.

mod followed;

#[path = "generated/sequencer.rs"]
mod sequencer;

#[path = "generated/whoami.rs"]
mod whoami;

mod transaction;

mod nodes;

#[path = "generated/node_cache.rs"]
mod node_cache;

mod updates;

mod cancel;

mod events;

mod collections;

#[path = "generated/lists.rs"]
mod lists;

#[cfg(test)]
mod as_from_c;

/// See [`handle`].
const FIRST_GENERATION: usize = 1;
