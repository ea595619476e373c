//! Our place in a queue of guarded sequential nodes: entering it, and finding it again when an answer got lost.
//!
//! `create` and `getChildren` leave in one flight; a session is FIFO, so one round trip decides. A list counts only if
//! it contains our name. When the answer to the create got lost, the list of this session's own nodes has it, with our
//! GUID in its name: that is asked for behind a write, and is short however many wait. Dropping a place deletes its node
//! in the background.

use std::sync::Arc;

use super::deletable;
use super::name::{self, ContenderName, Kind};
use super::order::Contenders;
use super::session_line::{Arrival, Departure, Joined, LastLine, Line, Position};
use crate::error::Result;
use crate::options::Naming;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::open_parents;
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::server_session::shared_lists::SharedNames;
use crate::session::wire::{CreateMode, WireError};
use crate::sort;

/// Where and as whom to queue.
pub(crate) struct TurnRequest<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) path: &'a str,
    pub(crate) kind: Kind,
    /// Whose names to queue under.
    pub(crate) naming: Naming,
    /// What our node says: who we are, unless there is more to say.
    pub(crate) data: &'a [u8],
    /// What the path is made as, if it is missing.
    pub(crate) mode: CreateMode,
    /// What is made before the path, if that is missing.
    pub(crate) first: Option<&'a str>,
    /// Whether to stand in the line of the session, and what the handle remembers of it, if it does.
    pub(crate) stands_in_line: bool,
    pub(crate) last_line: Option<&'a LastLine>,
    /// Whether who comes next in the session may have the turn while the deletion of our node is on its way.
    pub(crate) passes: bool,
    /// Of a candidate its priority: it may ask lower ones to move behind it, and moves itself when it is asked.
    pub(crate) priority: Option<i32>,
    /// What the caller does, for error texts.
    pub(crate) verb: &'static str,
}

impl<'a> TurnRequest<'a> {
    /// As the client goes by name, and saying who it is.
    pub(crate) fn of(session: &'a Arc<Session>, path: &'a str, kind: Kind) -> TurnRequest<'a> {
        let (naming, data) = (session.options().naming, session.identity().as_bytes());
        let (mode, first, verb) = (session.parents(), None, "acquire");
        let (stands_in_line, last_line, passes, priority) = (true, None, false, None);
        TurnRequest {
            session,
            path,
            kind,
            naming,
            data,
            mode,
            first,
            stands_in_line,
            last_line,
            passes,
            priority,
            verb,
        }
    }

    /// The name of a new node, without its number, and the part of it that is like no other.
    pub(crate) fn fresh_name(&self) -> (String, String) {
        match self.priority {
            Some(priority) => name::fresh_candidate(self.naming, self.kind, priority),
            None => name::fresh(self.naming, self.kind),
        }
    }
}

/// A node of ours among the contenders of one path.
pub(crate) struct Place {
    pub(crate) server_session: Arc<ServerSession>,
    /// The path that is asked for, to which the server appends the number; nothing once it has entered, as the node tells.
    asked: String,
    guid: String,
    /// `None` as long as only the server knows whether there is a node.
    node: Option<Node>,
    /// Whether an attempt was made of which nobody knows what became.
    is_in_doubt: bool,
    /// In the line of the session. It leaves that when this is dropped, behind its deletion.
    position: Option<Position>,
}

/// A node that certainly was created.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) path: String,
    pub(crate) entry: ContenderName,
    pub(crate) czxid: i64,
    /// The fencing token that it goes on with, for a node that took another's place.
    pub(crate) inherited: Option<i64>,
}

impl Node {
    pub(crate) fn of(path: String, entry: ContenderName, czxid: i64) -> Node {
        Node { path, entry, czxid, inherited: None }
    }

    pub(crate) fn token(&self) -> i64 {
        self.inherited.unwrap_or(self.czxid)
    }
}

/// The names under the path, or the news that our node is not among them any more.
pub(crate) enum Listing {
    Names(SharedNames),
    Gone,
}

/// How we stand when we have entered.
pub(crate) enum Entered {
    /// Nobody is ahead of us, whatever a list would tell.
    Turn,
    /// In memory, behind another one of this session.
    InMemory,
    Listed(SharedNames),
}

