//! What time alone does to a session: pings, attempts that took too long, servers that are silent, the end.

use std::time::Duration;

use zkrecipes_protocol::{Request, XID_PING};

use super::looking::Looking;
use super::{Answering, Letter, LinkState, Machine, NO_SESSION, Phase, SHAKING_HANDS};
use crate::options::{LeaseMode, LeaseTerms};
use crate::session::clock::Moment;

/// One attempt takes at least so long: a handshake on a busy machine.
const SHORTEST_ATTEMPT: Duration = Duration::from_secs(1);
const UNREACHED: &str = "has not been reached (its name takes long to look up, or it is silent)";

/// After how long without a word from the server its connection is given up, in a session with that timeout; but what was asked
/// for has all but T/18 of that in any case.
///
/// What came before a pause may be T/16 old, and the pause must not end the flight of what is answered on waking: 5T/12 is
/// more than that, the 3T/10 of a pause and the T/25 of a slow answer; without the T/18 it is more than the last two. It is no more, because the next server that is tried may
/// be the same one, which takes as long again, and another one has to be found within T. For the longer pauses where the tick is
/// known, or the lease is relaxed, it has to be 3T/5, and who is at a server that is gone without a word may lose the session.
fn silence(terms: LeaseTerms, timeout: Duration) -> Duration {
    let bears_longer = terms.is_quick(timeout) || terms.mode == LeaseMode::Relaxed;
    if bears_longer { timeout * 3 / 5 } else { timeout * 5 / 12 }
}

impl<A: Answering, W> Machine<A, W> {
    /// When time alone will change something.
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        let next = match self.phase {
            Phase::Over => return None,
            Phase::Up => {
                let look = self.looking.as_ref().and_then(Looking::at);
                [Some(self.ping_at()), self.silent_at(), look].into_iter().flatten().min()
            }
            _ => Some(self.until),
        };
        [next, self.ends_at()].into_iter().flatten().min()
    }

    /// Nobody keeps a session that long without a word.
    fn ends_at(&self) -> Option<Moment> {
        self.session.as_ref().map(|granted| self.last_heard + granted.timeout)
    }

    /// A server keeps a session for a timeout after it has heard of it.
    fn ping_at(&self) -> Moment {
        self.last_sent + self.session_timeout() / 3
    }

    /// When what the server owes an answer for longest was asked; the beginning of time for what has not left.
    pub(crate) fn owes_since(&self) -> Option<Moment> {
        let waits = (!self.queued.is_empty()).then_some(Moment::START);
        waits.or_else(|| self.in_flight.front().map(|asked| asked.sent))
    }

    /// When a server that owes an answer is given up: it is silent, or says much and answers nothing.
    fn silent_at(&self) -> Option<Moment> {
        let (owed, timeout) = (self.in_flight.front()?.sent, self.session_timeout());
        let silence = silence(self.options.terms(), timeout);
        // What was asked late has its time, too: nobody may have asked for a while, or been able to.
        let silent = (self.last_heard + silence).max(owed + (silence - timeout / 18));
        Some(silent.min(self.last_answered.max(owed) + timeout))
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Moment) {
        if !self.is_over() && self.ends_at().is_some_and(|at| now >= at) {
            self.cause.get_or_insert_with(|| "no server was heard of for the session timeout".to_owned());
            return self.end(LinkState::Unheard);
        }
        self.look(now);
        match self.phase {
            Phase::Up if self.silent_at().is_some_and(|at| now >= at) => {
                self.hung_up("the server is silent", now);
            }
            Phase::Up if now >= self.ping_at() => self.send_own(XID_PING, Letter::of(&Request::Ping), now),
            Phase::Up | Phase::Over => {}
            _ if now < self.until => {}
            Phase::Pausing if self.is_closing && self.session.is_none() => self.end(LinkState::Ended),
            Phase::Pausing => {
                self.attempt += 1;
                self.noted.note_first(self.servers.current(), UNREACHED.into());
                self.enter_phase(Phase::Dialling { is_told: false }, now + self.most_an_attempt());
            }
            Phase::Dialling { .. } if self.noted.is_shaking_hands(self.servers.current()) => {
                self.hung_up(SHAKING_HANDS, now);
            }
            Phase::Dialling { .. } => {
                let most = self.most_an_attempt();
                self.hung_up(format!("is silent (no connection within {most:?})"), now);
            }
            Phase::Greeting | Phase::Proving => self.hung_up(NO_SESSION, now),
        }
    }

    /// Who waits for the session is to know of each server what is wrong with it when the time is over.
    fn most_an_attempt(&self) -> Duration {
        let (servers, is_new) = (self.servers.many() as u32, self.session.is_none());
        // In a session one more: behind a server that was silent all of them, and that one again.
        let share = servers + 1 + u32::from(!is_new);
        let most = (self.session_timeout() / share).max(SHORTEST_ATTEMPT);
        if is_new { most.min(self.options.connect_timeout / servers) } else { most }
    }
}
