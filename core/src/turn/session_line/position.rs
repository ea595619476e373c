//! A contender's own view of its line: coming, waiting, having the turn, and going.

use std::task::{Context, Poll};

use super::*;
use crate::turn::place::Node;

/// What a line keeps room for that nobody stands in.
const FEW: usize = 64;

/// A create that has left. Dropped, it is of no use to the line.
pub(crate) struct Arrival {
    line: Arc<Line>,
    serial: u64,
    era: u32,
    left: Departure,
    passes: bool,
    moves: bool,
}

/// How a contender stands that has come.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Joined {
    Turn,
    InMemory,
    /// A list has to tell, if it has not done so.
    Unknown,
}

impl Line {
    /// To be asked right before a create leaves: whatever this session has let go of by then is deleted ahead of it.
    pub(in crate::turn) fn arrive(
        self: &Arc<Line>,
        server_session: &Arc<ServerSession>,
        left: Departure,
        request: &TurnRequest<'_>,
    ) -> Arrival {
        let mut inner = self.inner();
        let serial = inner.next_serial;
        inner.next_serial += 1;
        inner.forgets_arrivals_before(left.generation);
        inner.arriving.push_back((serial, left.generation));
        let era = inner.path.era_of_create(server_session, &self.path);
        if era != 0 {
            self.attend(&mut inner);
        }
        drop(inner);
        let (passes, moves) = (request.passes, request.priority.is_some());
        Arrival { line: self.clone(), serial, era, left, passes, moves }
    }
}

impl Arrival {
    /// Whether the number alone may tell how it stands.
    pub(in crate::turn) fn needs_no_list(&self, server_session: &ServerSession) -> bool {
        let mut inner = self.line.inner();
        let is_known = match inner.contenders.back() {
            Some(last) => self.line.kind.is_plain() && last.era == self.era,
            None => {
                inner.tail.is_some_and(|(era, _)| era == self.era)
                    || (self.line.kind.is_plain() && inner.arriving.len() > 1)
            }
        };
        is_known && inner.path.proves(server_session, self.era)
    }

    /// Whether a node of the line stands already, and so the path does.
    pub(in crate::turn) fn finds_others(&self) -> bool {
        self.line.inner().contenders.iter().any(|one| !one.is_gone)
    }

    /// The node was created. What it says, and what the server said of it, is for those who ask who holds.
    pub(in crate::turn) fn joins(
        self,
        server_session: &ServerSession,
        node: &Node,
        says: &[u8],
        stat: Option<Stat>,
    ) -> Option<(Position, Joined)> {
        let number = node.entry.sequence;
        if node.entry.is_late() {
            return None;
        }
        let (line, is_plain) = (self.line.clone(), self.line.kind.is_plain());
        let mut inner = line.inner();
        // This one is among them yet.
        let on_the_way = inner.arriving.len().saturating_sub(1);
        inner.path.comes(number, on_the_way, line.clock.now());
        // Two of one number there are only where the path was made anew.
        let Err(at) = inner.at(number) else { return None };
        let is_next = inner.is_next(server_session, self.era, number);
        inner.forgets_arrivals_before(self.left.generation);
        let are_arriving = inner.first_arriving() < self.serial;
        let (behind, joined) = match is_next {
            // Who had it last passes it on, or has deleted its node ahead of this create.
            true if at == 0 && !inner.is_refused && (inner.is_open || self.serial >= inner.turn_from) => {
                (StandsBehind::Stranger, Joined::Turn)
            }
            true if at > 0 && is_plain && !inner.contenders[at - 1].is_gone => {
                (StandsBehind::Previous, Joined::InMemory)
            }
            false if is_plain && are_arriving && inner.path.proves(server_session, self.era) => {
                (StandsBehind::Arriving(Expected::Number(number - 1)), Joined::InMemory)
            }
            _ => (StandsBehind::Stranger, Joined::Unknown),
        };
        let contender = LineContender {
            entry: node.entry.clone(),
            number,
            serial: self.serial,
            era: self.era,
            behind,
            has_turn: joined == Joined::Turn,
            seen: self.left,
            asked_on: None,
            watched_on: None,
            is_gone: false,
            is_written: false,
            news: None,
            waker: None,
            tenant: None,
            passes: self.passes,
            moves: self.moves,
            says: (says != line.identity.as_bytes()).then(|| says.into()),
            since: stat.map(|stat| stat.ctime),
            ahead: None,
        };
        if contender.is_unlinked() {
            inner.unlinked.push(number);
        }
        inner.contenders.insert(at, contender);
        inner.is_joined(at);
        if joined == Joined::InMemory {
            line.attend(&mut inner);
        }
        drop(inner);
        // Behind the insertion: those who waited for this create find it.
        drop(self);
        Some((Position { line, number }, joined))
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if self.line.inner.process().is_present() {
            let mut woken = Vec::new();
            self.line.inner().has_arrived(self.serial, &mut woken);
            wake(woken);
        }
    }
}

