//! The server: a thin TCP shell around the [machine](crate::machine).

mod builder;
mod clock;
mod ensemble;
mod notes;
mod world;

pub use builder::Builder;
pub use ensemble::Ensemble;

use crate::faults::{Fault, FaultId};
use crate::log::LogEntry;
use crate::machine::Machine;
use crate::shell::{Handle, Shell, State};
use std::io;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use world::World;

/// A running server. Clones are handles to the same one; with the last of them it stops.
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
    handle: Arc<Handle<World>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("addresses", &self.handle.shared.addresses).finish_non_exhaustive()
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

    /// What clients connect to: `127.0.0.1:PORT`; for an ensemble, all members with commas between.
    pub fn connect_string(&self) -> String {
        self.handle.shared.connect_string()
    }

    /// The port, of the first member in an ensemble.
    pub fn port(&self) -> u16 {
        self.handle.shared.addresses[0].port()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.handle.shared.lock()
    }

    /// Changes the world, sends what came of it, and has the loop look at its timers again.
    fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.world();
        let result = change(&mut world);
        world.dispatch(None);
        world.flush();
        drop(world);
        self.handle.shared.wake();
        result
    }

    /// Stops as if the process had ended: connections break, new ones are refused. Nodes, sessions and the port are
    /// kept for [`Server::restart`].
    pub fn stop(&self) {
        let mut world = self.world();
        if matches!(world.desk.state, State::Running | State::Paused) {
            world.desk.state = State::Stopped;
            world.drop_all_connections();
            (0..self.handle.shared.addresses.len()).for_each(|door| world.desk.close_port(door));
        }
    }

    /// Starts again on the same port with all nodes and sessions; every session has its whole timeout again.
    ///
    /// # Errors
    /// If the system did not let the port be kept and it has been taken meanwhile, or the server was shut down for good.
    pub fn restart(&self) -> io::Result<()> {
        self.stop();
        let shared = &self.handle.shared;
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

    /// Stops for good. Also happens when the last handle is dropped.
    pub fn shutdown(&self) {
        self.handle.shutdown();
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

    /// Breaks all connections. Sessions live on, and clients may come back at once.
    pub fn drop_connections(&self) {
        self.change(World::drop_all_connections);
    }

    /// Stops reading and answering, while connections stay up. The session clock goes on.
    pub fn pause(&self) {
        let mut world = self.world();
        if world.desk.state == State::Running {
            world.desk.state = State::Paused;
        }
    }

    /// Goes on after [`Server::pause`]. Sessions whose time came meanwhile expire first.
    pub fn resume(&self) {
        self.change(|world| {
            if world.desk.state == State::Paused {
                world.desk.state = State::Running;
                world.pass_time();
                world.look_at_everything();
            }
        });
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

    /// Switches to serving reads only, or back. Clients that are connected stay.
    pub fn set_read_only(&self, read_only: bool) {
        self.change(|world| world.cluster.members_mut().iter_mut().for_each(|m| m.set_read_only(read_only)));
    }

    /// Injects a fault; it fires once unless it says otherwise. See [`faults`](crate::faults).
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.world().desk.inject(fault)
    }

    /// Injects a fault from text, such as `"drop_after create2 path=/locks/** nth=2"`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the text.
    pub fn inject_text(&self, fault: &str) -> Result<FaultId, String> {
        Ok(self.inject(Fault::parse(fault)?))
    }

    /// Removes all faults that are still waiting or still in force.
    pub fn clear_faults(&self) {
        self.change(|world| {
            world.desk.rules.clear();
            world.break_robbed();
        });
    }

    /// Whether a fault has fired, once at least.
    pub fn fault_fired(&self, id: FaultId) -> bool {
        self.world().desk.rules.fired(id)
    }

    /// The requests so far, oldest first.
    pub fn log(&self) -> Vec<LogEntry> {
        self.world().desk.log.to_vec()
    }

    pub fn clear_log(&self) {
        self.world().desk.log.clear();
    }

    /// How many requests of a kind reached the server, by patterns: `count("create*", "/locks/**")`. `"*"` for the
    /// kind leaves out pings and handshakes; a multi counts for each of its paths that match, once.
    pub fn count(&self, op: &str, path_glob: &str) -> usize {
        self.world().desk.log.count(op, path_glob)
    }

    /// Waits until a request that matches is in the log, those before the call included. False if none came in time.
    ///
    /// `matches` runs while the server waits for it: it must not call the server.
    pub fn wait_for(&self, matches: impl Fn(&LogEntry) -> bool, within: Duration) -> bool {
        self.handle.shared.wait_for(matches, within)
    }

    /// Ids of the sessions that live, sorted.
    pub fn sessions(&self) -> Vec<u64> {
        self.world().cluster.leader().sessions().into_iter().map(|id| id as u64).collect()
    }

    pub fn connections(&self) -> usize {
        self.world().connections()
    }

    pub fn watch_count(&self) -> usize {
        self.world().cluster.members().iter().map(Machine::watch_count).sum()
    }

    /// Nodes, with the root and the three system nodes.
    pub fn node_count(&self) -> usize {
        self.world().cluster.leader().node_count()
    }

    /// Every path outside `/zookeeper`, sorted.
    pub fn dump_paths(&self) -> Vec<String> {
        self.world().cluster.leader().paths()
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
