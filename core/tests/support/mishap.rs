//! What can happen to one request of a verb.

use std::iter::StepBy;
use std::ops::RangeInclusive;
use std::time::Duration;

use zkrecipes_embedded::Fault;

use super::ground::Ground;

/// What happens to the k-th request of the client under test.
#[derive(Copy, Clone, Debug)]
pub enum Mishap {
    RequestLost,
    ReplyLost,
    ReplyLostAndSessionExpired,
    AnsweredExpired,
    CallDropped,
    CallCancelled,
    ServerRestarted,
    /// The server says that it has too much to do.
    Throttled,
    /// Nothing comes through any more, for longer than a client believes in such a connection; then all of it does.
    LinkStalled,
}

pub const MISHAPS: [Mishap; 9] = [
    Mishap::RequestLost,
    Mishap::ReplyLost,
    Mishap::ReplyLostAndSessionExpired,
    Mishap::AnsweredExpired,
    Mishap::CallDropped,
    Mishap::CallCancelled,
    Mishap::ServerRestarted,
    Mishap::Throttled,
    Mishap::LinkStalled,
];

impl Mishap {
    pub fn fault(self) -> Fault {
        // Pings and connects are not requests of a verb.
        match self {
            Mishap::RequestLost => Fault::drop_before("*"),
            Mishap::ReplyLost | Mishap::ReplyLostAndSessionExpired | Mishap::ServerRestarted => {
                Fault::drop_after("*")
            }
            Mishap::AnsweredExpired => Fault::answer_expired("*"),
            Mishap::CallDropped | Mishap::CallCancelled => {
                Fault::delay_reply("*", Duration::from_millis(150))
            }
            Mishap::Throttled => Fault::answer_throttled("*"),
            Mishap::LinkStalled => Fault::delay_request("*", STALL),
        }
    }

    /// The session timeout of the client to which it happens.
    pub fn session_timeout(self) -> Duration {
        match self {
            // Told that its session is over although it lives, its nodes stand until the server finds out.
            Mishap::AnsweredExpired | Mishap::LinkStalled => Duration::from_millis(1500),
            _ => Duration::from_secs(4),
        }
    }
}

/// For how long a stalled link stalls: longer than a client with `session_timeout` waits for a sign of life.
const STALL: Duration = Duration::from_millis(1300);

/// No verb makes more.
const MOST: u64 = 80;
/// On a real server a mishap may take seconds: there only one request in so many meets it, unless all is to be tested.
const EVERY: usize = 6;

fn is_all() -> bool {
    std::env::var_os("ZKR_ALL").is_some()
}

/// The requests that are to meet a mishap, one after the other, until there is none left to hit.
pub struct Sweep {
    requests: StepBy<RangeInclusive<u64>>,
    /// The last one that was tried, and the last before it, which was hit.
    tried: u64,
    hit: u64,
    is_whole: bool,
}

impl Sweep {
    pub fn of(ground: &Ground, mishap: Mishap) -> Sweep {
        let is_whole = matches!(ground, Ground::Embedded(_)) || is_all();
        Sweep::from(is_whole, mishap as u64)
    }

    /// Where another sweep has met most of them: only one request in so many, on any server, unless all is to be tested. With another
    /// `turn` they are others.
    pub fn in_part(mishap: Mishap, turn: usize) -> Sweep {
        Sweep::from(is_all(), mishap as u64 + turn as u64)
    }

    fn from(is_whole: bool, turn: u64) -> Sweep {
        let every = if is_whole { 1 } else { EVERY };
        // Not the same requests for each.
        let first = 1 + turn % every as u64;
        Sweep { requests: (first..=MOST).step_by(every), tried: 0, hit: 0, is_whole }
    }

    /// The next one; the one before was hit.
    pub fn next(&mut self) -> Option<u64> {
        self.hit = self.tried;
        self.tried = self.requests.next()?;
        Some(self.tried)
    }

    /// There must have been so many, or the test is not about what it says.
    pub fn expect(&self, least: u64, what: &str) {
        let least = if self.is_whole { least } else { 1 };
        assert!(self.hit >= least, "{what} met only {} requests", self.hit);
    }
}