/// The place of a node of ours in its line, until this is dropped.
pub(crate) struct Position {
    line: Arc<Line>,
    number: i32,
}

impl Position {
    /// Whether it is that of `node`.
    pub(in crate::turn) fn is_of(&self, node: &Node) -> bool {
        self.number == node.entry.sequence && path::parent(&node.path) == self.line.path
    }

    /// Whether it waits in memory.
    pub(in crate::turn) fn waits(&self) -> bool {
        self.line.inner().of(self.number).is_some_and(|one| one.waits() || one.news.is_some())
    }

    /// What there is to act on.
    pub(in crate::turn) fn poll_news(&self, context: &mut Context<'_>) -> Poll<TurnNews> {
        let mut inner = self.line.inner();
        let Some(one) = inner.of(self.number) else { return Poll::Ready(TurnNews::Look) };
        match one.news.take() {
            Some(news) => Poll::Ready(news),
            None => {
                if one.waker.as_ref().is_none_or(|waker| !waker.will_wake(context.waker())) {
                    one.waker = Some(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    /// Whether it only waits to know who is ahead of it.
    pub(in crate::turn) fn is_unlinked(&self) -> bool {
        self.line.inner().of(self.number).is_some_and(|one| one.is_unlinked())
    }

    /// It looks for itself from now on: something has happened to its node, or it has no time to wait for others.
    pub(in crate::turn) fn leaves_memory(&self) {
        if let Some(one) = self.line.inner().of(self.number) {
            (one.is_written, one.behind) = (true, StandsBehind::Stranger);
        }
    }

    /// Whether the node was seen to stand a short time ago.
    pub(in crate::turn) fn stands(&self, server_session: &ServerSession) -> bool {
        let (now, mut inner) = (self.line.clock.now(), self.line.inner());
        let doubted = inner.doubted;
        inner.of(self.number).is_some_and(|one| one.stands(server_session, now, doubted))
    }

    /// A list has the node. Answers whether it waits in memory from now on, as the one right ahead of it is of this line.
    pub(in crate::turn) fn is_listed(&self, names: &SharedNames, asked: Departure) -> bool {
        let mut inner = self.line.inner();
        let contenders = Contenders::of(names);
        let Ok(at) = inner.at(self.number) else { return false };
        let closest = contenders.before(&inner.contenders[at].entry).iter().next_back().cloned();
        inner.forgets_arrivals_before(asked.generation);
        let first_arriving = inner.first_arriving();
        let before = at.checked_sub(1).map(|before| &inner.contenders[before].entry.name);
        let is_ours = closest.as_ref().is_some_and(|closest| before == Some(&closest.name));
        let one = &mut inner.contenders[at];
        one.seen = asked;
        if one.has_turn || one.is_written || !self.line.kind.is_plain() {
            return false;
        }
        one.behind = match closest {
            Some(_) if is_ours => StandsBehind::Previous,
            Some(closest) if first_arriving < one.serial => {
                StandsBehind::Arriving(Expected::Name(closest.name.into()))
            }
            _ => StandsBehind::Stranger,
        };
        let (waits, number) = (one.waits(), one.number);
        if one.is_unlinked() {
            inner.unlinked.push(number);
        }
        if waits {
            inner.contenders[at].news = None;
            self.line.attend(&mut inner);
        }
        waits
    }

    /// What a list says of the others of the line.
    pub(in crate::turn) fn lists(&self, names: &SharedNames, asked: Departure) {
        let (mut inner, contenders) = (self.line.inner(), Contenders::of(names));
        // Many may have been given one and the same list.
        if !self.line.kind.is_plain() || std::ptr::eq(inner.listed.as_ptr(), Arc::as_ptr(names)) {
            return;
        }
        inner.listed = Arc::downgrade(names);
        for one in &mut inner.contenders {
            if one.seen.at <= asked.at && contenders.has(&one.entry) {
                one.seen = asked;
            }
        }
    }

    /// It has the turn, by what it has seen itself.
    pub(in crate::turn) fn has_turn(&self) {
        if let Some(one) = self.line.inner().of(self.number) {
            one.has_turn = true;
        }
    }

    /// It is held by `tenant`. Answers whether that is to look whether its node stands.
    pub(in crate::turn) fn is_held_by(&self, tenant: Weak<dyn Tenant>) -> bool {
        let mut inner = self.line.inner();
        let doubted = inner.doubted;
        inner.of(self.number).is_some_and(|one| {
            one.tenant = Some(tenant);
            one.seen.at <= doubted
        })
    }

    /// How many of the line are ahead of it.
    pub(in crate::turn) fn ahead(&self) -> usize {
        let inner = self.line.inner();
        inner.at(self.number).unwrap_or_default()
    }

    /// Notes in `contenders_ahead` who is ahead, as the line knows it whenever somebody asks. The next ones ask the foremost.
    pub(in crate::turn) fn tells(&self, contenders_ahead: &Arc<ContendersAhead>) {
        let (line, number) = (Arc::downgrade(&self.line), self.number);
        if let Some(one) = self.line.inner().of(number) {
            one.ahead = Some(contenders_ahead.clone());
        }
        if self.waits() {
            contenders_ahead.asks(Arc::new(move || line.upgrade()?.ahead_of(number)));
        }
    }

    /// It held, and its deletion has left. The next one has the turn if it may be passed on: the answer is to be told what
    /// becomes of the deletion.
    pub(in crate::turn) fn lets_go(mut self, may_pass: bool) -> Passed {
        let number = std::mem::replace(&mut self.number, -1);
        let (line, at) = (self.line.clone(), self.line.clock.now());
        Passed { is_counted: line.leave(number, Some(may_pass)), line, at }
    }
}

impl Drop for Position {
    fn drop(&mut self) {
        if self.line.inner.process().is_present() {
            self.line.leave(self.number, None);
        }
    }
}

impl Line {
    /// One leaves the line; `lets_go` if it held and its deletion has left, with whether the turn may be passed on. Answers
    /// whether it is: to the next one, or to one that is on its way.
    fn leave(self: &Arc<Line>, number: i32, lets_go: Option<bool>) -> bool {
        let server_session = self.server_session.upgrade();
        let mut inner = self.inner();
        let Ok(at) = inner.at(number) else { return false };
        let Some(gone) = inner.contenders.remove(at) else { return false };
        let is_linked = match gone.has_turn {
            true => lets_go.is_some(),
            false => matches!(gone.behind, StandsBehind::Previous) && at > 0,
        };
        if inner.contenders.is_empty() {
            // What a crowd took.
            inner.contenders.shrink_to(FEW);
        }
        let tail = inner.tail.max(Some((gone.era, number)));
        inner.tail = tail.filter(|_| is_linked);
        let can_pass = lets_go == Some(true)
            && gone.passes
            && gone.has_turn
            && !inner.is_refused
            && inner.unconfirmed < MOST_UNCONFIRMED
            && server_session.as_ref().is_some_and(|session| session.is_firm());
        let (mut woken, mut is_passed) = (None, can_pass);
        let (now, doubted) = (self.clock.now(), inner.doubted);
        if let Some(next) = inner.contenders.get_mut(at)
            && !next.has_turn
            && matches!(next.behind, StandsBehind::Previous)
            && (gone.has_turn || !is_linked)
        {
            is_passed = can_pass && server_session.is_some_and(|session| next.stands(&session, now, doubted));
            if is_passed {
                next.has_turn = true;
                woken = next.is_told(TurnNews::Turn);
            } else {
                woken = next.looks();
            }
        }
        inner.unconfirmed += usize::from(is_passed);
        if gone.has_turn {
            (inner.turn_from, inner.is_open) = (inner.next_serial, is_passed);
        }
        drop(inner);
        wake(woken);
        is_passed
    }

    /// Who is ahead of one that waits in memory.
    fn ahead_of(&self, number: i32) -> Option<AheadAtLastLook> {
        let inner = self.inner();
        let at = inner.at(number).ok()?;
        let first = inner.contenders.front().filter(|_| at > 0)?;
        if first.has_turn {
            let says = first.says.as_deref().unwrap_or(self.identity.as_bytes());
            // All that is asked of the metadata of a contender.
            let stat = |ctime| Stat { ctime, ephemeral_owner: self.session_id as i64, ..Stat::default() };
            let node = first.since.map(|since| (says.to_vec(), stat(since)));
            return Some(AheadAtLastLook::known(&self.path, first.entry.name.clone(), at, node));
        }
        let foremost = first.ahead.clone()?;
        drop(inner);
        let mut ahead = foremost.ahead()?;
        ahead.count += at;
        Some(ahead)
    }
}

/// The turn of one that has let go, passed on or not, while the deletion of its node is not answered.
pub(crate) struct Passed {
    line: Arc<Line>,
    /// Among those that were passed on.
    is_counted: bool,
    /// When it let go.
    at: Moment,
}

impl Passed {
    /// Nobody lets us delete it: nothing is passed on any more.
    pub(in crate::turn) fn is_refused(&self) {
        self.line.inner().is_refused = true;
    }

    /// It may stand for longer: a number proves nothing behind it.
    pub(in crate::turn) fn is_unanswered(&self) {
        let mut inner = self.line.inner();
        (inner.tail, inner.is_open) = (None, false);
    }

    /// Somebody else had deleted it, and perhaps more.
    pub(in crate::turn) fn was_gone(&self) {
        self.line.holders_look(self.at);
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        if self.line.inner.process().is_present() {
            self.line.inner().unconfirmed -= usize::from(self.is_counted);
        }
    }
}
