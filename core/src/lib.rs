//! Distributed coordination on Apache ZooKeeper: locks, elections, groups, names, values and counters.
//!
//! The API at the root is asynchronous and works from any executor; [`blocking`] is the same for threads.
//!
//! ```
//! # zkrecipes::doctest(async {
//! use zkrecipes::{Client, ClientOptions, LockOptions};
//!
//! // A ZooKeeper connect string such as "zk1:2181,zk2:2181/app"; embedded:, for development and tests, needs the
//! // feature "embedded".
//! let client = Client::connect("embedded:", ClientOptions::default()).await?;
//! let lock = client.lock("/locks/report", LockOptions::default())?;
//! let held = lock.acquire().await?;
//! println!("publishing with fencing token {}", held.fencing_token());
//! held.release().await?;
//! # Ok(()) });
//! ```

mod client;
mod error;
mod feed;
mod futures;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod hosts;
mod json;
mod log;
mod metrics;
#[cfg(miri)]
mod miri;
mod mutex;
mod nodes;
mod options;
mod path;
mod pool;
mod printable;
mod process;
mod recipes;
mod runtime;
#[doc(hidden)]
pub mod sanitizer;
#[doc(hidden)]
pub mod session;
mod signals;
mod sort;
#[cfg(target_os = "linux")]
mod stack;
mod sync;
mod threads;
pub mod time;
mod tls;
mod turn;
mod words;

pub mod blocking;
pub mod drive;

pub use client::Client;
pub use error::{Error, ErrorKind, LostReason, Result};
pub use feed::{Closer, Feed};
pub use metrics::{Histogram, Metrics};
pub use nodes::cache::NodeCache;
pub use nodes::watch::{NodeState, WatchKind};
pub use nodes::{Nodes, PartResult, Transaction};
pub use options::{
    AclChoice, AclEntry, Auth, ClientOptions, CounterLayout, CounterOptions, ElectionLayout, ElectionOptions,
    GroupLayout, GroupOptions, LeaseMode, LockOptions, Naming, PartitionerOptions, QueueLayout, QueueOptions,
    RetryOptions, SaslOptions, TlsOptions,
};
pub use recipes::barrier::Barrier;
pub use recipes::config::{Cached, Config, Versioned};
pub use recipes::contenders::Contender;
pub use recipes::counter::Counter;
pub use recipes::discovery::{Discovery, Instance, PickBy, Registration, Service, ServiceType};
pub use recipes::double_barrier::DoubleBarrier;
pub use recipes::election::{Election, Leader, Leadership};
pub use recipes::group::{Group, GroupEvent};
pub use recipes::handle::Handle;
pub use recipes::held::Held;
pub use recipes::latch::Latch;
pub use recipes::lock::Lock;
pub use recipes::multi_lock::MultiLock;
pub use recipes::names::Names;
pub use recipes::partitioner::{Partition, Partitioner, Partitions};
pub use recipes::queue::{
    Backlog, DeadLetter, DeadLetters, DelayQueue, Item, Nack, PriorityQueue, PutOptions, Queue, QueueStats,
};
pub use recipes::read_write_lock::ReadWriteLock;
pub use recipes::semaphore::Semaphore;
pub use recipes::two_phase_commit::{
    CommitMode, CommitStatus, CommitTransaction, CoordinatorState, Outcome, Proposal, SiteStatus,
    TwoPhaseCommit,
};
pub use recipes::wait_progress::WaitProgress;
pub use session::State;
pub use session::delivery::Subscription;
pub use session::wire::{CreateMode, Stat};

/// The version of the library.
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Runs the body of a documentation example.
#[doc(hidden)]
pub fn doctest(body: impl Future<Output = Result<()>> + Send + 'static) {
    drive::wait(body, None, None).unwrap_or_else(|error| panic!("{error}"));
}
