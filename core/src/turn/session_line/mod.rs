//! The line of a session: its contenders on one path, in the order of their numbers.
//!
//! At the server only the foremost of them watches anybody. Who stands right behind another one of the line waits in memory:
//! nothing can be theirs before it was that one's. Who lets go has its deletion on its way first, and then passes the turn to
//! the next in memory, without an answer: everybody else's node stands behind both.
//!
//! 1. A contender stands **right behind** another one of ours if a list that was taken after its creation says so, or if its
//!    number is the next one and the path is certainly the node that it was (see [`watched_path`]). Those whose creates left
//!    earlier may not have come yet: until then it waits, too.
//! 2. Where one leaves the line that waits in memory itself, the next one stands behind the one before. Where the foremost
//!    leaves, the next one looks.
//! 3. The turn is passed on only if the owner saw no reason against it (see [`Hold`](super::hold::Hold)), the next one's node
//!    was seen to stand a short time ago on this connection, the session is certain for long enough, and not too many deletions
//!    are unconfirmed. Else the next one looks, behind the deletion.
//! 4. A node of ours whose create or deletion is in doubt is in no line: it is watched like a stranger's.
//!
//! Readers and writers wait for others than the one right ahead, so none of them waits here. Their numbers prove as much.

mod position;
mod watched_path;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::task::Waker;

pub(crate) use position::{Arrival, Joined, Passed, Position};
use watched_path::{SOON, WatchedPath};

use super::name::{ContenderName, Kind};
use super::order::Contenders;
use super::place::TurnRequest;
use super::revocation::is_request;
use crate::mutex::lock;
use crate::path;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::clock::{Clock, Moment};
use crate::session::contenders_ahead::{AheadAtLastLook, ContendersAhead};
use crate::session::server_session::shared_lists::{Listed, SharedNames};
use crate::session::server_session::{ServerSession, Tenant};
use crate::session::wire::{Event, Link, LinkState, Stat, WireError};
use crate::sync::{Mutex, MutexGuard};

/// How many deletions may be unconfirmed while the turn is passed on: so far may others see who held behind who holds.
const MOST_UNCONFIRMED: usize = 32;

/// The lines of a client, by path.
#[derive(Default)]
struct Lines(Mutex<BTreeMap<String, Vec<Weak<Line>>>>);

/// What a handle remembers of the line that it stood in last. So a line lasts as long as who comes and goes there.
#[derive(Default)]
pub(crate) struct LastLine(UnlessForked<Mutex<Option<Arc<Line>>>>);

pub(crate) struct Line {
    server_session: Weak<ServerSession>,
    session_id: u64,
    path: String,
    kind: Kind,
    identity: Box<str>,
    clock: Arc<dyn Clock>,
    lines: Weak<Lines>,
    /// A forked child has neither its watch nor the locks below that.
    inner: UnlessForked<Mutex<LineInner>>,
}

#[derive(Default)]
struct LineInner {
    /// In the order of their numbers.
    contenders: VecDeque<LineContender>,
    /// The creates that have left and of whose answers nothing is known here, in the order in which they left, each with its
    /// connection. What left on an earlier one is in doubt, and nobody waits for it.
    arriving: VecDeque<(u64, u64)>,
    next_serial: u64,
    /// The numbers of those who wait for one that is arriving.
    unlinked: Vec<i32>,
    /// Creates that left before this did not see the deletion of who had the turn last: they have it by their number only if it
    /// is passed on.
    turn_from: u64,
    is_open: bool,
    /// The list that was taken note of last.
    listed: Weak<Listed>,
    /// Era and number of the last one that has left the line: who gets the next number stands right behind the last one that
    /// is in it, or has the turn if there is none.
    tail: Option<(u32, i32)>,
    path: WatchedPath,
    /// Turns that were passed on over nodes whose deletion is not answered.
    unconfirmed: usize,
    /// A deletion was refused: nothing is passed on any more.
    is_refused: bool,
    /// Since when a node of the line is gone that somebody else has taken away: what was seen before says nothing any more.
    doubted: Moment,
    /// Somebody sees to it that nothing is watched for nothing, and that who waits long is watched.
    is_attended: bool,
    /// Who was the foremost in memory when that one looked last.
    foremost: Option<i32>,
}

/// When a request left, and on which connection.
#[derive(Copy, Clone)]
pub(crate) struct Departure {
    at: Moment,
    generation: u64,
}

impl Departure {
    pub(super) fn now(server_session: &ServerSession, at: Moment) -> Departure {
        let link = server_session.link();
        // What is asked for while there is none leaves on the next one.
        Departure { at, generation: link.generation + u64::from(link.state != LinkState::Up) }
    }
}

