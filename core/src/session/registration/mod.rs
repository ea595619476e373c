//! A node that is declared once and kept in every server session: a membership, a binding, a candidacy.
//!
//! 1. One task of its own makes the ephemeral node, and makes it again in every new server session and whenever somebody deletes it.
//! 2. A node that somebody else has made is not ours: declaring it answers Exists. If somebody else's node is there
//!    later, we wait until it is gone; meanwhile a change of the data is refused.
//!    One that is declared to replace it deletes it, and makes its own, in one transaction: until it has stood for the first time,
//!    so that two who are both there do not take the node from each other again and again.
//! 3. It is undone when it is not wanted any more, in the background of the server session, so that closing waits for it.
//!
//! How that is done is told in [`task`].

mod owner;
mod task;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::watch;

use self::task::Task;
use super::Session;
use super::refusal::refusal;
use super::wire::frame::fits;
use super::wire::{CreateMode, WireError};
use crate::error::{Error, ErrorKind, Result};
use crate::futures::CompiledOnce;
use crate::mutex::lock;
use crate::process::UnlessForked;

/// The node is kept as long as this exists; dropping it undoes it in the background.
pub(crate) struct KeptNode {
    task: UnlessForked<Arc<Task>>,
    is_left: bool,
}

/// By path, what one client keeps: two of its own must not take each other's nodes for their own.
#[derive(Default)]
struct Registrations(Mutex<BTreeMap<String, Weak<Task>>>);

/// What is at the path when a node is declared.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum StartingNode {
    /// Nothing: what is somebody else's stays.
    Missing,
    /// The node, which this client has made just now, for a name that only the server could give it.
    Made,
    /// Perhaps one of somebody else, whose place it takes if it is ephemeral.
    Replaced,
}

#[derive(Clone)]
struct Wish {
    /// What its owner calls it.
    verb: &'static str,
    data: Vec<u8>,
    /// What was fulfilled last: what is refused gives way to it.
    before: Option<Vec<u8>>,
    /// Rises with every change of the data.
    number: u64,
    is_wanted: bool,
}

#[derive(Default)]
struct RegistrationState {
    /// The newest wish that was fulfilled.
    fulfilled: Option<u64>,
    /// Why a wish could not be.
    refused: Option<(u64, Error)>,
    /// Undone, and no node of anybody's was there then.
    is_free: bool,
    /// It was to be undone, and the server let nobody delete it: it stands until the session ends.
    is_left_over: bool,
    has_ended: bool,
}

impl RegistrationState {
    fn has_refused(&self, number: u64) -> bool {
        self.refused.as_ref().is_some_and(|(refused, _)| *refused == number)
    }
}

