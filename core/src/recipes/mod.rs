//! The recipes. The head of each file, or of a folder's `mod.rs`, is its protocol. What a recipe is made of:
//!
//! - `session.call(limit)`: one call with its deadline and its budget of retries; `refusal`: the error for a server's no;
//! - `turn::take`: waiting for one's turn; a `Handle` and its trait `Recipe`: whatever is acquired, held and released;
//! - `session::once`: a transaction that is applied once, whatever gets lost;
//! - `sync` and `settle`: what is read behind them is no older, and what was asked before a `settle` has been decided;
//! - `session.watch_node`, `watch_children` and a `Tree`: what is followed, as a `Feed`;
//! - `session::registration`: an ephemeral node that is there in every session of the server, until it is taken back;
//! - `session.ensure`: parents that are missing; `session.leave`: persistent nodes that go when the client closes;
//! - `session.extensions`: what the handles of one client share.

pub mod barrier;
pub mod config;
pub mod contenders;
pub mod counter;
pub mod declared;
pub mod discovery;
pub mod double_barrier;
pub mod election;
mod gate;
mod gone;
pub mod group;
pub mod handle;
pub mod held;
pub mod latch;
pub mod lock;
pub mod multi_lock;
pub mod names;
pub mod partitioner;
pub mod queue;
pub mod read_write_lock;
pub mod semaphore;
pub(crate) mod sequencer;
mod servers_clock;
mod shared_lock;
pub mod survey;
pub mod two_phase_commit;
pub(crate) mod wait_progress;
pub(crate) mod waiting_line;