/// A node of ours.
struct LineContender {
    entry: ContenderName,
    number: i32,
    /// Of its create.
    serial: u64,
    era: u32,
    behind: StandsBehind,
    has_turn: bool,
    /// It is known to have stood when this was asked for.
    seen: Departure,
    /// The connection on which it was to be watched last, and on which it is, if nothing has been told.
    asked_on: Option<u64>,
    watched_on: Option<u64>,
    /// Its node was taken away, whether or not its owner knows.
    is_gone: bool,
    /// It waits in memory no more, because somebody has written it, or it is to know at once who is ahead.
    is_written: bool,
    news: Option<TurnNews>,
    waker: Option<Waker>,
    tenant: Option<Weak<dyn Tenant>>,
    /// Whether the turn may pass from it before its node is gone.
    passes: bool,
    /// Whether it moves behind all others when it is asked to.
    moves: bool,
    /// What it says, unless it is the identity alone, and when it was created, if the server told it.
    says: Option<Box<[u8]>>,
    since: Option<i64>,
    /// What it knows itself of those ahead of it.
    ahead: Option<Arc<ContendersAhead>>,
}

/// Behind whom a contender stands.
enum StandsBehind {
    /// A stranger, or nobody: it looks for itself.
    Stranger,
    /// The one before it in the line.
    Previous,
    /// That one, if its create is one of those that left earlier and have not arrived.
    Arriving(Expected),
}

/// Which one is right ahead. One of its number may be of a path that was deleted since.
enum Expected {
    /// The one with that number of the same era.
    Number(i32),
    /// The one that a list has named.
    Name(Box<str>),
}

/// What who waits in memory is told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum TurnNews {
    /// It has the turn.
    Turn,
    /// It is to look for itself.
    Look,
}

impl Line {
    /// The line of that session in which `request` stands.
    pub(super) fn of(request: &TurnRequest<'_>, server_session: &Arc<ServerSession>) -> Arc<Line> {
        let Some(LastLine(last)) = request.last_line else {
            return Line::find(request.session, server_session, request.path, request.kind);
        };
        let mut last = lock(last);
        match &*last {
            Some(line) if std::ptr::eq(line.server_session.as_ptr(), Arc::as_ptr(server_session)) => {
                line.clone()
            }
            _ => {
                let line = Line::find(request.session, server_session, request.path, request.kind);
                let before = last.replace(line.clone());
                drop(last);
                drop(before);
                line
            }
        }
    }

    fn find(session: &Session, server_session: &Arc<ServerSession>, path: &str, kind: Kind) -> Arc<Line> {
        let lines = session.extensions.of::<Lines>();
        let mut by_path = lock(&lines.0);
        let here = by_path.entry(path.to_owned()).or_default();
        let is_it = |line: &Arc<Line>| {
            line.kind == kind && std::ptr::eq(line.server_session.as_ptr(), Arc::as_ptr(server_session))
        };
        // Kept until the lock is not held any more: the last that knows a line takes it out.
        let lines_here: Vec<_> = here.iter().filter_map(Weak::upgrade).collect();
        if let Some(line) = lines_here.iter().find(|line| is_it(line)) {
            let line = line.clone();
            drop(by_path);
            return line;
        }
        let line = Arc::new(Line {
            server_session: Arc::downgrade(server_session),
            session_id: server_session.session_id(),
            path: path.to_owned(),
            kind,
            identity: session.identity().into(),
            clock: session.clock().clone(),
            lines: Arc::downgrade(&lines),
            inner: UnlessForked::default(),
        });
        here.push(Arc::downgrade(&line));
        drop(by_path);
        line
    }