impl KeptNode {
    /// Makes the node and keeps it from now on. Exists if what is at the path stays, or is kept by this client already.
    pub(crate) fn declare<'a>(
        session: &'a Arc<Session>,
        verb: &'static str,
        path: String,
        data: &'a [u8],
        starting: StartingNode,
    ) -> CompiledOnce<'a, Result<KeptNode>> {
        Box::pin(KeptNode::declared(session, verb, path, data, starting))
    }

    async fn declared(
        session: &Arc<Session>,
        verb: &'static str,
        path: String,
        data: &[u8],
        starting: StartingNode,
    ) -> Result<KeptNode> {
        let registrations = session.extensions.of::<Registrations>();
        let task = loop {
            let before = {
                let mut all = lock(&registrations.0);
                match all.get(&path).and_then(Weak::upgrade) {
                    None => {
                        let wish =
                            Wish { verb, data: data.to_vec(), before: None, number: 0, is_wanted: true };
                        let task = Arc::new(Task {
                            session: session.clone(),
                            path: path.clone(),
                            is_made: AtomicBool::new(starting == StartingNode::Made),
                            replaces: starting == StartingNode::Replaced,
                            wish: watch::Sender::new(wish),
                            stands: watch::Sender::default(),
                        });
                        all.insert(path.clone(), Arc::downgrade(&task));
                        break task;
                    }
                    Some(before) => before,
                }
            };
            if before.wish.borrow().is_wanted {
                let message = format!(
                    "this client keeps that node already, so {verb} was refused; choose another name or id"
                );
                return Err(Error::new(ErrorKind::Exists, message).with_path(path));
            }
            // Being undone: then it is free.
            before.until(verb, |stands| stands.has_ended).await?;
        };
        let registration = KeptNode { task: UnlessForked::new(task.clone()), is_left: false };
        task.begin();
        registration.fulfilled(verb, 0).await?;
        Ok(registration)
    }

    /// What this client keeps at `path`.
    pub(crate) fn find(session: &Arc<Session>, path: &str) -> Option<KeptNode> {
        let task = lock(&session.extensions.of::<Registrations>().0).get(path).and_then(Weak::upgrade)?;
        let is_wanted = task.wish.borrow().is_wanted;
        is_wanted.then(|| KeptNode { task: UnlessForked::new(task), is_left: true })
    }

    /// Whether this client keeps a node at `path`, or has not undone it yet.
    pub(crate) fn is_known(session: &Arc<Session>, path: &str) -> bool {
        let registrations = session.extensions.of::<Registrations>();
        lock(&registrations.0).get(path).is_some_and(|task| task.strong_count() > 0)
    }

    /// From now on it is kept for as long as the client lives, unless it is undone: dropping this does not end it.
    pub(crate) fn stays_with_the_client(mut self) -> KeptNode {
        self.is_left = true;
        self
    }

    /// What the node is to have: what was wished for last, unless that was refused.
    pub(crate) fn data(&self) -> Vec<u8> {
        self.task.wish.borrow().data.clone()
    }

    /// Changes the node's data, now and for the server sessions to come. ConnectionLost: not yet, it goes on in the background.
    pub(crate) async fn update(&self, verb: &'static str, data: &[u8]) -> Result<()> {
        let task = &self.task;
        let bytes = task.session.server_session().measure().create(&task.path, data, CreateMode::Ephemeral);
        fits(bytes).map_err(|error| refusal(error, verb, &task.path))?;
        let mut number = 0;
        task.wish.send_modify(|wish| {
            (wish.verb, wish.data) = (verb, data.to_vec());
            wish.number += 1;
            number = wish.number;
        });
        self.fulfilled(verb, number).await
    }

    /// Deletes the node and keeps it no longer; answers whether there was certainly none any more. Somebody else's stays.
    /// ConnectionLost: unconfirmed, and the deletion goes on in the background. Denied: we may not delete it, so it stands
    /// until the client is closed.
    pub(crate) async fn undo(self, verb: &'static str) -> Result<bool> {
        self.task.unregister();
        self.task.until(verb, |stands| stands.has_ended).await?;
        let stands = self.task.stands.borrow();
        match stands.is_left_over {
            true => Err(left_over(verb, &self.task.path)),
            false => Ok(stands.is_free),
        }
    }

    async fn fulfilled(&self, verb: &'static str, number: u64) -> Result<()> {
        let is_decided = |stands: &RegistrationState| {
            let refused = stands.refused.as_ref().map(|(number, _)| *number);
            stands.has_ended || stands.fulfilled.max(refused) >= Some(number)
        };
        self.task.until(verb, is_decided).await?;
        let stands = self.task.stands.borrow();
        match &stands.refused {
            _ if stands.fulfilled >= Some(number) && !stands.has_refused(number) => Ok(()),
            Some((refused, error)) if *refused >= number => Err(error.clone()),
            _ if self.task.session.is_closing() => Err(Error::closed("client")),
            _ => Err(not_declared("it was undone meanwhile")),
        }
    }
}

impl Drop for KeptNode {
    fn drop(&mut self) {
        // In a forked child the node is the parent's.
        if !self.is_left && self.task.process().is_present() {
            self.task.unregister();
        }
    }
}

/// The error where somebody else's node is in the way.
fn taken(verb: &str, path: &str, is_ephemeral: bool) -> Error {
    if !is_ephemeral {
        return refusal(WireError::NodeExists, verb, path);
    }
    let message = format!(
        "a node of another session is there already, so {verb} was refused; if a process that has died has left it, wait until \
         it has gone, when the session timeout of that one is over; else choose another name or id"
    );
    Error::new(ErrorKind::Exists, message).with_path(path)
}

fn left_over(verb: &str, path: &str) -> Error {
    Error::new(
        ErrorKind::Denied,
        format!(
            "the access list of the parent does not let this client delete the node, so {verb} was refused and it stands until \
             the client is closed; close it, or have DELETE granted on the parent"
        ),
    )
    .with_path(path)
}

/// The error for what needs something declared that is not.
pub(crate) fn not_declared(what: &str) -> Error {
    Error::new(ErrorKind::NotHeld, format!("not held: {what}"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::runtime::tests::dropped_in_a_child;
    use crate::{Client, drive};

    /// The worst moment for a fork: another thread has the lock, and in the child it is never unlocked.
    #[test]
    fn what_a_forked_child_drops_stays_registration() -> Result<()> {
        let client = drive::wait(Client::connect("embedded:", Default::default()), None, None)?;
        let session = client.session()?;
        let node = "/groups/forked/a".to_owned();
        let declared = {
            let (session, node) = (session.clone(), node.clone());
            async move { KeptNode::declare(&session, "join", node, b"", StartingNode::Missing).await }
        };
        let registration = drive::wait(declared, None, None)?;
        let task = registration.task.clone();
        let ((lock, is_locked), (free, is_free)) = (channel(), channel::<()>());
        let locker = std::thread::spawn(move || {
            let _locked = task.wish.borrow();
            lock.send(()).expect("the test waits");
            // Not for ever: a test that fails drops it, too.
            let _ = is_free.recv_timeout(Duration::from_secs(25));
        });
        is_locked.recv().expect("locked");
        let registration = dropped_in_a_child("what is registration", registration);
        drop(free);
        locker.join().expect("no panic");
        assert!(KeptNode::find(&session, &node).is_some());
        drive::wait(registration.undo("leave"), None, None).map(drop)
    }
}
