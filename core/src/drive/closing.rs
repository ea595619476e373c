//! Closing a client, and ending the sessions of a process, from outside of the runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::any_call::{any_call, any_done};
use super::{check_may_wait, in_progress, log, run, unless_withdrawn, wait, within};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::process::{PerProcess, Process};
use crate::session::pending_callbacks::PendingCallbacks;
#[cfg(target_os = "linux")]
use crate::session::wire::own::forget_wakeups;
use crate::session::{exit, system_clock};
use crate::{pool, runtime, sanitizer, threads};

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

/// Ends the threads of the library, and closes its descriptors; the next use of it starts them anew. Invalid while a client is
/// open, and while one that is closed has callbacks that its user has yet to run. What clients that are closed have left to do is
/// waited for, and so are calls whose end is to be told, and callbacks that run, with what they begin. Timeout when that takes
/// longer than `limit`: then it goes on, and this may be called again.
///
/// Nobody else may be using the library meanwhile: what is begun on another thread may never end.
pub fn shut_down(limit: Option<Duration>) -> Result<()> {
    check_may_wait()?;
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    let is_late = || until.is_some_and(|until| Instant::now() >= until);
    let late = |what| Err(Error::timeout_after(what, limit));
    let Some(_alone) = EndingAlone::begin(is_late) else {
        return late("another thread is ending the library, and that was not done");
    };
    // A thread that only has to end takes a moment, for which nobody has to give time.
    let mut patience = None;
    loop {
        while let Some(what) = what_goes_on()? {
            if is_late() {
                return late(what);
            }
            thread::sleep(LOOK_AGAIN);
        }
        let patience = *patience.get_or_insert_with(|| Instant::now() + MOMENT);
        // What is begun since we looked goes on, and nobody begins anything meanwhile.
        runtime::shut_down(|| !matches!(what_goes_on(), Ok(None)));
        let _ending = pool::ending();
        loop {
            // Those that still ran may have begun something: then all that once more, and nothing that it has set is to end.
            if is_begun_anew()? {
                break;
            }
            log::end();
            system_clock::end();
            let are_gone = threads::are_gone();
            if is_begun_anew()? {
                break;
            }
            if are_gone {
                #[cfg(target_os = "linux")]
                forget_wakeups();
                return Ok(());
            }
            if is_late() && Instant::now() >= patience {
                return late("a thread of the library did not end");
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

fn is_begun_anew() -> Result<bool> {
    Ok(!runtime::is_over() || what_goes_on()?.is_some())
}

/// Why the library cannot end yet, if so; Invalid where waiting does not help.
fn what_goes_on() -> Result<Option<&'static str>> {
    let refuse = |what: &str| Err(Error::new(ErrorKind::Invalid, what));
    match exit::count_unfinished() {
        (0, 0) => {}
        (0, _) => {
            return refuse(
                "callbacks of a closed client were not dispatched: go on until the last has come, or free the client",
            );
        }
        (1, _) => return refuse("a client is open: close and free it first"),
        (open, _) => return refuse(&format!("{open} clients are open: close and free them first")),
    }
    Ok(if exit::has_sessions() {
        Some("what closed clients have left to do was not done")
    } else if in_progress::is_any() {
        Some("a call did not end")
    } else if !pool::is_idle() {
        Some("a callback did not return")
    } else {
        None
    })
}

/// How often we look.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// How long a thread may take to end that has nothing to do.
const MOMENT: Duration = Duration::from_secs(1);

/// One thread ends the library at a time.
struct EndingAlone(Process);

static IS_ENDING: PerProcess<AtomicBool> = PerProcess::new();

impl EndingAlone {
    /// Waits for another one until it is late.
    fn begin(is_late: impl Fn() -> bool) -> Option<EndingAlone> {
        while IS_ENDING.swap(true, Ordering::AcqRel) {
            if is_late() {
                return None;
            }
            thread::sleep(LOOK_AGAIN);
        }
        Some(EndingAlone(Process::present()))
    }
}

impl Drop for EndingAlone {
    fn drop(&mut self) {
        if self.0.is_present() {
            IS_ENDING.store(false, Ordering::Release);
        }
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
    let closing = any_call(async move { client.close(limit).await });
    let closing = async move {
        let outcome = unless_withdrawn(pending_callbacks.clone(), closing).await;
        // What no server answered in that time never will be.
        pending_callbacks.withdraw();
        pending_callbacks.only_last().await;
        outcome
    };
    let done = any_done(done);
    run(
        Box::pin(closing),
        [None, None],
        Box::new(move |answer| session.delivery.completion(callback_to_come, Box::new(move || done(answer)))),
    );
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
    // Waiting would start the runtime of a library that was shut down.
    if !pending_callbacks.is_nothing() {
        let settling = pending_callbacks.clone();
        let settled = async move {
            settling.nothing().await;
            Ok(())
        };
        // Refused only where callbacks run, and nobody waits there.
        let _ = wait(settled, None, None);
    }
    sanitizer::acquire(&**pending_callbacks);
}
