//! What a server may not know. Its first use tells: it is refused. Some servers hang up without a word; so what some connections
//! die on is not there, unless it has worked before.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Link, LinkState, WireError};
use crate::mutex::lock;

/// Whether the server of that session is asked for nothing that came after ZooKeeper 3.4. ZooKeeper makes its ids of a number of
/// the server and the time; ClickHouse Keeper and RaftKeeper count theirs. What came later they know in some versions, or where a
/// flag is set. Some hang up on the rest without a word, and a session of ClickHouse Keeper ends with its connection: so there is
/// no asking first.
pub(crate) fn is_counted(session: u64) -> bool {
    session != 0 && session <= u64::from(u32::MAX)
}

/// So many connections that died on it are no chance.
const DEATHS: usize = 2;
/// The same where the ids of sessions are ZooKeeper's, which refuses what it does not know. With two, in the simulation, three of 1,400
/// queues had a persistent node that was to be a container, and stayed.
const DEATHS_ON_ZOOKEEPER: usize = 4;

#[derive(Default)]
pub(crate) struct Capability {
    is_absent: AtomicBool,
    is_known: AtomicBool,
    deaths: Mutex<Deaths>,
}

/// Connections that died with a use under way.
#[derive(Default)]
struct Deaths {
    count: usize,
    /// The session and the generation of the last one that a use was told of: several on it die together.
    last: Option<(u64, u64)>,
}

impl Capability {
    /// Nobody should ask for it again.
    pub(crate) fn is_absent(&self) -> bool {
        self.is_absent.load(Ordering::Acquire)
    }

    /// It was refused, as nothing else would have been.
    pub(crate) fn refused(&self) {
        self.is_absent.store(true, Ordering::Release);
    }

    pub(crate) fn works(&self) {
        self.is_known.store(true, Ordering::Release);
    }

    /// A connection died with its use under way.
    pub(crate) fn died(&self) {
        self.died_of(DEATHS);
    }

    fn died_of(&self, enough: usize) {
        let mut deaths = lock(&self.deaths);
        deaths.count += 1;
        if deaths.count >= enough && !self.is_known.load(Ordering::Acquire) {
            self.refused();
        }
    }

    /// What came of one use in that session; `link` is how the connection stood when it was asked for.
    pub(crate) fn learn<T>(&self, session: u64, link: Link, answer: &Result<T, WireError>) {
        match answer {
            Err(WireError::Unimplemented) => self.refused(),
            Err(WireError::ConnectionLoss) if link.state == LinkState::Up => {
                let connection = Some((session, link.generation));
                let is_first = std::mem::replace(&mut lock(&self.deaths).last, connection) != connection;
                if is_first {
                    self.died_of(if is_counted(session) { DEATHS } else { DEATHS_ON_ZOOKEEPER });
                }
            }
            // It never got there, or is doubtful for another reason.
            Err(WireError::ConnectionLoss | WireError::SessionEnded) => {}
            Err(WireError::BadRequest(_) | WireError::TooLarge(_)) => {}
            _ => self.works(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSS: Result<(), WireError> = Err(WireError::ConnectionLoss);

    fn up(generation: u64) -> Link {
        Link { generation, state: LinkState::Up }
    }

    #[test]
    fn the_sessions_of_servers_that_count_them_are_known_by_their_ids() {
        assert!([1, 0x1287, u64::from(u32::MAX)].into_iter().all(is_counted));
        // Of ZooKeeper, also of a server whose number is 0; and none at all.
        assert!(![0x0100_0000_0000_0000, 0x0000_03e8_0000_0000, 0].into_iter().any(is_counted));
    }

    #[test]
    fn what_is_refused_is_not_asked_for_again() {
        let containers = Capability::default();
        containers.learn(1, up(1), &Err::<(), _>(WireError::Unimplemented));
        assert!(containers.is_absent());
    }

    #[test]
    fn what_two_connections_die_on_is_not_there() {
        let containers = Capability::default();
        containers.learn(1, up(1), &LOSS);
        let down = Link { generation: 2, state: LinkState::Down };
        containers.learn(1, down, &LOSS);
        assert!(!containers.is_absent(), "once may be chance, and without a connection nothing dies");
        containers.learn(1, up(3), &LOSS);
        assert!(containers.is_absent());
    }

    /// It refuses what it does not know; something between it and us may hang up.
    #[test]
    fn of_zookeeper_more_connections_have_to_die() {
        let containers = Capability::default();
        for generation in 1..=4 {
            assert!(!containers.is_absent(), "{generation}");
            containers.learn(0x0100_0000_0000_0000, up(generation), &LOSS);
        }
        assert!(containers.is_absent());
    }

    #[test]
    fn what_was_under_way_twice_when_a_connection_died_has_had_one_chance() {
        let containers = Capability::default();
        containers.learn(1, up(1), &LOSS);
        containers.learn(1, up(1), &LOSS);
        assert!(!containers.is_absent());
    }

    /// Some servers end the session with its connection, so that each has a first one.
    #[test]
    fn the_first_connections_of_two_sessions_are_two() {
        let containers = Capability::default();
        containers.learn(1, up(1), &LOSS);
        containers.learn(2, up(1), &LOSS);
        assert!(containers.is_absent());
    }

    #[test]
    fn what_has_worked_is_there_whatever_connections_die_of() {
        let containers = Capability::default();
        containers.learn(1, up(1), &Err::<(), _>(WireError::NodeExists));
        for generation in 1..=5 {
            containers.learn(1, up(generation), &LOSS);
        }
        assert!(!containers.is_absent());
    }
}
