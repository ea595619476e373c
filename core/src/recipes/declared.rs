//! A membership or a binding on its way to whoever declared it.

use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, oneshot};

use crate::error::Result;
use crate::path;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::backoff::Backoff;
use crate::session::call::{Call, refusal};
use crate::session::open_parents;
use crate::session::registration::KeptNode;
use crate::session::server_session::ServerSession;
use crate::session::wire::{CreateMode, WireError};
use crate::turn::deletable;

/// Declares an ephemeral node below `parent`, which is made if it is missing. Denied if it could not be undone.
pub(super) async fn declare(
    session: &Arc<Session>,
    verb: &'static str,
    parent: &str,
    node: String,
    data: &[u8],
) -> Result<KeptNode> {
    let mut call = call_behind_others(session, verb, &node).await?;
    let server_session = prepared(session, &mut call, verb, parent, &node).await?;
    let kept = KeptNode::declare(session, verb, node, data, session.parents()).await?;
    deletable::settle(&server_session, parent);
    Ok(kept)
}

/// The same with a name that begins with `name` and ends in the ten digits that the server appends. It keeps that name in every
/// server session.
pub(super) async fn declare_sequential(
    session: &Arc<Session>,
    verb: &'static str,
    parent: &str,
    name: &str,
    data: &[u8],
) -> Result<KeptNode> {
    let prefix = path::join(parent, name);
    let mut call = call_behind_others(session, verb, &prefix).await?;
    loop {
        let server_session = prepared(session, &mut call, verb, parent, &prefix).await?;
        let made = make_sequential(session, &server_session, &prefix, data);
        match call.receive(verb, made).await.map_err(|error| error.with_path(&prefix))? {
            Ok(node) => {
                let kept = KeptNode::adopt(session, verb, node, data, session.parents()).await?;
                deletable::settle(&server_session, parent);
                return Ok(kept);
            }
            // The session has ended, and with it what was made.
            Err(error) if error.is_unanswered() => {
                call.retry_after_loss(verb).await.map_err(|error| error.with_path(&prefix))?;
            }
            // Nobody had anything in the parent any more, and the server has collected it.
            Err(WireError::NoNode) => {}
            Err(error) => return Err(refusal(error, verb, &prefix)),
        }
    }
}

/// Makes it in the background, until the server session ends: whoever withdraws meanwhile leaves no node behind.
async fn make_sequential(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    prefix: &str,
    data: &[u8],
) -> Result<String, WireError> {
    let (tell, told) = oneshot::channel();
    let (making, prefix, data) = (server_session.clone(), prefix.to_owned(), data.to_vec());
    let retry = &session.options().retry;
    let (mut pause, clock) = (Backoff::new(retry.base, retry.max), session.clock().clone());
    drop(server_session.in_background(async move {
        let may_go_on = |error: &WireError| error.is_unanswered() && !making.has_ended();
        let made = loop {
            match making.create(&prefix, &data, CreateMode::EphemeralSequential).await {
                Err(error) if may_go_on(&error) => pause.pass(&clock).await,
                made => break made.map(|created| created.path),
            }
            // Its answer got lost: a node of that name and of this session is the one.
            match made_here(&making, &prefix).await {
                Ok(None) => {}
                Ok(Some(found)) => break Ok(found),
                Err(error) if may_go_on(&error) => {}
                Err(error) => break Err(error),
            }
        };
        if let Err(Ok(unwanted)) = tell.send(made) {
            let _ = making.delete(&unwanted, None).await;
        }
    }));
    told.await.unwrap_or(Err(WireError::ConnectionLoss))
}

/// A call whose turn it is among those of this client that declare the same: the others wait until it ends.
async fn call_behind_others(session: &Arc<Session>, verb: &'static str, node: &str) -> Result<Call> {
    let mut call = session.call(None);
    let waited = call.comes_behind(verb, session.take_queueing_turn(node)).await;
    waited.map(|()| call).map_err(|error| error.with_path(node))
}

/// Makes the parent.
async fn prepared(
    session: &Arc<Session>,
    call: &mut Call,
    verb: &'static str,
    parent: &str,
    node: &str,
) -> Result<Arc<ServerSession>> {
    loop {
        let server_session = call.server_session(verb).await.map_err(|error| error.with_path(node))?;
        open_parents::look(session, &server_session, call, verb, parent).await?;
        if deletable::check(session, &server_session, call, verb, parent).await? {
            return Ok(server_session);
        }
        call.make_path(verb, &server_session, parent, session.parents()).await?;
    }
}

/// The node of this very session whose name is `prefix` and ten digits.
async fn made_here(server_session: &Arc<ServerSession>, prefix: &str) -> Result<Option<String>, WireError> {
    let parent = path::parent(prefix);
    for name in server_session.children(parent).await? {
        let node = path::join(parent, &name);
        let number = node.strip_prefix(prefix).unwrap_or_default();
        if number.len() == 10
            && number.bytes().all(|digit| digit.is_ascii_digit())
            && let Some(stat) = server_session.exists(&node).await?
            && stat.ephemeral_owner as u64 == server_session.session_id()
        {
            return Ok(Some(node));
        }
    }
    Ok(None)
}

/// Dropped before its owner has it, it is undone in the background.
#[must_use = "dropping it undoes it"]
#[derive(Default)]
pub struct Declared {
    registration: Option<KeptNode>,
    /// Where it goes, locked until it is there: nobody else declares or undoes something meanwhile.
    place: UnlessForked<Option<OwnedMutexGuard<Option<KeptNode>>>>,
}

impl Declared {
    pub(super) fn to(place: OwnedMutexGuard<Option<KeptNode>>, registration: KeptNode) -> Declared {
        Declared { registration: Some(registration), place: UnlessForked::new(Some(place)) }
    }

    /// It lasts as long as the client.
    pub(super) fn of_the_client(registration: KeptNode) -> Declared {
        Declared { registration: Some(registration), place: UnlessForked::default() }
    }

    /// Its owner has it, and it lasts as long as the client, whatever becomes of the handle: for languages in which nobody
    /// says when a handle is dropped.
    pub fn receive_for_good(mut self) {
        self.registration = self.registration.take().map(KeptNode::stays_with_the_client);
        self.receive();
    }

    /// Its owner has it.
    pub fn receive(mut self) {
        match (self.registration.take(), &mut *self.place) {
            (registration, Some(place)) => **place = registration,
            (Some(registration), None) => drop(registration.stays_with_the_client()),
            (None, None) => {}
        }
    }
}

impl std::fmt::Debug for Declared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Declared").finish_non_exhaustive()
    }
}
