//! Distributed coordination on Apache ZooKeeper: locks that are honest about what is certain.
//!
//! The API at the root is asynchronous and works from any executor; [`blocking`] is the same for threads.
//!
//! ```
//! # zkrecipes::doctest(async {
//! use zkrecipes::{Client, ClientOptions, LockOptions};
//!
//! // A ZooKeeper connect string such as "zk1:2181,zk2:2181/app"; embedded: is for development and tests.
//! let client = Client::connect("embedded:", ClientOptions::default()).await?;
//! let lock = client.lock("/locks/report", LockOptions::default())?;
//! let held = lock.acquire().await?;
//! println!("publishing with fencing token {}", held.fencing_token());
//! held.release().await?;
//! # Ok(()) });
//! ```

mod client;
mod error;
mod hosts;
mod nodes;
mod options;
mod path;
mod recipes;
mod runtime;
#[doc(hidden)]
pub mod session;
pub mod time;
mod turn;

pub mod blocking;
pub mod drive;

pub use client::Client;
pub use error::{Error, ErrorKind, LostReason, Result};
pub use nodes::{Nodes, Transaction};
pub use options::{
    AclChoice, AclEntry, Auth, ClientOptions, LeaseMode, LockOptions, Naming, RetryOptions, SaslOptions,
    TlsOptions,
};
pub use recipes::contenders::Contender;
pub use recipes::handle::Granted;
pub use recipes::held::Held;
pub use recipes::lock::Lock;
pub use recipes::multi_lock::MultiLock;
pub use recipes::read_write_lock::ReadWriteLock;
pub use recipes::semaphore::Semaphore;
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
