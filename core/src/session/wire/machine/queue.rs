//! What is asked of a session: a queue of requests, of which only so many are in flight at once.

use std::collections::VecDeque;

use zkrecipes_protocol::{Op, Request, SubWrite, Writer};

use super::{
    Answering, AskedWatch, Link, LinkState, Machine, Output, Phase, WatchId, WatchSubject, WireError,
};
use crate::session::clock::Moment;

/// A request as it leaves, but for its number.
pub(crate) struct Letter {
    op: Op,
    pub(super) frame: Vec<u8>,
    /// Others that wait are no reason for it to wait.
    is_exempt: bool,
    /// The connection on which it may leave; `None` for any.
    generation: Option<u64>,
}

impl Letter {
    pub(crate) fn of(request: &Request<'_>) -> Letter {
        let mut frame = Writer::request(0, request.op());
        request.write(&mut frame);
        Letter { op: request.op(), frame: frame.finish(), is_exempt: is_exempt(request), generation: None }
    }

    /// To leave on that connection or not at all, if one is given.
    pub(crate) fn on(self, generation: Option<u64>) -> Letter {
        Letter { generation, ..self }
    }

    /// Not ahead of those that wait, though it could be.
    pub(crate) fn in_order(self) -> Letter {
        Letter { is_exempt: false, ..self }
    }

    pub(crate) fn op(&self) -> Op {
        self.op
    }

    /// Behind its length.
    pub(super) fn numbered(mut self, xid: i32) -> Letter {
        self.frame[4..8].copy_from_slice(&xid.to_be_bytes());
        self
    }

    /// The same read, without a watch: whether it sets one is the last that it says.
    fn without_watch(mut self) -> Letter {
        self.frame.pop();
        self.frame.push(0);
        self
    }
}

/// Heartbeats, and what deletes and nothing else.
fn is_exempt(request: &Request<'_>) -> bool {
    let is_harmless =
        |write: &SubWrite<'_>| matches!(write, SubWrite::Check { .. } | SubWrite::Delete { .. });
    match request {
        Request::Sync { .. } | Request::Write(SubWrite::Delete { .. }) => true,
        Request::Multi(writes) => writes.iter().all(is_harmless),
        _ => false,
    }
}

/// A request that has not left, or has no answer yet.
pub(super) struct Asked<A, W> {
    pub(super) xid: i32,
    pub(super) op: Op,
    /// The whole frame; empty once it has left.
    frame: Vec<u8>,
    /// When it left.
    pub(super) sent: Moment,
    /// None for what the machine asks of its own accord.
    pub(super) answer: Option<A>,
    pub(super) watch: Option<Wanted<W>>,
    /// It counts among those in flight, of which there are only so many.
    pub(super) is_counted: bool,
    /// It could not leave at once: until it does it can be withdrawn.
    has_to_wait: bool,
    /// It leaves on the connection that there is, or not at all.
    is_bound: bool,
}

impl<A, W> Asked<A, W> {
    fn new(letter: Letter, xid: i32) -> Asked<A, W> {
        let Letter { op, frame, is_exempt, generation } = letter.numbered(xid);
        let (answer, watch) = (None, None);
        let (is_counted, is_bound, has_to_wait) = (!is_exempt, generation.is_some(), false);
        Asked { xid, op, frame, sent: Moment::START, answer, watch, is_counted, has_to_wait, is_bound }
    }
}

/// The watch that a request sets.
pub(crate) struct Wanted<W> {
    pub(super) kind: WatchSubject,
    pub(super) path: String,
    pub(super) id: WatchId,
    pub(super) watcher: W,
}

impl<W> Wanted<W> {
    pub(crate) fn new(kind: WatchSubject, path: &str, id: WatchId, watcher: W) -> Wanted<W> {
        Wanted { kind, path: path.to_owned(), id, watcher }
    }
}