impl Place {
    /// Creates our node, within the retry budget, and lists its siblings if it takes a list to tell who is ahead.
    pub(crate) async fn enter(request: &TurnRequest<'_>, call: &mut Call) -> Result<(Place, Entered)> {
        let TurnRequest { session, path, data, verb, .. } = *request;
        let mut tried: Option<Box<Place>> = None;
        // Each in a box, as all that is rare: there may be thousands who enter at once.
        if !call.may_queue_at_once() {
            Box::pin(call.until_those_before_have_queued()).await?;
        }
        loop {
            let server_session = call.server_session(verb).await.map_err(|error| error.with_path(path))?;
            call.until_those_who_wait_have_queued(path, &server_session).await?;
            if !deletable::is_known(session, &server_session, path)
                && !Box::pin(deletable::check(session, &server_session, call, verb, path)).await?
            {
                Box::pin(make_path(request, &server_session, call)).await?;
                continue;
            }
            // In the same session it keeps its name, so that a node of an attempt that was given up is known when it shows.
            let mut place = match tried.take() {
                Some(place) if Arc::ptr_eq(&place.server_session, &server_session) => *place,
                earlier => {
                    drop(earlier.map(|earlier| earlier.forget()));
                    Place::new(&server_session, path, request.fresh_name())
                }
            };
            let was_in_doubt = std::mem::replace(&mut place.is_in_doubt, true);
            let asked = Departure::now(&server_session, call.now());
            let line = (request.stands_in_line && !was_in_doubt).then(|| Line::of(request, &server_session));
            let arrival = line.map(|line| line.arrive(&server_session, asked, request));
            let create = server_session.create(&place.asked, data, CreateMode::EphemeralSequential);
            let needs_no_list =
                arrival.as_ref().is_some_and(|arrival| arrival.needs_no_list(&server_session));
            let list = (!needs_no_list).then(|| server_session.list_children(path, false));
            let mut joined = Joined::Unknown;
            // A create that finds its path cannot be overtaken any more. As long as another one of ours stands there, nobody collects
            // the path.
            if arrival.as_ref().is_some_and(Arrival::finds_others) {
                call.has_queued_in(path, &server_session);
            }
            let created = call.receive(verb, create).await?;
            // One that is in doubt is in no line.
            let arrival = arrival.filter(|_| created.is_ok());
            match created {
                Ok(created) => {
                    call.has_queued_in(path, &server_session);
                    place.found(created.path, created.czxid);
                    place.is_in_doubt = was_in_doubt;
                    if let (Some(arrival), Some(node)) = (arrival, &place.node)
                        && let Some(joins) = arrival.joins(&server_session, node, data, created.stat)
                    {
                        joined = joins.1;
                        place.position = Some(joins.0);
                    }
                    deletable::settle(&server_session, path);
                }
                // In a box, as all that is rare: else every waiter has room for it.
                Err(WireError::ConnectionLoss) if Box::pin(place.recover(call, verb)).await? => {
                    call.has_queued_in(path, &server_session);
                }
                Err(error) if error.is_unanswered() => {
                    call.retry_after_loss(verb).await?;
                    tried = Some(Box::new(place));
                    continue;
                }
                Err(error) => {
                    // The server has decided: of this attempt there is nothing to delete.
                    place.is_in_doubt = was_in_doubt;
                    if error != WireError::NoNode {
                        return Err(refusal(error, verb, path));
                    }
                    tried = Some(Box::new(place));
                    server_session.forget_deletions_below(path);
                    Box::pin(make_path(request, &server_session, call)).await?;
                    continue;
                }
            }
            let entered = match (joined, list) {
                (Joined::Turn, _) => Some(Entered::Turn),
                (Joined::InMemory, _) => Some(Entered::InMemory),
                (Joined::Unknown, None) => None,
                (Joined::Unknown, Some(list)) => match call.receive(verb, list).await? {
                    Ok(names) if place.is_among(&names) => Some(place.stands_behind(names, asked)),
                    Ok(_) | Err(WireError::NoNode) => None,
                    Err(error) if error.is_unanswered() => None,
                    Err(error) => return Err(refusal(error, verb, path)),
                },
            };
            let entered = match entered {
                Some(entered) => entered,
                None => match Box::pin(place.list(call, verb)).await? {
                    Listing::Names(names) => place.stands_behind(names, asked),
                    Listing::Gone => continue,
                },
            };
            // The list may have told that the path is not the node that was looked at.
            if !open_parents::is_known(session, &server_session, path) {
                Box::pin(open_parents::look(session, &server_session, call, verb, path)).await?;
            }
            // With the answer to this create, those before it have been decided, and a list behind it shows their nodes.
            if was_in_doubt
                && let Entered::Listed(names) = &entered
                && !Box::pin(place.adopt(names, call, verb)).await?
            {
                continue;
            }
            place.has_entered();
            return Ok((place, entered));
        }
    }

