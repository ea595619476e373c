//! What goes on changing, for threads.

use std::sync::{Arc, Mutex};

use crate::drive::wait;
use crate::error::{ErrorKind, Result};
use crate::feed::Closer;
use crate::mutex::lock;

/// [`crate::Feed`], blocking: an iterator whose `next` waits for the next item.
///
/// ```
/// # use zkrecipes::blocking::Client;
/// # fn main() -> zkrecipes::Result<()> {
/// let client = Client::connect("embedded:", Default::default())?;
/// let config = client.config("/config/greeting")?;
/// config.set(b"hello", None)?;
/// let mut feed = config.watch();
/// let now = feed.next().transpose()?.flatten().expect("set");
/// assert_eq!(now.value, b"hello");
/// feed.closer().close();
/// assert!(feed.next().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Feed<T> {
    /// Lent to the wait in progress, which gives it back.
    feed: Arc<Mutex<Option<crate::Feed<T>>>>,
    closer: Closer,
    has_ended: bool,
}

impl<T> Feed<T> {
    /// For closing the feed from another thread, also while one waits for its next item.
    pub fn closer(&self) -> Closer {
        self.closer.clone()
    }

    /// Ends the feed, and with it what is watched on the server for it.
    pub fn close(&mut self) {
        if let Some(feed) = lock(&self.feed).as_mut() {
            feed.close();
        }
        self.closer.close();
    }
}

impl<T> From<crate::Feed<T>> for Feed<T> {
    fn from(feed: crate::Feed<T>) -> Feed<T> {
        let closer = feed.closer();
        Feed { feed: Arc::new(Mutex::new(Some(feed))), closer, has_ended: false }
    }
}

impl<T: Send + 'static> Iterator for Feed<T> {
    type Item = Result<T>;

    /// Waits for the next item; `None` when the feed has ended. An item that is a Deadlock came of a wait inside a
    /// callback, and the feed goes on.
    fn next(&mut self) -> Option<Result<T>> {
        if self.has_ended {
            return None;
        }
        let place = self.feed.clone();
        let item = wait(
            async move {
                let Some(mut feed) = lock(&place).take() else { return Ok(None) };
                let item = feed.next().await;
                *lock(&place) = Some(feed);
                item.transpose()
            },
            None,
            None,
        );
        self.has_ended = match &item {
            Ok(item) => item.is_none(),
            // Nothing was asked yet.
            Err(error) => error.kind() != ErrorKind::Deadlock,
        };
        item.transpose()
    }
}
