//! What an acquisition carries, whichever recipe it is of.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::{ErrorKind, Granted, Result};

use crate::event_loop::{Inbox, drop_quietly, js_number};
use crate::failure::{Failure, throw};
use crate::nodes::Transaction;

#[napi(custom_finalize)]
pub struct Held {
    held: Arc<zkrecipes::Held>,
    inbox: Inbox,
}

drop_quietly!(Held);

/// Waits for an acquisition; the call's value is a `Held`.
pub fn acquisition(inbox: &Inbox, granting: impl Future<Output = Result<Granted>> + Send + 'static) -> f64 {
    let home = inbox.clone();
    inbox.run(granting, |granted| Held { held: granted.keep(), inbox: home })
}

/// Tries once; the call's value is a `Held`, or null when there was nothing to be had without waiting.
pub fn attempt(inbox: &Inbox, granting: impl Future<Output = Result<Granted>> + Send + 'static) -> f64 {
    let home = inbox.clone();
    let trying = async move {
        match granting.await {
            Ok(granted) => Ok(Some(granted)),
            Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
            Err(error) => Err(error),
        }
    };
    inbox.run(trying, |granted| granted.map(|granted| Held { held: granted.keep(), inbox: home }))
}

#[napi]
impl Held {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.held.path()
    }

    #[napi(catch_unwind)]
    pub fn node(&self) -> &str {
        self.held.node()
    }

    #[napi(catch_unwind)]
    pub fn fencing_token(&self) -> BigInt {
        self.held.fencing_token().into()
    }

    #[napi(catch_unwind)]
    pub fn fencing_tokens(&self) -> Vec<BigInt> {
        self.held.fencing_tokens().into_iter().map(BigInt::from).collect()
    }

    #[napi(catch_unwind)]
    pub fn passes(&self) -> u32 {
        self.held.passes()
    }

    #[napi(catch_unwind)]
    pub fn permits(&self) -> f64 {
        self.held.permits() as f64
    }

    #[napi(catch_unwind)]
    pub fn is_held(&self) -> bool {
        self.held.is_held()
    }

    #[napi(catch_unwind)]
    pub fn is_released(&self) -> bool {
        self.held.is_released()
    }

    #[napi(catch_unwind)]
    pub fn sequencer(&self) -> String {
        self.held.sequencer()
    }

    #[napi(catch_unwind)]
    pub fn verify(&self) -> f64 {
        let held = self.held.clone();
        self.inbox.run(async move { held.verify().await }, |()| ())
    }

    #[napi(catch_unwind)]
    pub fn guarded(&self) -> Transaction {
        Transaction::new(self.held.guarded(), self.inbox.clone())
    }

    /// The loss, should it happen, as one event with a `Failure` for a value, under the number that is returned.
    #[napi(catch_unwind)]
    pub fn on_lost(&self) -> f64 {
        let event = self.inbox.number();
        let inbox = self.inbox.clone();
        // Until it fires or the acquisition is released; `node/lib` keeps the list of those who listen.
        let _for_good =
            self.held.on_lost(move |error| inbox.post(event, Ok(Failure::from(error)), |failure| failure));
        js_number(event)
    }

    /// The request to let go, should it come, as one event under the number that is returned.
    #[napi(catch_unwind)]
    pub fn on_revoke(&self) -> f64 {
        let event = self.inbox.number();
        let inbox = self.inbox.clone();
        let _for_good = self.held.on_revoke(move || inbox.post(event, Ok(()), |()| ()));
        js_number(event)
    }

    #[napi(catch_unwind)]
    pub fn release(&self) -> f64 {
        self.inbox.run(self.held.release(), |()| ())
    }

    /// Confirms the release in the background.
    #[napi(catch_unwind)]
    pub fn release_in_background(&self, env: &Env) -> napi::Result<()> {
        self.held.release_in_background().map_err(|error| throw(env, error))
    }

    /// Leaves a scope that held it.
    #[napi(catch_unwind)]
    pub fn leave(&self, body_failed: bool) -> f64 {
        self.inbox.run(self.held.leave(body_failed), |()| ())
    }
}