    /// How we stand by a list.
    fn stands_behind(&self, names: SharedNames, asked: Departure) -> Entered {
        match self.waits_behind(&names, asked) {
            true => Entered::InMemory,
            false => Entered::Listed(names),
        }
    }

    /// Whether, by a list, we wait in memory for the one right ahead of us.
    pub(crate) fn waits_behind(&self, names: &SharedNames, asked: Departure) -> bool {
        self.position.as_ref().is_some_and(|position| position.is_listed(names, asked))
    }

    /// In the line of the session, if we stand there.
    pub(crate) fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    fn new(server_session: &Arc<ServerSession>, parent: &str, (prefix, guid): (String, String)) -> Place {
        Place {
            server_session: server_session.clone(),
            asked: path::join(parent, &prefix),
            guid,
            node: None,
            is_in_doubt: false,
            position: None,
        }
    }

    /// A place whose node has a name of its own, which is about to be created.
    pub(crate) fn reserve(server_session: &Arc<ServerSession>, path: String) -> Place {
        let mut place = Place {
            server_session: server_session.clone(),
            asked: path.clone(),
            guid: String::new(),
            node: None,
            is_in_doubt: false,
            position: None,
        };
        place.found(path, -1);
        place
    }

    /// The node that was created. A place that others get to see always has one.
    pub(crate) fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    /// The path below which it stands.
    pub(crate) fn parent(&self) -> &str {
        path::parent(self.node.as_ref().map_or(&self.asked, |node| &node.path))
    }

    /// What it takes to find the node is not needed any more: who waits may do so for long.
    fn has_entered(&mut self) {
        if self.node.is_some() && !self.is_in_doubt {
            (self.asked, self.guid) = (String::new(), String::new());
        }
    }

    fn found(&mut self, path: String, czxid: i64) {
        // Our own names are always recognised.
        self.node = ContenderName::recognise(path::name(&path)).map(|entry| Node::of(path, entry, czxid));
    }

    fn is_among(&self, names: &SharedNames) -> bool {
        self.node.as_ref().is_some_and(|node| Contenders::of(names).has(&node.entry))
    }

    /// After a lost answer: has this session a node with our GUID? A quorum write that changes nothing goes ahead of the
    /// question: when it is answered, what this session asked for before has been decided.
    async fn recover(&mut self, call: &mut Call, verb: &str) -> Result<bool> {
        loop {
            if self.server_session.has_ended() {
                return Ok(false);
            }
            let (settled, list) = (
                self.server_session.settle(self.parent()),
                self.server_session.list_own_children(self.parent()),
            );
            let settled = call.receive(verb, settled).await?;
            let listed = call.receive(verb, list).await?;
            let names = match (settled, listed) {
                (Ok(()), Ok(names)) => names,
                (Err(WireError::NoNode), _) => return Ok(false),
                (Ok(()), Err(WireError::NoNode)) => continue,
                (Err(error), _) | (_, Err(error)) if error.is_unanswered() => {
                    call.retry_after_loss(verb).await?;
                    continue;
                }
                (Err(error), _) | (_, Err(error)) => return Err(refusal(error, verb, self.parent())),
            };
            return self.adopt(&names, call, verb).await;
        }
    }

