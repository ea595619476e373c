//! Watches of a session: set with a request, told by the server, and taken back when nobody listens.

use zkrecipes_protocol::{Event as Told, EventKind, Request};

use super::{Answering, Event, Machine, Output, Phase, WatchId, WatchSubject};
use crate::session::clock::Moment;

/// The mode of a watch that stays, and the kind of all watches of a path.
const PERSISTENT: i32 = 0;
const ANY: i32 = 3;

impl<A: Answering, W> Machine<A, W> {
    pub(super) fn happened(&mut self, told: &Told<'_>, now: Moment) {
        let event = match told.kind {
            Some(EventKind::Created) => Event::Created,
            Some(EventKind::Deleted) => Event::Deleted,
            Some(EventKind::DataChanged) => Event::DataChanged,
            Some(EventKind::ChildrenChanged) => Event::ChildrenChanged,
            None => return,
        };
        for kind in WatchSubject::BOTH.into_iter().filter(|kind| kind.hears(event)) {
            self.unheard.remove(&(kind, told.path.to_string()));
            self.asked_watches.happened(kind, &told.path, event);
        }
        let concerned = self.watches.fired(&told.path, event);
        self.outputs.extend(concerned.into_iter().map(|watcher| Output::Told(watcher, event)));
        self.tidy(&told.path, now);
    }

    /// Has the server tell whenever children of a node come or go, until as many have called [`Machine::unfollow`]. False if
    /// no server does.
    pub(crate) fn follow(&mut self, path: &str, now: Moment) -> bool {
        if self.following.is_absent() || self.is_basic() || self.is_over() || self.is_closing {
            return false;
        }
        if self.watches.follow(path) {
            self.ask(&Request::AddWatch { path: path.into(), mode: PERSISTENT }, now);
        }
        true
    }

    /// `watcher` is told of the next change of what is followed, or of a new connection: then one may have been missed.
    pub(crate) fn hear(&mut self, path: &str, watcher: W) {
        if let Some(watcher) = self.watches.hear(path, watcher) {
            self.outputs.push(Output::Told(watcher, Event::Unwatched));
        }
    }

    pub(crate) fn unfollow(&mut self, path: &str, now: Moment) {
        self.watches.unfollow(path);
        self.tidy(path, now);
    }

    /// Takes the watch back that stays, if nobody has any use for it.
    fn tidy(&mut self, path: &str, now: Moment) {
        let is_asked = WatchSubject::BOTH.into_iter().any(|kind| self.asked_watches.has(kind, path));
        if is_asked || !self.watches.forget_unused(path) {
            return;
        }
        self.remove(path, ANY, now);
    }

    /// Servers do not know watches that stay: everybody has to look for themselves.
    pub(super) fn no_following(&mut self) {
        self.following.refused();
        let listeners = self.watches.unfollow_all().into_iter();
        self.outputs.extend(listeners.map(|watcher| Output::Told(watcher, Event::Unwatched)));
    }

    /// Nobody listens to a watch any more.
    pub(crate) fn unwatch(&mut self, kind: WatchSubject, path: &str, id: WatchId, now: Moment) {
        self.asked_watches.give_up(kind, path, id);
        if self.watches.remove(kind, path, id) {
            self.unheard.insert((kind, path.to_owned()));
            self.remove_unheard(kind, path, now);
        }
    }

    /// Removes a watch that nobody listens to, once no request is under way that sets it.
    pub(super) fn remove_unheard(&mut self, kind: WatchSubject, path: &str, now: Moment) {
        let is_asked = self.asked_watches.has(kind, path);
        if is_asked || !self.unheard.remove(&(kind, path.to_owned())) || self.watches.has(kind, path) {
            return;
        }
        if self.watches.is_followed(path) {
            return self.tidy(path, now);
        }
        // A watch that is not there any more after a reconnection needs no removal.
        self.remove(path, kind.number(), now);
    }

    /// Has the server forget watches. One that may not know how keeps them until they are told.
    fn remove(&mut self, path: &str, kind: i32, now: Moment) {
        if matches!(self.phase, Phase::Up) && !self.is_closing && !self.is_basic() {
            self.ask(&Request::RemoveWatches { path: path.into(), kind }, now);
        }
    }
}
