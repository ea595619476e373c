//! The lock and what an acquisition of it carries.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::{ErrorKind, time};

use crate::event_loop::{Inbox, drop_quietly, js_number};
use crate::failure::{Failure, throw};
use crate::nodes::Transaction;

#[napi(custom_finalize)]
pub struct Lock {
    lock: zkrecipes::Lock,
    inbox: Inbox,
}

#[napi(custom_finalize)]
pub struct Held {
    held: Arc<zkrecipes::Held>,
    inbox: Inbox,
}

drop_quietly!(Lock, Held);

/// One entry of the queue for a lock.
#[napi(object)]
pub struct Contender {
    pub node: String,
    pub identity: String,
    pub kind: String,
    pub session_id: BigInt,
    /// Milliseconds since 1970, for `Date`.
    pub since: f64,
    pub holds: bool,
}

impl From<zkrecipes::Contender> for Contender {
    fn from(contender: zkrecipes::Contender) -> Contender {
        Contender {
            node: contender.node,
            identity: contender.identity,
            kind: contender.kind,
            session_id: contender.session_id.into(),
            since: contender.since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0,
            holds: contender.holds,
        }
    }
}

impl Lock {
    pub fn new(lock: zkrecipes::Lock, inbox: Inbox) -> Lock {
        Lock { lock, inbox }
    }
}

// What an acquisition carries is asked of its `Held`; `node/lib` knows which is the current one.
#[napi]
impl Lock {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.lock.path()
    }

    /// The call's value is a `Held`.
    #[napi(catch_unwind)]
    pub fn acquire(&self, env: &Env, timeout: f64) -> napi::Result<f64> {
        let limit = time::from_js_millis("timeout", timeout).map_err(|error| throw(env, error))?;
        let inbox = self.inbox.clone();
        Ok(self.inbox.run(self.lock.acquire_kept(limit), |granted| Held { held: granted.keep(), inbox }))
    }

    /// The call's value is a `Held`, or null when somebody else holds the lock.
    #[napi(catch_unwind)]
    pub fn try_acquire(&self) -> f64 {
        let inbox = self.inbox.clone();
        let attempt = self.lock.acquire_kept(Some(Duration::ZERO));
        let future = async move {
            match attempt.await {
                Ok(held) => Ok(Some(held)),
                Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                Err(error) => Err(error),
            }
        };
        self.inbox.run(future, |granted| granted.map(|granted| Held { held: granted.keep(), inbox }))
    }

    #[napi(catch_unwind)]
    pub fn contenders(&self) -> f64 {
        let lock = self.lock.clone();
        self.inbox.run(async move { lock.contenders().await }, |contenders| {
            contenders.into_iter().map(Contender::from).collect::<Vec<_>>()
        })
    }
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