    /// Of the nodes with our GUID keeps the first that this session made, and deletes the rest. False if there is none.
    async fn adopt(&mut self, names: &[String], call: &mut Call, verb: &str) -> Result<bool> {
        let mut nodes: Vec<Node> = names
            .iter()
            .filter(|name| name.contains(&self.guid))
            .filter_map(|name| ContenderName::recognise(name))
            .map(|entry| Node::of(path::join(self.parent(), &entry.name), entry, -1))
            .collect();
        sort::by_key(&mut nodes, |node| (node.entry.is_late(), node.entry.sequence));
        let mut kept: Option<Node> = None;
        for mut node in nodes {
            let is_ours = loop {
                if self.server_session.has_ended() {
                    return Ok(false);
                }
                match call.receive(verb, self.server_session.exists(&node.path)).await? {
                    Ok(Some(stat)) => {
                        node.czxid = stat.czxid;
                        break stat.ephemeral_owner as u64 == self.server_session.session_id();
                    }
                    Ok(None) => break false,
                    Err(error) if error.is_unanswered() => call.retry_after_loss(verb).await?,
                    Err(_) => break false,
                }
            };
            if is_ours && kept.is_none() {
                kept = Some(node);
            } else {
                // One too many, or somebody else's by the same name, or an older session's: never adopted.
                drop(self.server_session.delete_in_background(node.path, node.czxid));
            }
        }
        if kept.is_some() {
            self.node = kept;
            self.is_in_doubt = false;
        }
        Ok(!self.is_in_doubt)
    }

    /// Lists again. If our name is missing, a `sync` decides whether the server was behind or the node is gone.
    pub(crate) async fn list(&self, call: &mut Call, verb: &str) -> Result<Listing> {
        let mut sync = false;
        loop {
            if self.server_session.has_ended() {
                return Ok(Listing::Gone);
            }
            match call.receive(verb, self.server_session.list_children(self.parent(), sync)).await? {
                Ok(names) if self.is_among(&names) => return Ok(Listing::Names(names)),
                Ok(_) | Err(WireError::NoNode) if sync => return Ok(Listing::Gone),
                Ok(_) | Err(WireError::NoNode) => sync = true,
                Err(error) if error.is_unanswered() => {
                    sync = true;
                    call.retry_after_loss(verb).await?;
                }
                Err(error) => return Err(refusal(error, verb, self.parent())),
            }
        }
    }

    /// The node is somebody else's business from now on, or never was.
    pub(crate) fn forget(mut self) -> Option<Node> {
        self.is_in_doubt = false;
        self.node.take()
    }

    /// The same, with where it stands in its line.
    pub(crate) fn hand_over(mut self) -> Option<(Node, Option<Position>)> {
        let position = self.position.take();
        Some((self.forget()?, position))
    }

    /// Deletes the node in the background; the answer resolves when that is confirmed.
    pub(crate) fn withdraw(mut self) -> Later<()> {
        self.delete()
    }

    fn delete(&mut self) -> Later<()> {
        let guid = std::mem::take(&mut self.guid);
        match self.node.take() {
            // Whatever was created under the name, known or not.
            _ if std::mem::take(&mut self.is_in_doubt) => {
                self.server_session.delete_by_guid_in_background(self.parent().to_owned(), guid)
            }
            // One that is reserved: nobody has seen it yet.
            Some(node) if node.czxid <= 0 => self.server_session.delete_in_order_in_background(node.path),
            Some(node) => self.server_session.delete_in_background(node.path, node.czxid),
            None => Box::pin(std::future::ready(())),
        }
    }
}

/// Creates the path, whose nodes go away with what is below them, or did not exist yet.
async fn make_path(
    request: &TurnRequest<'_>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
) -> Result<()> {
    let TurnRequest { path, mode, first, verb, .. } = *request;
    for path in first.into_iter().chain([path]) {
        if !call.make_path(verb, server_session, path, mode).await? {
            break;
        }
    }
    Ok(())
}

impl Drop for Place {
    fn drop(&mut self) {
        let may_stand = self.node.is_some() || self.is_in_doubt;
        if may_stand && self.server_session.process().is_present() {
            drop(self.delete());
        }
    }
}