    fn inner(&self) -> MutexGuard<'_, LineInner> {
        lock(&self.inner)
    }

    /// Sees to what takes long, for as long as anything does.
    fn attend(self: &Arc<Line>, inner: &mut LineInner) {
        if !std::mem::replace(&mut inner.is_attended, true) {
            let (line, clock) = (Arc::downgrade(self), self.clock.clone());
            self.clock.spawn(Box::pin(async move {
                loop {
                    clock.sleep_until(clock.now() + SOON).await;
                    let Some(line) = line.upgrade() else { return };
                    if !line.look_after() {
                        return;
                    }
                }
            }));
        }
    }

    /// Gives the watch of the path back if nobody comes, and watches the node of the foremost that waits in memory if it has
    /// waited for so long. False if there is nothing to see to any more.
    fn look_after(self: &Arc<Line>) -> bool {
        let server_session = self.server_session.upgrade();
        let here = server_session.as_ref().map_or(u64::MAX, |session| session.link().generation);
        let mut inner = self.inner();
        if server_session.as_ref().is_none_or(|session| session.has_ended()) {
            let waiting = inner.contenders.iter_mut().filter(|one| one.waits());
            let woken: Vec<_> = waiting.filter_map(LineContender::looks).collect();
            inner.is_attended = false;
            drop(inner);
            wake(woken);
            return false;
        }
        let mut woken = Vec::new();
        inner.forgets_arrivals_before(here);
        inner.links_arrived(&mut woken);
        // What nobody looks at may never arrive.
        let now = self.clock.now();
        let is_late = |one: &&mut LineContender| one.is_unlinked() && now.since(one.seen.at) >= SOON;
        for one in inner.contenders.iter_mut().filter(is_late) {
            one.is_written = true;
            woken.extend(one.looks());
        }
        let (is_given_back, watched) = inner.path.is_given_back(now);
        let foremost = inner.contenders.iter().position(LineContender::waits);
        let number = foremost.map(|at| inner.contenders[at].number);
        let stays = std::mem::replace(&mut inner.foremost, number) == number;
        // It, and whose end it waits for: that one's owner may not hear of it, or not be awake.
        let unwatched = foremost.filter(|_| stays).into_iter().flat_map(|at| at.saturating_sub(1)..=at);
        let unwatched = unwatched.map(|at| &inner.contenders[at]).filter(|one| one.asked_on != Some(here));
        let unwatched: Vec<_> = unwatched.map(|one| (one.number, one.entry.name.clone())).collect();
        inner.is_attended = foremost.is_some() || !is_given_back;
        let goes_on = inner.is_attended;
        drop(inner);
        drop(watched);
        wake(woken);
        let up = Link { generation: here, state: LinkState::Up };
        if let Some(server_session) = server_session.filter(|session| session.link() == up) {
            unwatched.into_iter().for_each(|(number, name)| self.watch(&server_session, number, name));
        }
        goes_on
    }

    /// Watches a node of the line.
    fn watch(self: &Arc<Line>, server_session: &Arc<ServerSession>, number: i32, name: String) {
        let generation = server_session.link().generation;
        self.of_number(number, &name, |one| one.asked_on = Some(generation));
        let (node, line) = (path::join(&self.path, &name), Arc::downgrade(self));
        let flight = server_session.watch_data(&node);
        self.clock.spawn(Box::pin(async move {
            let told = match flight.await {
                Ok((data, _, watch)) => {
                    let Some(line) = line.upgrade() else { return };
                    let waits = line.of_number(number, &name, |one| {
                        one.watched_on = Some(generation);
                        one.waits()
                    });
                    drop(line);
                    if waits == Some(true) && is_request(&data) { Event::DataChanged } else { watch.await }
                }
                Err(WireError::NoNode) => Event::Deleted,
                Err(WireError::SessionEnded) => Event::SessionEnded,
                Err(error) => {
                    let line = line.upgrade().filter(|_| error.is_unanswered());
                    line.and_then(|line| line.of_number(number, &name, |one| one.asked_on = None));
                    return;
                }
            };
            if let Some(line) = line.upgrade() {
                wake(line.hears(number, &name, told));
            }
        }));
    }

    /// What happened to a node of the line. Where one is asked to move, so are the others most of the time, whose nodes nobody
    /// watches: all look.
    fn hears(&self, number: i32, name: &str, told: Event) -> Vec<Waker> {
        let is_written = told == Event::DataChanged;
        let heard = self.of_number(number, name, |one| {
            (one.watched_on, one.is_gone) = (None, !is_written);
            one.asked_on.take_if(|_| is_written);
            one.is_written |= is_written;
            (one.waits(), one.moves)
        });
        let mut inner = self.inner();
        let (Some((waits, moves)), Ok(at)) = (heard, inner.at(number)) else { return Vec::new() };
        let look = match waits {
            true if is_written && moves => at..inner.contenders.len(),
            true => at..at + 1,
            // Who waits for it is not kept waiting by what its owner has not heard yet.
            false if is_written => 0..0,
            false => at + 1..inner.contenders.len().min(at + 2),
        };
        let looking = inner.contenders.range_mut(look).filter(|one| one.waits());
        let woken = looking.filter_map(|one| {
            one.is_written |= is_written;
            one.looks()
        });
        woken.collect()
    }

    fn of_number<T>(
        &self,
        number: i32,
        name: &str,
        change: impl FnOnce(&mut LineContender) -> T,
    ) -> Option<T> {
        let mut inner = self.inner();
        let at = inner.at(number).ok()?;
        let one = &mut inner.contenders[at];
        (one.entry.name == name).then(|| change(one))
    }

    /// Those who hold hear whether their nodes stand, and those who are about to look, if they were not seen since `moment`: one
    /// was found gone then that nobody of ours has deleted.
    fn holders_look(&self, moment: Moment) {
        let mut inner = self.inner();
        inner.doubted = inner.doubted.max(moment);
        let unseen = inner.contenders.iter().filter(|one| one.seen.at <= moment);
        let holders: Vec<_> = unseen.filter_map(|one| one.tenant.clone()).collect();
        drop(inner);
        holders.iter().filter_map(Weak::upgrade).for_each(|holder| holder.is_written());
    }
}

