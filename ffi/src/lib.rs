//! The C ABI. Every function here is *convert, drive, convert*: arguments are checked and copied, the core does the
//! work, its answer becomes a status, a handle or a callback. No recipe logic stands in this crate.
//!
//! - [`handle`]: what C holds is a number in the clothes of a pointer, looked up and checked at every call.
//! - [`guard`]: the one panic boundary, and the one place where an error reaches C.
//! - [`verbs`]: what every recipe can do, once for all of them.
//! - [`events`]: waiting, callbacks, and the queue that a daemon's own event loop dispatches.
//!
//! `include/zkrecipes.h` is generated from these files; their documentation is written for readers of C.

#![allow(non_camel_case_types)]
// Every exported function takes pointers from C; the header and the guard say what is promised about them.
#![allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref)]

mod guard;
mod handle;
mod input;
mod log;
mod options;
mod verbs;

// In the order in which the header shows them.
mod error;

mod client;

mod lock;

mod contenders;

mod held;

mod read_write_lock;

mod multi_lock;

mod semaphore;

mod sequencer;

mod transaction;

mod nodes;

mod cancel;

mod events;

mod collections;

mod testing;

mod test_log;

mod test_proxy;

mod test_ensemble;
