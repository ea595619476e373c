//! A process that exits leaves no session behind: whatever it held would keep others out until the server's timeout.
//!
//! The list knows every client, because only clients can be told to end; [`open`] knows the sessions, and when they are gone.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::Session;
use super::wire::open;
use crate::error::{Error, Result};
use crate::futures::unless;
use crate::mutex::lock;
use crate::process::PerProcess;

static OPEN_CLIENTS: PerProcess<Mutex<OpenClients>> = PerProcess::new();
/// All were told to end.
static ENDING: PerProcess<Notify> = PerProcess::new();

#[derive(Default)]
struct OpenClients {
    clients: Vec<Weak<Session>>,
    /// How often all were told to end.
    endings: u64,
}

fn open_clients() -> MutexGuard<'static, OpenClients> {
    lock(OPEN_CLIENTS.of_this_process())
}

/// Opens a client and keeps it on the list; Closed if the process ends its sessions meanwhile.
pub(crate) async fn open_client(open: impl Future<Output = Result<Arc<Session>>>) -> Result<Arc<Session>> {
    let before = open_clients().endings;
    let Some(session) = unless(open, until_ending(before)).await else {
        return Err(Error::closed("client"));
    };
    let session = session?;
    let mut open_clients = open_clients();
    open_clients.clients.retain(|client| client.strong_count() > 0);
    open_clients.clients.push(Arc::downgrade(&session));
    let is_late = open_clients.endings != before;
    drop(open_clients);
    if is_late {
        session.end(Duration::ZERO, None);
        return Err(Error::closed("client"));
    }
    Ok(session)
}

async fn until_ending(before: u64) {
    loop {
        let mut ending = pin!(ENDING.notified());
        ending.as_mut().enable();
        if open_clients().endings != before {
            return;
        }
        ending.await;
    }
}

/// How many clients nobody has closed, and how many are closed and have callbacks that their user does not let run.
pub(crate) fn count_unfinished() -> (usize, usize) {
    let (closed, open): (Vec<_>, Vec<_>) = clients().into_iter().partition(|client| client.is_closing());
    (open.len(), closed.iter().filter(|client| client.delivery.waits_for_the_sink()).count())
}

/// Whether a server may have a session for us, or have one soon, or a client that is being closed has not said yet that it is closed.
pub(crate) fn has_sessions() -> bool {
    open::is_any() || clients().iter().any(|client| !client.is_closed())
}

fn clients() -> Vec<Arc<Session>> {
    // Not under the lock: the last that refers to one may go where this is used.
    open_clients().clients.iter().filter_map(Weak::upgrade).collect()
}

/// Ends every session that this process has now (a forked child has none of its parent's), and waits at most `limit` for the servers to
/// confirm it, and before that for what would be left undone otherwise.
pub(crate) fn end_all(limit: Duration) {
    let clients: Vec<_> = {
        let mut open_clients = open_clients();
        open_clients.endings += 1;
        open_clients.clients.iter().filter_map(Weak::upgrade).collect()
    };
    // Each counts as open: what would be left undone may take a session that is opened only then.
    let under_way: Vec<_> = clients.iter().map(|_| open::Entry::new()).collect();
    let sessions = open::so_far();
    ENDING.notify_waiters();
    clients.iter().zip(under_way).for_each(|(client, entry)| client.end(limit, Some(entry)));
    open::until_gone(sessions, limit);
    // The process is about to destroy what callbacks use.
    clients.iter().for_each(|client| client.delivery.silence());
}
