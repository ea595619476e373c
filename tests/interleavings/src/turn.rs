//! As `core/src/turn/mod.rs`: the line of a session, and turns that are passed on between the owners of one node.

use std::sync::Arc;

use crate::error::Result;
use crate::plays::handoff;
use crate::session::call::Call;
use crate::session::server_session::ServerSession;

#[path = "../../../core/src/turn/local_handoff.rs"]
pub(crate) mod local_handoff;
#[path = "../../../core/src/turn/name.rs"]
pub(crate) mod name;
#[path = "../../../core/src/turn/order.rs"]
pub(crate) mod order;
#[path = "../../../core/src/turn/session_line/mod.rs"]
pub(crate) mod session_line;

pub(crate) mod place {
    use std::sync::Arc;

    use super::name::{ContenderName, Kind};
    use super::session_line::LastLine;
    use crate::session::Session;

    pub(crate) struct TurnRequest<'a> {
        pub(crate) session: &'a Arc<Session>,
        pub(crate) path: &'a str,
        pub(crate) kind: Kind,
        pub(crate) last_line: Option<&'a LastLine>,
        pub(crate) passes: bool,
        pub(crate) priority: Option<i32>,
    }

    impl<'a> TurnRequest<'a> {
        pub(crate) fn of(
            session: &'a Arc<Session>,
            path: &'a str,
            last_line: Option<&'a LastLine>,
        ) -> TurnRequest<'a> {
            TurnRequest { session, path, kind: Kind::Lock, last_line, passes: true, priority: None }
        }
    }

    pub(crate) struct Node {
        pub(crate) path: String,
        pub(crate) entry: ContenderName,
    }
}

pub(crate) mod revocation {
    pub(super) fn is_request(_data: &[u8]) -> bool {
        false
    }
}

pub(crate) mod grant {
    use std::sync::Arc;

    use super::local_handoff::HandoffGuard;
    use crate::session::server_session::ServerSession;

    /// The turn, until this is dropped.
    pub(crate) struct Grant {
        pub(crate) server_session: Arc<ServerSession>,
        pub(crate) handoff: Option<HandoffGuard>,
        pub(crate) won: crate::plays::handoff::Won,
    }

    impl Grant {
        pub(crate) fn stands(&self) -> bool {
            true
        }
    }
}

/// Queues at the server.
async fn take(request: &place::TurnRequest<'_>, _call: &mut Call) -> Result<grant::Grant> {
    let server_session: Arc<ServerSession> = request.session.server_session();
    Ok(grant::Grant { server_session, handoff: None, won: handoff::win(request.session).await })
}

/// Of the whole line, for the plays of it.
pub(crate) mod line {
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use super::name::ContenderName;
    use super::place::{Node, TurnRequest};
    use super::session_line::{Arrival, Departure, Joined, Line, Passed, Position, TurnNews};
    use crate::session::server_session::ServerSession;
    use crate::session::server_session::shared_lists::SharedNames;

    /// A create that is about to leave.
    pub(crate) fn arrive(request: &TurnRequest<'_>, server_session: &Arc<ServerSession>) -> Arrival {
        let line = Line::of(request, server_session);
        line.arrive(server_session, departure(server_session), request)
    }

    pub(crate) fn needs_no_list(arrival: &Arrival, server_session: &Arc<ServerSession>) -> bool {
        arrival.needs_no_list(server_session)
    }

    pub(crate) fn joins(
        arrival: Arrival,
        server_session: &Arc<ServerSession>,
        path: &str,
        name: &str,
    ) -> (Position, Joined) {
        let entry = ContenderName::recognise(name).expect("a contender");
        let node = Node { path: format!("{path}/{name}"), entry };
        arrival.joins(server_session, &node, b"", None).expect("it is in its line")
    }

    pub(crate) fn poll_news(position: &Position, context: &mut Context<'_>) -> Poll<TurnNews> {
        position.poll_news(context)
    }

    pub(crate) fn departure(server_session: &ServerSession) -> Departure {
        Departure::now(server_session, crate::session::clock::Moment(1))
    }

    /// Whether it waits in memory, by a list that left then.
    pub(crate) fn is_listed(position: &Position, names: &SharedNames, asked: Departure) -> bool {
        position.is_listed(names, asked)
    }

    /// The same for a list that is not the first.
    pub(crate) fn is_listed_again(position: &Position, names: &SharedNames, asked: Departure) -> bool {
        position.lists(names, asked);
        position.is_listed(names, asked)
    }

    pub(crate) fn stands(position: &Position, server_session: &ServerSession) -> bool {
        position.stands(server_session)
    }

    pub(crate) fn waits(position: &Position) -> bool {
        position.waits()
    }

    pub(crate) fn has_turn(position: &Position) {
        position.has_turn();
    }

    pub(crate) fn lets_go(position: Position) -> Passed {
        position.lets_go(true)
    }
}
