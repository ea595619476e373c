//! The server: a thin TCP shell around the [machine](crate::machine).

mod builder;
mod clock;
mod ensemble;
mod notes;
mod world;

pub use builder::Builder;
pub use ensemble::Ensemble;

use crate::control::Control;
use crate::machine::Machine;
use crate::shell::{Handle, Shared, Shell, State};
use std::io;
use std::ops::Deref;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use world::World;

/// A running server. Clones are handles to the same one; with the last of them it stops. What can be done to a
/// [`Proxy`](crate::Proxy) as well, such as faults and the request log, is its [`Control`].
///
/// ```
/// use zkrecipes_embedded::Server;
///
/// let server = Server::start()?;
/// assert!(server.connect_string().starts_with("127.0.0.1:"));
/// assert_eq!(server.sessions(), []);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Server {
    control: Control,
    shared: Arc<Shared<World>>,
}

impl Deref for Server {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("addresses", &self.shared.addresses).finish_non_exhaustive()
    }
}

impl Server {
    /// Starts a server on a free port of 127.0.0.1.
    pub fn start() -> io::Result<Server> {
        Server::builder().start()
    }

    pub fn builder() -> Builder {
        Builder::new()
    }

    fn running((handle, shared): (Handle, Arc<Shared<World>>)) -> Server {
        Server { control: Control::new(handle), shared }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.lock()
    }

    fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.shared.change(change)
    }

    /// Stops as if the process had ended: connections break, new ones are refused. Nodes, sessions and the port are
    /// kept for [`Server::restart`].
    pub fn stop(&self) {
        let mut world = self.world();
        if matches!(world.desk.state, State::Running | State::Paused) {
            world.desk.state = State::Stopped;
            world.drop_all_connections();
            (0..self.shared.addresses.len()).for_each(|door| world.desk.close_port(door));
        }
    }

    /// Starts again on the same port with all nodes and sessions; every session has its whole timeout again.
    ///
    /// # Errors
    /// If the system did not let the port be kept and it has been taken meanwhile, or the server was shut down for good.
    pub fn restart(&self) -> io::Result<()> {
        self.stop();
        let shared = &self.shared;
        let mut world = self.world();
        if world.desk.state == State::Gone {
            return Err(io::Error::other("the server was shut down for good"));
        }
        for door in 0..shared.addresses.len() {
            if !world.cluster.has_stopped(door) {
                world.desk.reopen(door)?;
            }
        }
        world.desk.state = State::Running;
        let now = world.clock.now();
        world.cluster.restart(now);
        drop(world);
        shared.wake();
        Ok(())
    }

    /// Forgets all nodes, sessions and zxids, as a server whose disk was lost. Connections break.
    pub fn lose_state(&self) {
        self.change(|world| {
            world.drop_all_connections();
            world.cluster.lose_state();
        });
    }

    /// Ends a session as if its time had come: its connection breaks, its ephemeral nodes go. False if there is none.
    pub fn expire(&self, session_id: u64) -> bool {
        self.change(|world| world.cluster.leader_mut().expire(session_id as i64))
    }

    /// Stops the clock sessions live by: none expires.
    pub fn freeze_clock(&self) {
        self.change(|world| world.clock.freeze());
    }

    /// Moves the clock sessions live by. Sessions whose time has come expire before this returns.
    pub fn advance_clock(&self, by: Duration) {
        self.change(|world| {
            world.clock.advance(by);
            if world.desk.state == State::Running {
                world.pass_time();
            }
        });
    }

    /// Lets the clock go on from where it stands.
    pub fn thaw_clock(&self) {
        self.change(|world| world.clock.thaw());
    }

    /// Sets the suffix that the next sequential child of a node gets. False if there is no such node.
    pub fn set_next_sequence(&self, path: &str, next: i32) -> bool {
        self.change(|world| {
            let set = |found, member: &mut Machine| member.set_next_sequence(path, next) | found;
            world.cluster.members_mut().iter_mut().fold(false, set)
        })
    }

    /// Sets the version of a node's data, as if it had been written that often. False if there is no such node.
    pub fn set_data_version(&self, path: &str, version: i32) -> bool {
        self.change(|world| {
            let set = |found, member: &mut Machine| member.set_data_version(path, version) | found;
            world.cluster.members_mut().iter_mut().fold(false, set)
        })
    }

    /// Sets how far the clock that nodes are stamped with is ahead of this machine's, in milliseconds; behind it, if
    /// negative. Sessions live by another one, which does not notice.
    pub fn set_stamps_ahead(&self, millis: i64) {
        self.change(|world| world.clock.set_stamps_ahead(millis));
    }

    /// Switches to serving reads only, or back. Clients that are connected stay.
    pub fn set_read_only(&self, read_only: bool) {
        self.change(|world| world.cluster.members_mut().iter_mut().for_each(|m| m.set_read_only(read_only)));
    }

    pub fn watch_count(&self) -> usize {
        self.world().cluster.members().iter().map(Machine::watch_count).sum()
    }

    /// Nodes, with the root and the three system nodes.
    pub fn node_count(&self) -> usize {
        self.world().cluster.leader().node_count()
    }

    /// Every path outside `/zookeeper`, sorted.
    pub fn nodes(&self) -> Vec<String> {
        self.world().cluster.leader().paths()
    }

    /// What `nodes` was called before.
    #[doc(hidden)]
    pub fn dump_paths(&self) -> Vec<String> {
        self.nodes()
    }

    /// Nodes, sessions and zxids as bytes, for [`Builder::saved`] of another server: what a restart would keep.
    pub fn save(&self) -> Vec<u8> {
        self.world().cluster.leader().save()
    }

    /// The last transaction.
    pub fn zxid(&self) -> i64 {
        self.world().cluster.leader().zxid()
    }
}
