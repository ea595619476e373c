//! Generated from api/ by api/generate; do not edit.

mod barrier;
mod commit_transaction;
mod config;
mod counter;
mod delay_queue;
pub mod docs;
mod double_barrier;
mod group;
mod latch;
mod names;
mod nodes;
pub mod options;
mod partitioner;
mod priority_queue;
mod proposal;
mod queue;
mod transaction;
mod two_phase_commit;

pub use barrier::{Barrier, BarrierBase};
pub use commit_transaction::{CommitTransaction, CommitTransactionBase};
pub use config::{Config, ConfigBase};
pub use counter::{Counter, CounterBase};
pub use delay_queue::{DelayQueue, DelayQueueBase};
pub use double_barrier::{DoubleBarrier, DoubleBarrierBase};
pub use group::{Group, GroupBase};
pub use latch::{Latch, LatchBase};
pub use names::{Names, NamesBase};
pub use nodes::{Nodes, NodesBase};
pub use partitioner::{Partitioner, PartitionerBase};
pub use priority_queue::{PriorityQueue, PriorityQueueBase};
pub use proposal::{Proposal, ProposalBase};
pub use queue::{Queue, QueueBase};
pub use transaction::{Transaction, TransactionBase};
pub use two_phase_commit::{TwoPhaseCommit, TwoPhaseCommitBase};