impl LineContender {
    /// Whether it waits in memory.
    fn waits(&self) -> bool {
        !self.has_turn && !matches!(self.behind, StandsBehind::Stranger)
    }

    /// Whether it only waits to know who is ahead of it.
    fn is_unlinked(&self) -> bool {
        matches!(self.behind, StandsBehind::Arriving(_))
    }

    fn is_told(&mut self, news: TurnNews) -> Option<Waker> {
        self.news = Some(news);
        self.waker.take()
    }

    fn looks(&mut self) -> Option<Waker> {
        self.behind = StandsBehind::Stranger;
        self.is_told(TurnNews::Look)
    }

    /// Whether it was seen to stand a short time ago.
    fn stands(&self, server_session: &ServerSession, now: Moment, doubted: Moment) -> bool {
        let here = server_session.link().generation;
        let of_late = server_session.session_timeout() / 8;
        let is_new = self.seen.generation == here && now.since(self.seen.at) < of_late;
        self.seen.at > doubted && (is_new || self.watched_on == Some(here))
    }
}

impl LineInner {
    fn at(&self, number: i32) -> Result<usize, usize> {
        self.contenders.binary_search_by_key(&number, |one| one.number)
    }

    fn of(&mut self, number: i32) -> Option<&mut LineContender> {
        let at = self.at(number).ok()?;
        self.contenders.get_mut(at)
    }

    /// Whether who got `number` in that era stands right behind the last one of the line, or has the turn if there is none.
    fn is_next(&mut self, server_session: &ServerSession, era: u32, number: i32) -> bool {
        let Some(before) = number.checked_sub(1).filter(|before| *before >= 0) else { return false };
        let is_ours = self.tail == Some((era, before)) || self.of(before).is_some_and(|one| one.era == era);
        is_ours && self.path.proves(server_session, era)
    }

    /// A create is answered, or of no use.
    fn has_arrived(&mut self, serial: u64, woken: &mut Vec<Waker>) {
        if let Ok(at) = self.arriving.binary_search_by_key(&serial, |(serial, _)| *serial) {
            self.arriving.remove(at);
        }
        self.links_arrived(woken);
    }

    /// Those who waited for one that was arriving look, if it was not the one right ahead of them.
    fn links_arrived(&mut self, woken: &mut Vec<Waker>) {
        let first = self.first_arriving();
        let mut unlinked = std::mem::take(&mut self.unlinked);
        unlinked.retain(|number| {
            let Some(one) = self.of(*number) else { return false };
            let waits = one.is_unlinked();
            if waits && one.serial <= first {
                woken.extend(one.looks());
            }
            waits && one.serial > first
        });
        self.unlinked = unlinked;
    }

    /// The serial of the first create that is on its way.
    fn first_arriving(&self) -> u64 {
        self.arriving.front().map_or(u64::MAX, |(serial, _)| *serial)
    }

    fn forgets_arrivals_before(&mut self, generation: u64) {
        while self.arriving.front().is_some_and(|(_, left_on)| *left_on < generation) {
            self.arriving.pop_front();
        }
    }

    /// The one before `at` has come: who waited for it stands right behind it.
    fn is_joined(&mut self, at: usize) {
        let (come, Some(next)) = (&self.contenders[at], self.contenders.get(at + 1)) else { return };
        let is_expected = match &next.behind {
            StandsBehind::Arriving(Expected::Number(number)) => {
                (come.number, come.era) == (*number, next.era)
            }
            StandsBehind::Arriving(Expected::Name(name)) => come.entry.name == **name,
            _ => false,
        };
        if is_expected {
            self.contenders[at + 1].behind = StandsBehind::Previous;
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // In a forked child the lines are the parent's.
        let Some(lines) = self.lines.upgrade().filter(|_| self.inner.process().is_present()) else { return };
        let mut by_path = lock(&lines.0);
        if let Some(here) = by_path.get_mut(&self.path) {
            here.retain(|line| line.strong_count() > 0);
            if here.is_empty() {
                by_path.remove(&self.path);
            }
        }
    }
}

fn wake(woken: impl IntoIterator<Item = Waker>) {
    woken.into_iter().for_each(Waker::wake);
}
