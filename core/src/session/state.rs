//! How a client stands with ZooKeeper, and who wants to hear of it.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::Session;
use super::clock::Moment;
use super::delivery::{Live, Subscription};
use crate::mutex::lock;

/// How a client stands with ZooKeeper.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// In touch with a server.
    Connected,
    /// Out of touch; the session may still live, and what is held stays held until its lease runs out.
    Suspended,
    /// The session has ended or can no longer be assumed to live; a new one is being opened.
    Lost,
    /// Closed by its user.
    Closed,
}

type StateCallback = Arc<dyn Fn(State) + Send + Sync>;

#[derive(Clone)]
pub(super) struct Subscriber {
    id: u64,
    live: Live,
    untold: Arc<Mutex<Untold>>,
    callback: StateCallback,
}

/// So many changes wait for a subscriber that is slow: those of an hour in which a connection breaks every minute.
const MOST_UNTOLD: usize = 120;

/// The changes that a subscriber has not heard of yet, oldest first. Where there are too many, the newest takes the place of
/// the one before it: whoever hears last of all where we are now is right again.
#[derive(Default)]
struct Untold(VecDeque<State>);

impl Untold {
    /// Whether there is one more to tell.
    fn add(&mut self, state: State) -> bool {
        let has_room = self.0.len() < MOST_UNTOLD;
        if !has_room {
            self.0.pop_back();
        }
        self.0.push_back(state);
        has_room
    }
}

pub(super) struct Status {
    pub(super) state: State,
    pub(super) subscribers: Vec<Subscriber>,
    /// Since when there has been no connection.
    pub(super) out_of_touch: Option<Moment>,
}

impl Session {
    /// Calls back at every change of state, in order, until unsubscribed or told of the last one. After that it tells that one,
    /// and nothing else.
    pub(crate) fn on_state(
        self: &Arc<Self>,
        callback: impl Fn(State) + Send + Sync + 'static,
    ) -> Subscription {
        let id = self.next_subscription.fetch_add(1, Ordering::Relaxed);
        let live = Live::default();
        let mut status = lock(&self.status);
        if status.state == State::Closed {
            drop(status);
            let tell = live.guard(callback);
            self.delivery.notice(Box::new(move || tell(State::Closed)));
            return Subscription::new(live, || {});
        }
        let subscriber =
            Subscriber { id, live: live.clone(), untold: Arc::default(), callback: Arc::new(callback) };
        status.subscribers.push(subscriber);
        drop(status);
        let session = Arc::downgrade(self);
        Subscription::new(live, move || {
            if let Some(session) = session.upgrade() {
                let mut status = lock(&session.status);
                let at = status.subscribers.iter().position(|subscriber| subscriber.id == id);
                let subscriber = at.map(|at| status.subscribers.remove(at));
                drop(status);
                // A callback that owns something of ours may take locks when it goes.
                drop(subscriber);
            }
        })
    }

    /// Since when nobody has been connected, as far as that has been noticed.
    pub(crate) fn out_of_touch_since(&self) -> Option<Moment> {
        lock(&self.status).out_of_touch
    }

    pub(super) fn enter(&self, state: State) {
        // Held until the notices are queued, so that they keep the order of the changes; the status itself is free.
        let order = lock(&self.order);
        let mut status = lock(&self.status);
        if status.state == state || status.state == State::Closed {
            return;
        }
        status.out_of_touch = match state {
            State::Connected | State::Closed => None,
            State::Suspended | State::Lost => status.out_of_touch.or_else(|| Some(self.now())),
        };
        status.state = state;
        let subscribers = match state {
            // Nothing comes after it: a callback that owns the client would keep it for ever.
            State::Closed => std::mem::take(&mut status.subscribers),
            _ => status.subscribers.clone(),
        };
        drop(status);
        for Subscriber { live, untold, callback, .. } in &subscribers {
            if lock(untold).add(state) {
                let (live, untold, callback) = (live.clone(), untold.clone(), callback.clone());
                self.delivery.notice(Box::new(move || {
                    let oldest = lock(&untold).0.pop_front();
                    if let Some(state) = oldest {
                        live.pass(move || callback(state));
                    }
                }));
            }
        }
        drop(order);
        // A callback that goes here and owns something of ours may take locks.
        drop(subscribers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_subscriber_hears_the_newest_state_last_and_has_a_limited_number_before_it() {
        let mut untold = Untold::default();
        let due = (0..1000).map(|_| [State::Suspended, State::Connected].map(|state| untold.add(state)));
        let due = due.flatten().filter(|is_due| *is_due).count();
        assert_eq!((due, untold.0.len()), (MOST_UNTOLD, MOST_UNTOLD));
        assert_eq!(untold.0.back(), Some(&State::Connected));
        untold.0.pop_front();
        assert!(untold.add(State::Suspended), "there is room again");
        assert_eq!(untold.0.back(), Some(&State::Suspended));
    }
}
