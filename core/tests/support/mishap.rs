//! What can happen to one request of a verb.

use std::time::Duration;

use zkrecipes_embedded::Fault;

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
}

pub const MISHAPS: [Mishap; 7] = [
    Mishap::RequestLost,
    Mishap::ReplyLost,
    Mishap::ReplyLostAndSessionExpired,
    Mishap::AnsweredExpired,
    Mishap::CallDropped,
    Mishap::CallCancelled,
    Mishap::ServerRestarted,
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
        }
    }
}
