//! Closing a client, and ending the sessions of a process, from outside of the runtime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{CancelToken, check_may_wait, log, run, unless_withdrawn, wait, within};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::session::pending_callbacks::PendingCallbacks;
use crate::session::{exit, system_clock};
use crate::{pool, runtime, sanitizer};

/// Ends every session that this process has, so that what it holds is free at once and not only after the session
/// timeout: for a process that exits. Clients answer Closed from now on; those that are just being connected, too.
/// Returns when the servers have confirmed it, after `limit` at the latest; from then on no callback of these clients
/// begins any more.
///
/// It may be called on any thread, in a callback too, and while other threads use the library. It never panics. A
/// forked child ends its own sessions and leaves its parent's alone.
pub fn end_sessions(limit: Duration) {
    let ended = std::panic::catch_unwind(|| sanitizer::ours(|| exit::end_all(limit)));
    if ended.is_err() {
        tracing::error!(
            target: "zkrecipes",
            event = "closing_panicked",
            "ending the sessions panicked; what is held is free after the session timeout"
        );
    }
}

/// Ends the threads of the library; the next use of it starts them anew. Invalid while a client is open. What clients that are
/// closed have left to do is waited for, and so are callbacks that run. Timeout when that takes longer than `limit`: then it
/// goes on, and this may be called again.
///
/// Nobody else may be using the library meanwhile: what is begun now may never end.
pub fn shut_down(limit: Option<Duration>) -> Result<()> {
    check_may_wait()?;
    match exit::count_open() {
        0 => {}
        open => {
            let many = if open == 1 { "a client is open" } else { "clients are open" };
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("{many}: close and free them first ({open})"),
            ));
        }
    }
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    let left = || until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
    if !exit::until_closed(left()) {
        return Err(Error::timeout_after("what closed clients have left to do was not done", limit));
    }
    runtime::shut_down(left());
    // What waits to be said would start the thread for it once more.
    log::flush(left());
    log::end();
    system_clock::end();
    let _ending = pool::ending();
    match runtime::until_threads_are_gone(until) {
        true => Ok(()),
        false => Err(Error::timeout_after("a callback did not return", limit)),
    }
}

/// Closes in the background; `done` is the last callback of `client`.
pub fn start_close(
    client: &Client,
    limit: Option<Duration>,
    done: impl FnOnce(Result<()>) + Send + 'static,
) -> Result<()> {
    let session = client.session()?;
    let callback_to_come = session.delivery.pending_callbacks.add_last();
    let client = client.clone();
    let pending_callbacks = session.delivery.pending_callbacks.clone();
    let closing = async move {
        let outcome =
            unless_withdrawn(pending_callbacks.clone(), async move { client.close(limit).await }).await;
        // What no server answered in that time never will be.
        pending_callbacks.withdraw();
        pending_callbacks.only_last().await;
        outcome
    };
    run(closing, &[CancelToken::new()], move |result| {
        session.delivery.completion(callback_to_come, Box::new(move || done(result)));
    });
    Ok(())
}

/// Closes like [`Client::close`] and blocks this thread until that is done and, if `tells` says that this client's
/// callbacks come by themselves, until the last of them is over, for as long as the limit allows.
pub fn close(client: &Client, limit: Option<Duration>, tells: bool) -> Result<()> {
    client.process().check()?;
    let outcome = wait(closing(client.clone(), limit, tells), None, None);
    sanitizer::acquire(&*client.pending_callbacks());
    outcome
}

/// Closes like [`Client::close`], and is over when everything was told that this client had to tell, for as long as the
/// limit allows. For a face whose callbacks only hand over to an event loop: it calls them before it hears of this end.
pub async fn close_and_tell(client: Client, limit: Option<Duration>) -> Result<()> {
    client.process().check()?;
    closing(client, limit, true).await
}

async fn closing(client: Client, limit: Option<Duration>, tells: bool) -> Result<()> {
    let (pending_callbacks, begun) = (client.pending_callbacks(), std::time::Instant::now());
    let outcome = client.close(limit).await;
    pending_callbacks.withdraw();
    if tells {
        let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        within(left, pending_callbacks.nothing()).await;
    }
    outcome
}

/// Lets a client go: it closes in the background, and its calls in progress end with Closed. With `wait`, this blocks
/// until the last callback is over, and none comes afterwards; without, those that are owed still come.
pub fn let_go(client: &Client, wait_for_callbacks: bool) {
    if !client.process().is_present() {
        return;
    }
    client.close_in_background();
    let pending_callbacks = client.pending_callbacks();
    pending_callbacks.withdraw();
    if wait_for_callbacks {
        until_settled(&pending_callbacks);
        client.silence();
        // One that was queued before it was over may have begun.
        until_settled(&pending_callbacks);
    }
}

fn until_settled(pending_callbacks: &Arc<PendingCallbacks>) {
    let settling = pending_callbacks.clone();
    let settled = async move {
        settling.nothing().await;
        Ok(())
    };
    // Refused only where callbacks run, and nobody waits there.
    let _ = wait(settled, None, None);
    sanitizer::acquire(&**pending_callbacks);
}
