//! While the server only reads, because it has lost its quorum, others are asked whether they write. A session that such a
//! server has begun is local: it ends with the connection. Without the option `read_only` no such server is taken.

use std::time::Duration;

use super::{Answering, Machine, Phase};
use crate::hosts::Server;
use crate::session::clock::Moment;

/// The first pause, and the longest: as ZooKeeper's own client has them.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

pub(super) struct Looking {
    pause: Duration,
    /// How many have been asked.
    asked: usize,
    step: LookStep,
}

enum LookStep {
    Pausing(Moment),
    /// One is to be asked.
    Due,
    Asking,
}

impl Looking {
    pub(super) fn begin(now: Moment) -> Looking {
        Looking { pause: SHORTEST, asked: 0, step: LookStep::Pausing(now + SHORTEST) }
    }

    /// When it goes on by itself.
    pub(super) fn at(&self) -> Option<Moment> {
        match self.step {
            LookStep::Pausing(until) => Some(until),
            LookStep::Due | LookStep::Asking => None,
        }
    }
}

impl<A: Answering, W> Machine<A, W> {
    pub(super) fn look(&mut self, now: Moment) {
        if let Some(looking) = &mut self.looking
            && matches!(self.phase, Phase::Up)
            && looking.at().is_some_and(|at| now >= at)
        {
            looking.step = LookStep::Due;
        }
    }

    /// A server that is to be asked whether it has a quorum, once, and the attempt whose connection has none.
    pub(crate) fn question(&mut self) -> Option<(u64, Server)> {
        let looking = self.looking.as_mut().filter(|looking| matches!(looking.step, LookStep::Due))?;
        looking.step = LookStep::Asking;
        let server = self.servers.other(looking.asked).clone();
        looking.asked += 1;
        Some((self.attempt, server))
    }

    /// What it said: whether it has one. Then the session goes there.
    pub(crate) fn learnt(&mut self, attempt: u64, server: &Server, has_quorum: bool, now: Moment) {
        let Some(looking) = self.looking.as_mut().filter(|_| self.attempt == attempt) else { return };
        if !has_quorum {
            looking.pause = (looking.pause * 2).min(LONGEST);
            looking.step = LookStep::Pausing(now + looking.pause);
            return;
        }
        self.hung_up("the server has no quorum, and another one has", now);
        self.servers.begin_with(server);
        if matches!(self.phase, Phase::Pausing) {
            self.until = now;
        }
    }
}
