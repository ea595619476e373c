//! Something of the core's that answers later: a verb of the addon is a line with [`Remote::ask`] or [`Remote::wait`].

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::{BigInt, Buffer, ToNapiValue};
use zkrecipes::{Result, Subscription, time};

use crate::event_loop::{Inbox, js_number};
use crate::failure::OrThrow;
use crate::handle::WaitProgress;

/// What the core calls while somebody waits.
pub type Tell = Box<dyn Fn(zkrecipes::WaitProgress) + Send + Sync>;

/// Something of the core's, and the way home for what its verbs bring.
pub struct Remote<T> {
    core: T,
    pub inbox: Inbox,
    /// Who listens to its waits, by the number of their event.
    listeners: Mutex<BTreeMap<u64, Subscription>>,
}

impl<T> Deref for Remote<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.core
    }
}

impl<T: Clone + Send + 'static> Remote<T> {
    pub fn new(core: T, inbox: &Inbox) -> Remote<T> {
        Remote { core, inbox: inbox.clone(), listeners: Mutex::default() }
    }

    /// Drives a verb; its outcome arrives under the number that is returned.
    pub fn ask<V, J, F>(
        &self,
        verb: impl FnOnce(T) -> F,
        convert: impl FnOnce(V) -> J + Send + 'static,
    ) -> f64
    where
        F: Future<Output = Result<V>> + Send + 'static,
        V: Send + 'static,
        J: ToNapiValue,
    {
        self.inbox.run(verb(self.core.clone()), convert)
    }

    /// Every news of its waits from now on, as an event under the number that is returned, until `off_wait`.
    pub fn on_wait(
        &self,
        env: &Env,
        subscribe: impl FnOnce(&T, Tell) -> Result<Subscription>,
    ) -> napi::Result<f64> {
        let event = self.inbox.number();
        let inbox = self.inbox.clone();
        let tell = move |progress| inbox.post(event, Ok(WaitProgress::from(progress)), same);
        self.listeners().insert(event, subscribe(&self.core, Box::new(tell)).or_throw(env)?);
        Ok(js_number(event))
    }

    pub fn off_wait(&self, event: f64) {
        let listener = self.listeners().remove(&(event as u64));
        if let Some(listener) = listener {
            // Nobody to wait for: the callbacks run on the event loop.
            listener.end();
        }
    }

    fn listeners(&self) -> MutexGuard<'_, BTreeMap<u64, Subscription>> {
        self.listeners.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The same as `ask` for a verb that takes so many milliseconds at most.
    pub fn wait<V, J, F>(
        &self,
        timeout: f64,
        verb: impl FnOnce(T, Option<Duration>) -> F,
        convert: impl FnOnce(V) -> J + Send + 'static,
    ) -> f64
    where
        F: Future<Output = Result<V>> + Send + 'static,
        V: Send + 'static,
        J: ToNapiValue,
    {
        match time::from_js_millis("timeout", timeout) {
            Ok(limit) => self.ask(|core| verb(core, limit), convert),
            Err(error) => self.inbox.run(async { Err::<V, _>(error) }, convert),
        }
    }
}

/// The verbs of a class through which one waits, for the `Listeners` of `node/lib`.
macro_rules! tell_of_waits {
    ($($class:ident),+ $(,)?) => {
        $(#[napi_derive::napi]
        impl $class {
            /// Every news of its waits from now on, as an event under the number that is returned, until `off_wait`.
            #[napi(catch_unwind)]
            pub fn on_wait(&self, env: &napi::Env) -> napi::Result<f64> {
                self.0.on_wait(env, |core, tell| core.on_wait(tell))
            }

            #[napi(catch_unwind)]
            pub fn off_wait(&self, event: f64) {
                self.0.off_wait(event);
            }
        })+
    };
}
pub(crate) use tell_of_waits;

/// Converts nothing.
pub fn same<V>(value: V) -> V {
    value
}

/// `node/lib` lets only what fits through.
pub fn long(n: &BigInt) -> i64 {
    n.get_i64().0
}

pub fn count(n: usize) -> f64 {
    n as f64
}

pub fn buffer(data: Option<Vec<u8>>) -> Option<Buffer> {
    data.map(Buffer::from)
}

pub fn buffers(all: Vec<Vec<u8>>) -> Vec<Buffer> {
    all.into_iter().map(Buffer::from).collect()
}
