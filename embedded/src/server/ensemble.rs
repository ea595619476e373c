//! Several servers as one ensemble.

use super::Server;
use crate::shell::State;
use std::io;
use std::time::Duration;

/// Several servers that are one ensemble, with followers that lag and can be cut off, as real ones do.
///
/// Member 0 leads and the others follow. A follower answers reads and pings by itself, from what it knows so far, and
/// passes writes on to the leader. What its clients see may therefore be old, until they ask for a `sync`.
///
/// ```
/// use std::time::Duration;
/// use zkrecipes_embedded::Ensemble;
///
/// let ensemble = Ensemble::start(3)?;
/// assert_eq!(ensemble.server().connect_string().split(',').count(), 3);
/// ensemble.lag(2, Duration::from_millis(50));
/// assert!(ensemble.isolate(1));
/// assert!(!ensemble.isolate(2), "the leader needs a majority");
/// ensemble.heal(1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ensemble {
    server: Server,
}

impl Ensemble {
    pub(super) fn new(server: Server) -> Self {
        Ensemble { server }
    }

    /// Starts an ensemble on free ports of 127.0.0.1. For settings, see
    /// [`Builder::start_ensemble`](super::Builder::start_ensemble).
    ///
    /// # Errors
    /// If no ports are free.
    pub fn start(members: usize) -> io::Result<Ensemble> {
        Server::builder().start_ensemble(members)
    }

    /// Everything else a server can do, for all members at once: stop and restart, sessions, clocks, faults, the log.
    ///
    /// In the log, and for faults on replies, an answer that a member must wait for counts as given at once.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// What clients of one member connect to.
    pub fn member(&self, member: usize) -> Option<String> {
        self.server.shared.addresses.get(member).map(ToString::to_string)
    }

    pub fn len(&self) -> usize {
        self.server.shared.addresses.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }

    /// How late a follower learns of transactions, and of answers to what it passed on. False if there is no such
    /// follower.
    pub fn lag(&self, follower: usize, lag: Duration) -> bool {
        self.server.change(|world| {
            let now = world.clock.now();
            world.cluster.set_lag(follower, lag, now)
        })
    }

    /// Keeps everything from a follower until [`Ensemble::release`]. Its clients get no answers to writes, and old
    /// ones to reads.
    pub fn hold(&self, follower: usize) -> bool {
        self.lag(follower, Duration::MAX)
    }

    /// Lets a follower catch up.
    pub fn release(&self, follower: usize) -> bool {
        self.lag(follower, Duration::ZERO)
    }

    /// Cuts a follower off from the leader. It goes on answering reads and pings, but vouches for nobody: its
    /// clients' sessions may expire. After five ticks it sends them away and takes no others until
    /// [`Ensemble::heal`]. False if there is no such follower, or the leader would be left without a majority.
    pub fn isolate(&self, follower: usize) -> bool {
        self.server.change(|world| {
            let now = world.clock.now();
            world.cluster.isolate(follower, now)
        })
    }

    /// Connects a follower again: it learns what it missed. False if it was not cut off.
    pub fn heal(&self, follower: usize) -> bool {
        self.server.change(|world| world.cluster.heal(follower))
    }

    /// Stops one follower as if its process had ended: its connections break, and new ones are refused. If that leaves
    /// no majority, the others send their clients away too, and take none until enough have started again, or only
    /// such as can live with reads alone: see
    /// [`Builder::read_only_without_quorum`](super::Builder::read_only_without_quorum). Sessions do not expire
    /// meanwhile. False if there is no such follower, or it has stopped already.
    pub fn stop_member(&self, follower: usize) -> bool {
        self.server.change(|world| {
            let now = world.clock.now();
            let stopped = world.cluster.stop_member(follower, now);
            if stopped {
                world.desk.close_port(follower);
            }
            stopped
        })
    }

    /// Starts a follower again on its port. False if it had not stopped.
    ///
    /// # Errors
    /// If the port has been taken meanwhile.
    pub fn start_member(&self, follower: usize) -> io::Result<bool> {
        self.server.change(|world| {
            let now = world.clock.now();
            let started = world.cluster.start_member(follower, now);
            if started && world.desk.state != State::Stopped {
                world.desk.reopen(follower)?;
            }
            Ok(started)
        })
    }

    /// Whether a majority of the members is there.
    pub fn has_quorum(&self) -> bool {
        self.server.world().cluster.has_quorum()
    }

    /// How many transactions a member is behind the leader.
    pub fn behind(&self, member: usize) -> i64 {
        let world = self.server.world();
        let leader = world.cluster.leader().zxid();
        world.cluster.members().get(member).map_or(0, |m| leader - m.zxid())
    }
}
