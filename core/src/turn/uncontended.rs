//! Acquiring without a list, for who has the same path time after time and nobody in between.
//!
//! The server numbers the children of a path as they are created, whoever creates them. Who had the turn with number *n* had
//! nobody ahead that it would have to wait for. Has it let go since, and is its next node number *n + 1*, then nobody has
//! created a node meanwhile, and it has the turn again.
//!
//! That is so as long as the path is the same node. One that was removed and made again begins anew at zero, and by chance
//! could give just that number to who stands behind somebody else. So it is watched: on one connection the server tells that
//! it was removed before it answers a create that came after that. After a reconnection, and whenever the number is another
//! one, a list decides as always. Who does not come again soon watches nothing any more.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::FutureExt;

use super::place::Node;
use crate::mutex::lock;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::clock::{Clock, Moment};
use crate::session::server_session::ServerSession;
use crate::session::wire::{Flight, Stat, Watch};

/// How often in a row number must have followed number before the path is watched: to set the watch and to give it back is two
/// requests, and who came so often may come as often again.
const WORTH_A_WATCH: u32 = 6;
/// Who comes again within this comes soon.
const SOON: Duration = Duration::from_secs(1);
/// How many paths one session watches for this: each costs memory of the server, and is set again behind each reconnection.
const MOST_WATCHED: usize = 200;

/// What one handle remembers of the line that it queues in.
#[derive(Default)]
pub(crate) struct Uncontended {
    /// A forked child has neither its watch nor the locks below that.
    last: UnlessForked<Mutex<Last>>,
}

/// How its last node stood.
#[derive(Default)]
struct Last {
    server_session: Weak<ServerSession>,
    number: i32,
    czxid: i64,
    came: Moment,
    /// It had the turn, and its deletion has left.
    has_let_go: bool,
    /// How often in a row such a number was soon followed by the next one.
    in_a_row: u32,
    parent: Option<Parent>,
    /// Somebody sees to it that it does not stay for nothing.
    is_attended: bool,
}

/// The path, watched on one connection.
struct Parent {
    /// `None` when it has told something.
    watch: Option<Watch>,
    generation: u64,
    /// One of those that the session has for this.
    _room: Arc<()>,
}

impl Parent {
    /// Whether it certainly is the node that it was.
    fn stands(&mut self, server_session: &ServerSession) -> bool {
        // What has told something is not asked again.
        self.watch.take_if(|watch| watch.now_or_never().is_some());
        self.watch.is_some() && server_session.link().generation == self.generation
    }
}

/// What is to leave with a create.
pub(super) enum Beside {
    /// Nothing: who gets this number has the turn.
    Nothing(i32),
    /// A list, and ahead of the create a watch of the path if that is worth it by now.
    List(Option<PathWatch>),
}

/// A watch of the path, on its way.
pub(super) struct PathWatch {
    flight: Flight<(Option<Stat>, Watch)>,
    generation: u64,
    room: Arc<()>,
}

impl PathWatch {
    /// It left ahead of a create that has been answered, so its own answer is there.
    fn arrived(self) -> Option<Parent> {
        let (_, watch) = self.flight.now_or_never()?.ok()?;
        Some(Parent { watch: Some(watch), generation: self.generation, _room: self.room })
    }
}

impl Last {
    fn is_of(&self, server_session: &Arc<ServerSession>) -> bool {
        std::ptr::eq(self.server_session.as_ptr(), Arc::as_ptr(server_session))
    }

    /// The number that proves by itself that it is our turn. At the end of the range numbers prove nothing.
    fn next(&self) -> Option<i32> {
        self.number.checked_add(1).filter(|next| self.has_let_go && *next > 0 && *next < i32::MAX)
    }
}

impl Uncontended {
    fn last(&self) -> MutexGuard<'_, Last> {
        lock(&self.last)
    }

    /// To be asked right before the create leaves: whatever this session has let go of by then is deleted ahead of it.
    pub(super) fn beside(&self, server_session: &Arc<ServerSession>, path: &str) -> Beside {
        let mut last = self.last();
        if !last.is_of(server_session) {
            return Beside::List(None);
        }
        last.parent.take_if(|parent| !parent.stands(server_session));
        let Some(next) = last.next().filter(|_| last.in_a_row >= WORTH_A_WATCH) else {
            return Beside::List(None);
        };
        if last.parent.is_some() {
            return Beside::Nothing(next);
        }
        let room = server_session.watched_parents.clone();
        if Arc::strong_count(&room) > MOST_WATCHED {
            return Beside::List(None);
        }
        let (generation, flight) = (server_session.link().generation, server_session.watch_exists(path));
        Beside::List(Some(PathWatch { flight, generation, room }))
    }

    /// Whether `node` has the turn, without a list.
    pub(super) fn has_turn(&self, server_session: &Arc<ServerSession>, node: &Node, beside: &Beside) -> bool {
        let Beside::Nothing(expected) = beside else { return false };
        let mut last = self.last();
        last.is_of(server_session)
            && last.next() == Some(*expected)
            && node.entry.sequence == *expected
            && last.parent.as_mut().is_some_and(|parent| parent.stands(server_session))
    }

    /// Remembers that `node` stands in line now, and what became of the watch that left ahead of it.
    pub(super) fn remember(
        self: &Arc<Self>,
        session: &Session,
        server_session: &Arc<ServerSession>,
        node: &Node,
        beside: Beside,
    ) {
        let arrived = match beside {
            Beside::List(Some(watching)) => watching.arrived(),
            _ => None,
        };
        let mut last = self.last();
        if !last.is_of(server_session) {
            let is_attended = last.is_attended;
            *last = Last { server_session: Arc::downgrade(server_session), is_attended, ..Last::default() };
        }
        let (now, follows) = (session.now(), last.next() == Some(node.entry.sequence));
        let is_soon = now.since(last.came) < SOON;
        last.in_a_row = if follows && is_soon { last.in_a_row.saturating_add(1) } else { 0 };
        (last.number, last.czxid) = (node.entry.sequence, node.czxid);
        (last.came, last.has_let_go) = (now, false);
        if arrived.is_some() {
            last.parent = arrived;
        }
        if last.parent.is_some() && !std::mem::replace(&mut last.is_attended, true) {
            session
                .clock()
                .spawn(Box::pin(Uncontended::attend(Arc::downgrade(self), session.clock().clone())));
        }
    }

    /// Gives the watch back when nobody comes any more.
    async fn attend(alone: Weak<Uncontended>, clock: Arc<dyn Clock>) {
        loop {
            clock.sleep_until(clock.now() + SOON).await;
            let Some(alone) = alone.upgrade() else { return };
            let mut last = alone.last();
            if last.parent.is_none() || clock.now().since(last.came) >= SOON {
                (last.parent, last.in_a_row, last.is_attended) = (None, 0, false);
                return;
            }
        }
    }

    /// `node` had the turn, and its deletion has left.
    pub(super) fn let_go(&self, server_session: &Arc<ServerSession>, node: &Node) {
        let mut last = self.last();
        last.has_let_go =
            last.is_of(server_session) && (last.number, last.czxid) == (node.entry.sequence, node.czxid);
    }
}
