//! Telling what changes, until a signal or the time given ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, Feed, State, Subscription};

use crate::common::Common;
use crate::outcome::{self, Failure, INTERNAL, Outcome};
use crate::skipped;
use crate::system::signals::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, Signals};
use crate::system::streams;

/// The signals that end it.
pub(crate) const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Says when no server answers, and when one does again.
pub(crate) fn tell_outages(client: &Client) -> Subscription {
    client.on_state(|state| match state {
        State::Suspended => outcome::say("no server answers; still trying"),
        State::Connected => outcome::say("connected again"),
        _ => {}
    })
}

/// Calls `tell` with every item of the feed.
pub(crate) fn follow<T: Send + 'static>(
    common: Common,
    limit: Option<Duration>,
    open: impl FnOnce(&Client) -> zkrecipes::Result<Feed<T>>,
    mut tell: impl FnMut(T) -> Outcome<()>,
) -> Outcome {
    let until = limit.map(|limit| Instant::now() + limit);
    until_ended(common, |client, cancel| {
        let interrupted = tell_outages(client);
        let mut feed = open(client)?;
        loop {
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            let asked = async move {
                let item = drive::within(rest, feed.next()).await.flatten();
                Ok((feed, item))
            };
            let item;
            (feed, item) = drive::wait(asked, Some(cancel), None)?;
            match item {
                Some(item) => tell(item?)?,
                None => break,
            }
        }
        interrupted.unsubscribe();
        Ok(0)
    })
}

/// Runs what tells, and withdraws it by a signal, or when nobody reads any more. Ctrl-C, the usual way to end it, is status 0.
pub(crate) fn until_ended(common: Common, work: impl FnOnce(&Client, &CancelToken) -> Outcome) -> Outcome {
    skipped::say_at_once();
    let cancel = CancelToken::new();
    let withdrawing = cancel.clone();
    let signals = Signals::catch(&ENDING, move |_| withdrawing.cancel())
        .map_err(|error| Failure::new(INTERNAL, format!("cannot catch signals: {error}")))?;
    let is_read = Arc::new(AtomicBool::new(true));
    watch_reader(is_read.clone(), cancel.clone());
    let outcome = common.with_client(&cancel, |client| work(client, &cancel));
    match signals.ending() {
        Some(SIGINT) => Ok(0),
        Some(signal) => Err(Failure::signal(signal)),
        None if !is_read.load(Ordering::Acquire) => Err(Failure::signal(SIGPIPE)),
        None => outcome,
    }
}

/// Withdraws when nobody reads the pipe any more that is written to: there may be nothing to write for long.
fn watch_reader(is_read: Arc<AtomicBool>, cancel: CancelToken) {
    let wait = move || {
        if streams::wait_until_unread() {
            is_read.store(false, Ordering::Release);
            cancel.cancel();
        }
    };
    // Without it, the next line finds that out.
    drop(thread::Builder::new().name("zkrecipes-reader".to_owned()).spawn(wait));
}
