//! What an acquisition carries, whichever recipe it is of.

use std::sync::{Mutex, PoisonError};

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::Subscription;
use zkrecipes::drive::{self, Granted};

use crate::event_loop::{Inbox, drop_quietly, js_number};
use crate::failure::{Failure, OrThrow};
use crate::generated::Transaction;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Held {
    pub(crate) held: Remote<zkrecipes::Held>,
    subscriptions: Mutex<Vec<Subscription>>,
}

drop_quietly!(Held);

impl Held {
    pub fn new(granted: Granted, inbox: &Inbox) -> Held {
        Held::of(granted.keep(), inbox)
    }

    pub fn of(held: zkrecipes::Held, inbox: &Inbox) -> Held {
        Held { held: Remote::new(held, inbox), subscriptions: Mutex::default() }
    }

    pub fn leadership(&self) -> zkrecipes::Leadership {
        drive::leadership((*self.held).clone())
    }

    fn subscribed(&self, subscription: Subscription) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).push(subscription);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // The nested acquisitions of a reentrant handle share what the core knows: it may outlive many of us.
        for subscription in self.subscriptions.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // Nobody to wait for: its callbacks run on the event loop, which knows itself whom it still calls.
            subscription.end();
        }
    }
}

#[napi]
impl Held {
    #[napi(catch_unwind)]
    pub fn fencing_tokens(&self) -> Vec<BigInt> {
        self.held.fencing_tokens().into_iter().map(BigInt::from).collect()
    }

    #[napi(catch_unwind)]
    pub fn is_released(&self) -> bool {
        self.held.is_released()
    }

    #[napi(catch_unwind)]
    pub fn guarded(&self) -> Transaction {
        Transaction::new(self.held.guarded(), &self.held.inbox)
    }

    /// The loss, should it happen, as one event with a `Failure` for a value, under the number that is returned. A deletion
    /// is only heard of after `watch`.
    #[napi(catch_unwind)]
    pub fn on_lost(&self) -> f64 {
        let event = self.held.inbox.number();
        let inbox = self.held.inbox.clone();
        // `node/lib` keeps the list of those who listen.
        self.subscribed(drive::on_known_loss(&self.held, move |error| {
            inbox.post(event, Ok(Failure::from(error)), same);
        }));
        js_number(event)
    }

    /// Somebody listens for the loss: hear of a deletion, too.
    #[napi(catch_unwind)]
    pub fn watch(&self) {
        self.subscribed(self.held.on_lost(|_| ()));
    }

    /// Refuses callbacks that nothing would ever call.
    #[napi(catch_unwind)]
    pub fn check_open(&self, env: &Env) -> napi::Result<()> {
        drive::check_open(drive::client_of(&self.held)).or_throw(env)
    }

    /// The request to let go, should it come, as one event under the number that is returned.
    #[napi(catch_unwind)]
    pub fn on_revoke(&self) -> f64 {
        let event = self.held.inbox.number();
        let inbox = self.held.inbox.clone();
        self.subscribed(self.held.on_revoke(move || inbox.post(event, Ok(()), same)));
        js_number(event)
    }

    #[napi(catch_unwind)]
    pub fn release(&self) -> f64 {
        self.held.ask(|held| held.release(), same)
    }

    /// The call's value is a `Held` of the readers' side.
    #[napi(catch_unwind)]
    pub fn downgrade(&self) -> f64 {
        let home = self.held.inbox.clone();
        self.held.ask(|held| drive::downgrade(&held), move |granted| Held::new(granted, &home))
    }

    /// Nobody refers to it any more.
    #[napi(catch_unwind)]
    pub fn collected(&self) {
        drive::tell_collected(&self.held);
        // Released or lost, there is nothing to do.
        let _ = self.held.release_in_background();
    }

    /// Of a leadership.
    #[napi(catch_unwind)]
    pub fn acknowledge(&self, data: &[u8]) -> f64 {
        let (leadership, data) = (self.leadership(), data.to_vec());
        self.held.ask(|_| async move { leadership.acknowledge(&data).await }, same)
    }

    /// Confirms the release in the background.
    #[napi(catch_unwind)]
    pub fn release_in_background(&self, env: &Env) -> napi::Result<()> {
        self.held.release_in_background().or_throw(env)
    }

    /// Leaves a scope that held it.
    #[napi(catch_unwind)]
    pub fn leave(&self, body_failed: bool) -> f64 {
        self.held.ask(|held| held.leave(body_failed), same)
    }
}
