//! What a recipe tells as it changes, one after the other as JavaScript asks; `node/lib` makes an async iterator of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::ToNapiValue;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};

#[napi(custom_finalize)]
pub struct Feed {
    next: Box<dyn Fn() -> f64 + Send>,
    close: Box<dyn Fn() + Send>,
}

drop_quietly!(Feed);

impl Feed {
    pub fn new<T, J>(feed: zkrecipes::Feed<T>, inbox: &Inbox, convert: fn(T) -> J) -> Feed
    where
        T: Send + 'static,
        J: ToNapiValue + 'static,
    {
        let shelf = Shelf(Arc::new(Mutex::new(Whereabouts::Here(feed))));
        let (inbox, closed) = (inbox.clone(), shelf.clone());
        let next = move || {
            let (taken, shelf) = (shelf.take(), shelf.clone());
            let asking = async move {
                let Some(mut feed) = taken else { return Ok(None) };
                let item = feed.next().await.transpose()?;
                if item.is_some() {
                    shelf.put_back(feed);
                }
                Ok(item)
            };
            inbox.run(asking, move |item| item.map(convert).into_iter().collect::<Vec<_>>())
        };
        let close = move || closed.close();
        Feed { next: Box::new(next), close: Box::new(close) }
    }
}

/// Where the core's feed is.
enum Whereabouts<T> {
    /// Nobody waits for the next item.
    Here(zkrecipes::Feed<T>),
    /// With the call that waits for it, or at its end.
    Away,
    Closed,
}

struct Shelf<T>(Arc<Mutex<Whereabouts<T>>>);

impl<T> Clone for Shelf<T> {
    fn clone(&self) -> Shelf<T> {
        Shelf(self.0.clone())
    }
}

impl<T> Shelf<T> {
    fn whereabouts(&self) -> MutexGuard<'_, Whereabouts<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<zkrecipes::Feed<T>> {
        let mut whereabouts = self.whereabouts();
        match std::mem::replace(&mut *whereabouts, Whereabouts::Away) {
            Whereabouts::Here(feed) => Some(feed),
            other => {
                *whereabouts = other;
                None
            }
        }
    }

    /// Unless it was closed meanwhile: then it goes.
    fn put_back(&self, feed: zkrecipes::Feed<T>) {
        let mut whereabouts = self.whereabouts();
        if matches!(*whereabouts, Whereabouts::Away) {
            *whereabouts = Whereabouts::Here(feed);
        }
    }

    fn close(&self) {
        let before = std::mem::replace(&mut *self.whereabouts(), Whereabouts::Closed);
        // Not under the lock: what it watched goes with it.
        drop(before);
    }
}

#[napi]
impl Feed {
    /// The call's value is a list of the one item, empty when there will be no more. One call at a time.
    #[napi(catch_unwind)]
    pub fn next(&self) -> f64 {
        (self.next)()
    }

    /// Lets it go. Whoever waits for the next item withdraws that call.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        (self.close)();
    }
}
