//! Generated from api/ by api/generate; do not edit.

#![allow(clippy::len_without_is_empty, reason = "asking a server is no property")]

mod backlog;
mod barrier;
mod commit_transaction;
mod config;
mod counter;
mod delay_queue;
mod discovery;
mod double_barrier;
mod election;
mod group;
mod handle;
mod held;
mod item;
mod latch;
mod leadership;
mod lock;
mod multi_lock;
mod names;
mod nodes;
mod partitioner;
mod priority_queue;
mod proposal;
mod queue;
mod registration;
mod semaphore;
mod transaction;
mod two_phase_commit;

pub use backlog::Backlog;
pub use barrier::Barrier;
pub use commit_transaction::CommitTransaction;
pub use config::Config;
pub use counter::Counter;
pub use delay_queue::DelayQueue;
pub use discovery::Discovery;
pub use double_barrier::DoubleBarrier;
pub use election::Election;
pub use group::Group;
pub use handle::Handle;
pub use held::Held;
pub use item::Item;
pub use latch::Latch;
pub use leadership::Leadership;
pub use lock::Lock;
pub use multi_lock::MultiLock;
pub use names::Names;
pub use nodes::Nodes;
pub use partitioner::Partitioner;
pub use priority_queue::PriorityQueue;
pub use proposal::Proposal;
pub use queue::Queue;
pub use registration::Registration;
pub use semaphore::Semaphore;
pub use transaction::Transaction;
pub use two_phase_commit::TwoPhaseCommit;
