//! A membership or a binding on its way to whoever declared it.

use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, oneshot};

use crate::error::Result;
use crate::path;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::call_order::MayQueue;
use crate::session::clock::Moment;
use crate::session::growing_pause::GrowingPause;
use crate::session::open_parents;
use crate::session::refusal::refusal;
use crate::session::registration::{KeptNode, StartingNode};
use crate::session::server_session::ServerSession;
use crate::session::wire::{CreateMode, WireError};
use crate::turn::deletable;

/// Declares an ephemeral node below `root`, the path of its recipe. Its parent is made if it is missing. Denied if it could not be
/// undone.
pub(super) async fn declare(
    session: &Arc<Session>,
    verb: &'static str,
    root: &str,
    node: String,
    data: &[u8],
    starting: StartingNode,
) -> Result<KeptNode> {
    let mut call = call_behind_others(session, verb, &node).await?;
    let server_session = prepared(session, &mut call, verb, root, &node).await?;
    let parent = path::parent(&node).to_owned();
    let kept = KeptNode::declare(session, verb, node, data, starting).await?;
    deletable::settle(&server_session, &parent);
    Ok(kept)
}

/// The same with a path that begins with `prefix` and ends in the ten digits that the server appends. It keeps that name in every
/// server session.
pub(super) async fn declare_sequential(
    session: &Arc<Session>,
    verb: &'static str,
    root: &str,
    prefix: &str,
    data: &[u8],
) -> Result<KeptNode> {
    let mut call = call_behind_others(session, verb, prefix).await?;
    // Not the next one's before a node that nobody wants any more is gone: that would be taken for the next one's.
    let turn: HandedTurn = Arc::new(UnlessForked::new(call.hand_over_turn()));
    loop {
        let server_session = prepared(session, &mut call, verb, root, prefix).await?;
        let made = make_sequential(session, &server_session, prefix, data, &turn);
        match call.receive(verb, made).await.map_err(|error| error.with_path(prefix))? {
            Ok(made) => {
                let node = made.hand_over();
                let kept = KeptNode::declare(session, verb, node, data, StartingNode::Made).await?;
                deletable::settle(&server_session, path::parent(prefix));
                return Ok(kept);
            }
            // The session has ended, and with it what was made.
            Err(error) if error.is_unanswered() => {
                call.retry_after_loss(verb).await.map_err(|error| error.with_path(prefix))?;
            }
            // There was no parent, which not everybody is told before; or nobody had anything in it any more, and the server has
            // collected it.
            Err(WireError::NoNode) => {
                let parent = path::parent(prefix);
                call.make_path(verb, &server_session, parent, session.parents()).await?;
            }
            Err(error) => return Err(refusal(error, verb, prefix)),
        }
    }
}

/// The next call that declares the same has its turn when all have let go of this.
type HandedTurn = Arc<UnlessForked<Option<MayQueue>>>;

/// A node that was made: dropped before somebody keeps it, it is deleted in the background.
struct MadeNode {
    server_session: Arc<ServerSession>,
    node: String,
    czxid: i64,
    turn: Option<HandedTurn>,
}

impl MadeNode {
    /// Its path, to whoever keeps and deletes it from now on.
    fn hand_over(mut self) -> String {
        self.turn = None;
        std::mem::take(&mut self.node)
    }
}

impl Drop for MadeNode {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take().filter(|turn| turn.process().is_present()) {
            let gone = self.server_session.delete_in_background(std::mem::take(&mut self.node), self.czxid);
            // Nobody polls it, and it goes on all the same.
            turn.iter().for_each(|turn| turn.is_seen(Moment(u64::MAX)));
            drop(self.server_session.in_background(async move {
                gone.await;
                drop(turn);
            }));
        }
    }
}

/// Makes it in the background, until the server session ends: whoever withdraws meanwhile leaves no node behind.
async fn make_sequential(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    prefix: &str,
    data: &[u8],
    turn: &HandedTurn,
) -> Result<MadeNode, WireError> {
    let (tell, told) = oneshot::channel();
    let (session, making, turn) = (session.clone(), server_session.clone(), turn.clone());
    let (prefix, data) = (prefix.to_owned(), data.to_vec());
    drop(server_session.in_background(async move {
        let retry = &session.options().retry;
        let mut pause = GrowingPause::new(retry.base, retry.max);
        let may_go_on = |error: &WireError| error.is_unanswered() && !making.has_ended();
        let made = loop {
            if tell.is_closed() {
                // Nothing was made.
                return;
            }
            match making.create(&prefix, &data, CreateMode::EphemeralSequential).await {
                Ok(created) => break Ok((created.path, created.czxid)),
                Err(error) if may_go_on(&error) => {}
                Err(error) => break Err(error),
            }
            // Its answer got lost: a node of that name and of this session is the one.
            let found = loop {
                turn.iter().for_each(|turn| turn.is_seen(session.now() + retry.max));
                pause.pass(session.clock()).await;
                match made_here(&session, &making, &prefix).await {
                    Err(error) if may_go_on(&error) => {}
                    found => break found,
                }
            };
            match found {
                Ok(None) => {}
                Ok(Some(found)) => break Ok(found),
                Err(error) => break Err(error),
            }
        };
        let made =
            made.map(|(node, czxid)| MadeNode { server_session: making, node, czxid, turn: Some(turn) });
        // Whoever does not take it drops it.
        let _ = tell.send(made);
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
    root: &str,
    node: &str,
) -> Result<Arc<ServerSession>> {
    let parent = path::parent(node);
    loop {
        let server_session = call.server_session(verb).await.map_err(|error| error.with_path(node))?;
        open_parents::look_below(session, &server_session, call, verb, root, &[parent]).await?;
        if deletable::check(session, &server_session, call, verb, parent).await? {
            return Ok(server_session);
        }
        call.make_path(verb, &server_session, parent, session.parents()).await?;
    }
}

/// The node of this very session whose name is `prefix` and ten digits, and its czxid; not one that this client keeps already.
async fn made_here(
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    prefix: &str,
) -> Result<Option<(String, i64)>, WireError> {
    let parent = path::parent(prefix);
    // What was asked before has been decided when this is answered, whatever it says, and the list shows it.
    let (settled, list) = (server_session.settle(parent), server_session.children(parent));
    if let Err(error) = settled.await
        && error.is_unanswered()
    {
        return Err(error);
    }
    let nodes = match list.await {
        Ok(names) => names.iter().map(|name| path::join(parent, name)).collect(),
        Err(WireError::NoAuth) => server_session.own_ephemerals(parent).await?,
        Err(error) => return Err(error),
    };
    for node in nodes {
        let number = node.strip_prefix(prefix).unwrap_or_default();
        let is_numbered = number.len() == 10 && number.bytes().all(|digit| digit.is_ascii_digit());
        if !is_numbered || KeptNode::is_known(session, &node) {
            continue;
        }
        match server_session.exists(&node).await {
            Ok(Some(stat)) if stat.ephemeral_owner as u64 == server_session.session_id() => {
                return Ok(Some((node, stat.czxid)));
            }
            Ok(_) => {}
            // The server does not say whose it is, but it lists the session's own nodes. It may be too old for that: then it is
            // taken for somebody else's.
            Err(WireError::NoAuth) => match server_session.own_ephemerals(&node).await {
                Ok(own) if own.contains(&node) => return Ok(Some((node, 0))),
                Err(error) if error.is_unanswered() => return Err(error),
                _ => {}
            },
            Err(error) => return Err(error),
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