impl<A: Answering, W> Machine<A, W> {
    /// Asks for something. `watch` is the watch that the request sets.
    pub(crate) fn request(&mut self, mut letter: Letter, answer: A, watch: Option<Wanted<W>>, now: Moment) {
        if self.is_over() || self.is_closing {
            let error = match self.link.state {
                LinkState::Denied => WireError::AuthFailed,
                _ => WireError::SessionEnded,
            };
            return self.outputs.push(Output::Answered(answer, Err(error)));
        }
        if letter.generation.is_some_and(|generation| !self.is_on(generation)) {
            return self.outputs.push(Output::Answered(answer, Err(WireError::NotSent)));
        }
        // What is followed tells without one.
        if watch.as_ref().is_some_and(|wanted| self.watches.is_followed(&wanted.path)) {
            letter = letter.without_watch();
        }
        self.enqueue(letter, Some(answer), watch);
        self.pump(now);
    }

    /// Asks for something of its own accord.
    pub(super) fn ask(&mut self, request: &Request<'_>, now: Moment) {
        self.enqueue(Letter::of(request), None, None);
        self.pump(now);
    }

    fn enqueue(&mut self, letter: Letter, answer: Option<A>, watch: Option<Wanted<W>>) {
        let xid = self.next_xid;
        // Negative numbers mean something else.
        self.next_xid = xid.checked_add(1).unwrap_or(1);
        let has_to_wait = matches!(self.phase, Phase::Up) && self.is_full();
        let asked = Asked { answer, watch, has_to_wait, ..Asked::new(letter, xid) };
        self.uncounted += usize::from(!asked.is_counted);
        if let Some(Wanted { kind, path, id, .. }) = &asked.watch {
            self.asked_watches.add(*kind, path, *id);
        }
        self.queued.push_back(asked);
    }

    /// Whether this is the connection that there is.
    fn is_on(&self, generation: u64) -> bool {
        self.link == Link { generation, state: LinkState::Up }
    }

    /// The connection is gone on which these were to leave.
    pub(super) fn refuse_bound(&mut self) {
        let (bound, left): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.queued).into_iter().partition(|asked| asked.is_bound);
        self.queued = left;
        for asked in bound {
            self.has_gone(&asked);
            self.uncounted -= usize::from(!asked.is_counted);
            if let Some(answer) = asked.answer {
                self.outputs.push(Output::Answered(answer, Err(WireError::NotSent)));
            }
        }
    }

    fn is_full(&self) -> bool {
        self.counted >= self.options.max_in_flight as usize
    }

    /// Sends what waits and may leave.
    pub(super) fn pump(&mut self, now: Moment) {
        if !matches!(self.phase, Phase::Up) {
            return;
        }
        while let Some(at) = self.next_to_leave()
            && let Some(asked) = self.queued.remove(at)
        {
            self.uncounted -= usize::from(!asked.is_counted);
            if !(asked.has_to_wait && asked.answer.as_ref().is_some_and(A::is_forsaken)) {
                self.counted += usize::from(asked.is_counted);
                self.send(asked, now);
            } else {
                self.has_gone(&asked);
            }
        }
        if self.is_closing && self.queued.is_empty() && !self.close_has_left {
            self.close_has_left = true;
            self.send_own(0, Letter::of(&Request::Close), now);
        }
    }

    /// Where in the queue it is. What keeps or ends what is held does not wait for the rest.
    fn next_to_leave(&self) -> Option<usize> {
        if !self.is_full() {
            return (!self.queued.is_empty()).then_some(0);
        }
        (self.uncounted > 0).then(|| self.queued.iter().position(|asked| !asked.is_counted)).flatten()
    }

    /// Its watch is not asked for any more; what happened to it meanwhile.
    pub(super) fn has_gone(&mut self, asked: &Asked<A, W>) -> AskedWatch {
        let watch = asked.watch.as_ref();
        watch.map_or_else(AskedWatch::default, |wanted| {
            self.asked_watches.remove(wanted.kind, &wanted.path, wanted.id)
        })
    }

    /// Sends at once what belongs to the connection, and counts for nothing.
    pub(super) fn send_own(&mut self, xid: i32, letter: Letter, now: Moment) {
        self.send(Asked { is_counted: false, ..Asked::new(letter, xid) }, now);
    }

    fn send(&mut self, mut asked: Asked<A, W>, now: Moment) {
        self.outgoing.append(&mut asked.frame);
        asked.frame = Vec::new();
        asked.sent = now;
        if let Some(Wanted { kind, path, id, .. }) = &asked.watch {
            self.asked_watches.has_left(*kind, path, *id);
        }
        self.in_flight.push_back(asked);
        self.last_sent = now;
    }
}
