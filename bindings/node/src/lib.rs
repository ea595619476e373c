//! The Node face of zkrecipes: each verb converts its arguments, drives a future of the core, and converts the
//! outcome. What a user sees, option names, promises, `AbortSignal`s, error classes, is `node/lib`, on top of this
//! addon; nobody else loads it. Verbs that are alike are in `generated/`, of the descriptions in `api/`; the others,
//! such as what hands something over that has to be given back, are by hand beside it.
//!
//! - A verb that waits returns the number of its call; its outcome comes back through the [`EventLoop`] of the
//!   environment (see `event_loop.rs`), to the one JavaScript function that the library registered there.
//! - A verb that does not wait returns its value or throws a [`Failure`](failure::Failure).
//! - No panic leaves the addon: every entry is `catch_unwind`, conversions on the way back are guarded, and
//!   finalizers are.

mod barrier;
mod client;
mod commit;
mod config;
mod declared;
mod election;
mod event_loop;
mod exit;
mod failure;
mod feed;
mod generated;
mod group;
mod handle;
mod held;
#[cfg(feature = "test-hooks")]
mod hooks;
mod lock;
mod log;
mod metrics;
mod names;
mod nodes;
mod options;
mod partitioner;
mod queue;
mod remote;
mod semaphore;
mod services;
mod testing;

use napi_derive::napi;

/// The version of the library.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    zkrecipes::version()
}
