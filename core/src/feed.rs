//! One type of stream for everything that can be followed.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::watch;

use crate::error::{ErrorKind, Result};
use crate::mutex::lock;
use crate::process::{Process, UnlessForked};
use crate::sync::{Mutex, MutexGuard, TryLockError};

/// A stream of states or changes, such as [`Config::watch`](crate::Config::watch) gives.
///
/// The first item is the present state, no older than the call for it; later ones come when it has changed. Nothing is asked of the server while
/// nobody asks the feed, and then the latest state is told: a slow reader does not see every state in between. A feed
/// goes on over reconnections and new sessions by itself. It ends with `None` when it or the client is closed, or with
/// one error when it cannot go on, such as Denied.
///
/// It is a [`Stream`], too.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::Client;
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let config = client.config("/config/limits")?;
/// let mut feed = config.watch();
/// assert_eq!(feed.next().await.transpose()?, Some(None), "nobody has set it");
/// config.set(b"10", None).await?;
/// let now = feed.next().await.transpose()?.flatten().expect("set");
/// assert_eq!(now.value, b"10");
/// feed.close();
/// assert!(feed.next().await.is_none());
/// # Ok(()) });
/// ```
///
/// # Cancel safety
/// Dropping the future of [`Feed::next`] loses nothing.
pub struct Feed<T> {
    /// `None` in a forked child that has been told so.
    items: UnlessForked<Option<Arc<Items<T>>>>,
    closer: Closer,
}

/// What is still to come; `None` once the feed has ended.
struct Items<T>(Mutex<Option<Coming<T>>>);

type Coming<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// What a [`Closer`] knows of the items.
trait FeedEnd: Send + Sync {
    /// Ends what is watched on the server, unless somebody asks for an item at this very moment, who then sees to it.
    fn end(&self);
}

impl<T> FeedEnd for Items<T> {
    fn end(&self) {
        let ended = match self.0.try_lock() {
            Ok(mut coming) => coming.take(),
            Err(TryLockError::Poisoned(coming)) => coming.into_inner().take(),
            Err(TryLockError::WouldBlock) => return,
        };
        // Without the lock: whose items they are, what goes with them is not ours to know.
        drop(ended);
    }
}

/// Where the items of a feed come from.
pub(crate) trait Source<T>: Send + 'static {
    /// The next item. Called again only when it has answered, and never after an error.
    fn next(&mut self) -> impl Future<Output = Result<T>> + Send;
}

/// Closes a [`Feed`] that somebody else has. Clones close the same feed.
#[derive(Clone)]
pub struct Closer(Arc<Closing>);

struct Closing {
    is_closed: watch::Sender<bool>,
    items: Weak<dyn FeedEnd>,
    process: Process,
}

impl Closer {
    /// The feed ends with `None`, also where somebody waits for its next item, and with it what is watched on the server for
    /// it. Doing it twice does nothing.
    pub fn close(&self) {
        // In a forked child the feed is the parent's, and so are the locks.
        if self.0.process.is_present() {
            self.0.is_closed.send_replace(true);
            if let Some(items) = self.0.items.upgrade() {
                items.end();
            }
        }
    }

    fn is_closed(&self) -> bool {
        *self.0.is_closed.borrow()
    }

    pub(crate) async fn closed(&self) {
        // The sender lives in `self`, so this cannot fail.
        let _ = self.0.is_closed.subscribe().wait_for(|closed| *closed).await;
    }
}

impl std::fmt::Debug for Closer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Closer")
    }
}

impl<T> Items<T> {
    fn coming(&self) -> MutexGuard<'_, Option<Coming<T>>> {
        lock(&self.0)
    }
}

impl<T: Send + 'static> Feed<T> {
    pub(crate) fn new(source: impl Source<T>) -> Feed<T> {
        let items = Arc::new(Items(Mutex::new(None)));
        let known: Weak<dyn FeedEnd> = Arc::downgrade(&(items.clone() as Arc<dyn FeedEnd>));
        let is_closed = watch::Sender::new(false);
        let closer = Closer(Arc::new(Closing { is_closed, items: known, process: Process::present() }));
        let closing = closer.clone();
        let coming = unfold(Some(source), move |source| {
            let closing = closing.clone();
            async move {
                let mut source = source?;
                match unless_closed(&closing, source.next()).await? {
                    Ok(item) => Some((Ok(item), Some(source))),
                    // The caller closed the client and knows, so this is no error.
                    Err(error) if error.kind() == ErrorKind::Closed => None,
                    Err(error) => Some((Err(error), None)),
                }
            }
        });
        items.coming().replace(Box::pin(coming));
        Feed { items: UnlessForked::new(Some(items)), closer }
    }

    /// The next item; `None` when the feed has ended.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        let Some(items) = &*self.items else { return Poll::Ready(None) };
        if let Err(forked) = self.closer.0.process.check() {
            // What is below stayed with the parent: it must not even be dropped.
            std::mem::forget(self.items.take());
            return Poll::Ready(Some(Err(forked)));
        }
        let item = match items.coming().as_mut() {
            Some(coming) => coming.as_mut().poll_next(context),
            None => Poll::Ready(None),
        };
        if matches!(item, Poll::Ready(None | Some(Err(_)))) {
            items.end();
        }
        if self.closer.is_closed() {
            // Who closed it meanwhile found it busy.
            items.end();
            if item.is_pending() {
                return Poll::Ready(None);
            }
        }
        item
    }
}

async fn unless_closed<T>(closer: &Closer, item: impl Future<Output = Result<T>>) -> Option<Result<T>> {
    // A closed feed tells nothing more, even if an item is ready.
    tokio::select! {
        biased;
        () = closer.closed() => None,
        item = item => Some(item),
    }
}

impl<T> Feed<T> {
    /// Ends the feed, and with it what is watched on the server for it.
    pub fn close(&mut self) {
        self.closer.close();
    }

    /// For closing the feed from elsewhere while somebody waits for its next item.
    pub fn closer(&self) -> Closer {
        self.closer.clone()
    }
}

impl<T: Send + 'static> Stream for Feed<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        self.poll(context)
    }
}

impl<T> std::fmt::Debug for Feed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Feed")
    }
}
