//! A ZooKeeper server in your own process, in memory, for development and tests.
//!
//! It speaks ZooKeeper's wire protocol, so any client connects to it, and it can be made to misbehave on purpose.
//! Nothing is stored: when it stops, everything is gone. Do not use it in production.
//!
//! ```
//! use zkrecipes_embedded::{Fault, Server};
//!
//! let server = Server::start()?;
//! println!("connect to {}", server.connect_string());
//! server.inject(Fault::drop_after("create*").path("/locks/**"));
//! // … run the code under test …
//! println!("{} requests, {} of them creates", server.log().len(), server.count("create*", "**"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! - [`Server`]: start, stop, restart, expire sessions, move the clock.
//! - [`Control`]: pause, break connections, inject faults, read the request log; of a server as of a proxy.
//! - [`Ensemble`]: several servers as one, with followers that lag and can be cut off.
//! - [`Fault`]: what can go wrong, and when.
//! - [`Proxy`]: the same faults in front of a real server.
//! - [`machine`]: the same server without sockets and clocks, for deterministic simulation.

mod control;
pub mod faults;
mod log;
pub mod machine;
mod proxy;
mod server;
mod shell;

pub use control::Control;
pub use faults::{Fault, FaultId};
pub use log::{LogEntry, Outcome};
pub use machine::{Dialect, digest};
pub use proxy::Proxy;
pub use server::{Builder, Ensemble, Server};
/// The bytes: requests, replies and events.
pub use zkrecipes_protocol as wire;
