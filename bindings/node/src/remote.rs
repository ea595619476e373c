//! Something of the core's that answers later: a verb of the addon is a line with [`Remote::ask`] or [`Remote::wait`].

use std::ops::Deref;
use std::time::Duration;

use napi::bindgen_prelude::ToNapiValue;
use zkrecipes::{Result, time};

use crate::event_loop::Inbox;

/// Something of the core's, and the way home for what its verbs bring.
pub struct Remote<T> {
    core: T,
    pub inbox: Inbox,
}

impl<T> Deref for Remote<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.core
    }
}

impl<T: Clone + Send + 'static> Remote<T> {
    pub fn new(core: T, inbox: &Inbox) -> Remote<T> {
        Remote { core, inbox: inbox.clone() }
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

    /// The same for a verb that takes so many milliseconds at most.
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

/// Converts nothing.
pub fn same<V>(value: V) -> V {
    value
}
