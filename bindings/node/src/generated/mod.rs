//! Generated from api/ by api/generate; do not edit.

mod backlog;
mod barrier;
mod client;
mod commit_transaction;
mod config;
mod counter;
mod double_barrier;
mod election;
mod factories;
mod group;
mod held;
mod item;
mod latch;
mod names;
mod nodes;
mod options;
mod proposal;
mod semaphore;
mod transaction;
mod two_phase_commit;

pub use backlog::Backlog;
pub use barrier::Barrier;
pub use commit_transaction::CommitTransaction;
pub use config::Config;
pub use counter::Counter;
pub use double_barrier::DoubleBarrier;
pub use group::Group;
pub use item::Item;
pub use latch::Latch;
pub use names::Names;
pub use nodes::Nodes;
pub use options::*;
pub use proposal::Proposal;
pub use semaphore::Semaphore;
pub use transaction::Transaction;
pub use two_phase_commit::TwoPhaseCommit;
