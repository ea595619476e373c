//! The node of a member, from the moment when it may exist until it certainly does not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::layout::{Member, OF, Round, SPENT, prefix};
use crate::error::{Error, LostReason, Result};
use crate::mutex::{lock, unpoisoned};
use crate::path;
use crate::runtime;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::random;
use crate::session::server_session::ServerSession;
use crate::session::wire::{CreateMode, Flight, Watch, WireError, Write};

pub(super) const ENTER: &str = "enter";
/// A member that waits for longer looks for what seldom goes wrong, which costs a request: its own node or the anchor's is gone.
pub(super) const MOMENT: Duration = Duration::from_millis(500);

/// GUIDs of nodes that one handle gave up and that may stand yet: it must not come a second time before they are gone.
pub(super) type GivenUp = Arc<Mutex<Vec<String>>>;

/// The names of all children, once whatever was asked before has been decided; none where there is no such path.
pub(super) fn settled(server_session: &Arc<ServerSession>, path: &str) -> Flight<Vec<String>> {
    let (settled, list) = (server_session.settle(path), server_session.children(path));
    Box::pin(async move {
        match (settled.await, list.await) {
            (Err(WireError::NoNode), _) | (Ok(()), Err(WireError::NoNode)) => Ok(Vec::new()),
            (settled, list) => settled.and(list),
        }
    })
}

/// What the member that leaves last knows of its round.
struct AnchorsKnowledge {
    ready: String,
    /// What that says.
    says: Vec<u8>,
}

/// A member of a round that is on.
pub(super) struct Inside {
    pub(super) place: MemberPlace,
    pub(super) round: Round,
}

pub(super) struct MemberPlace {
    pub(super) server_session: Arc<ServerSession>,
    pub(super) parent: String,
    guid: String,
    /// Once it is known.
    name: Option<String>,
    /// The czxid of the barrier's node below which it was created, if that was answered.
    pub(super) barrier: Option<i64>,
    /// The version of the barrier's node then, and how many children it had with ours, if that was answered.
    pub(super) came: Option<(i32, usize)>,
    pub(super) may_stand: bool,
    /// Tells a member when `ready` of its round has gone. Behind a lock only to be shared between threads.
    over: Mutex<Option<Watch>>,
    /// Who gives that up wakes those who wait for it.
    anchors: Option<Box<AnchorsKnowledge>>,
    given_up: GivenUp,
}

impl MemberPlace {
    pub(super) fn new(server_session: Arc<ServerSession>, parent: &str, given_up: &GivenUp) -> MemberPlace {
        MemberPlace {
            server_session,
            parent: parent.to_owned(),
            guid: random::guid().simple().to_string(),
            name: None,
            barrier: None,
            came: None,
            may_stand: false,
            over: Mutex::default(),
            anchors: None,
            given_up: given_up.clone(),
        }
    }

    /// What creates the node. From here on it may stand.
    pub(super) fn create(&mut self, parties: usize, data: &[u8]) -> Write {
        self.may_stand = true;
        let path = path::join(&self.parent, &prefix(&self.guid, parties));
        Write::Create { path, data: data.to_vec(), mode: CreateMode::EphemeralSequential, acl: None }
    }

    /// The name of a node that takes the place of ours, `own`, in a new session, and what creates it. Which of the two stands
    /// is not known until that is answered.
    pub(super) fn create_again(&mut self, own: &str, data: &[u8]) -> (String, Write) {
        lock(&self.given_up).push(std::mem::replace(&mut self.guid, random::guid().simple().to_string()));
        let says = own.split_once(OF).map_or("", |(_, says)| says);
        let name = format!("{}{OF}{says}", self.guid);
        let path = path::join(&self.parent, &name);
        (name, Write::Create { path, data: data.to_vec(), mode: CreateMode::Ephemeral, acl: None })
    }

    /// Whether the member is ours, by the node itself or one that has taken its place, below the barrier's node of that czxid.
    pub(super) fn is(&self, member: &Member<'_>, barrier: i64) -> bool {
        let is_numbered = member.says.is_some_and(|(_, number)| number < SPENT);
        let has_number = is_numbered && Member::of(self.name()).says == member.says;
        member.name.starts_with(&self.guid) || (has_number && self.barrier == Some(barrier))
    }

    /// It was not created, or is gone.
    pub(super) fn gone(&mut self) {
        self.may_stand = false;
    }

    pub(super) fn found(&mut self, name: &str) {
        self.name = Some(name.to_owned());
    }

    /// Looks for it after its creation was not answered; false: it was not created.
    pub(super) fn find(&mut self, names: &[String]) -> bool {
        match names.iter().find(|name| name.starts_with(&self.guid)) {
            Some(own) => self.found(own),
            None => self.gone(),
        }
        self.may_stand
    }

    pub(super) fn tell_when_over(&mut self, over: Watch) {
        self.over = Mutex::new(Some(over));
    }

    /// It belongs to this round, of which `ready` says so much.
    pub(super) fn found_in(&mut self, round: &Round, ready: String, says: Vec<u8>) {
        self.anchors = (round.anchor.as_deref() == Some(self.name()))
            .then(|| Box::new(AnchorsKnowledge { ready, says }));
    }

    pub(super) fn told_when_over(&mut self) -> Option<Watch> {
        unpoisoned(self.over.get_mut()).take()
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(super) fn path(&self) -> String {
        path::join(&self.parent, self.name())
    }

    /// Repeats what may be done twice until it is answered; `None` when the session of the node has ended.
    pub(super) async fn ask<T, F>(
        &self,
        call: &mut Call,
        what: &str,
        request: impl Fn(&Arc<ServerSession>) -> F + Send,
    ) -> Result<Option<Result<T, WireError>>>
    where
        F: Future<Output = Result<T, WireError>> + Send,
    {
        while !self.server_session.has_ended() {
            match call.receive(what, request(&self.server_session)).await? {
                Err(error) if error.is_unanswered() => call.retry_after_loss(what).await?,
                answer => return Ok(Some(answer)),
            }
        }
        Ok(None)
    }

    /// Deletes the node. Lost: somebody else had, or its session has ended before it was certain that we had.
    pub(super) async fn leave(mut self, call: &mut Call, what: &str) -> Result<()> {
        let node = self.path();
        let mut is_first = true;
        while !self.server_session.has_ended() {
            let deleted = call.receive(what, self.server_session.delete(&node, None)).await?;
            match deleted {
                Err(WireError::NoNode) if is_first => {
                    self.gone();
                    return Err(Error::lost(LostReason::Deleted));
                }
                Ok(()) | Err(WireError::NoNode) => {
                    self.gone();
                    return Ok(());
                }
                Err(error) => call.retry_or_refuse(error, what, &node).await?,
            }
            is_first = false;
        }
        Err(Error::lost(LostReason::Session))
    }

    /// Gives the node up; the answer resolves when it is gone, and need not be waited for.
    pub(super) fn withdraw(mut self) -> Later<()> {
        self.give_up()
    }

    fn give_up(&mut self) -> Later<()> {
        if !std::mem::take(&mut self.may_stand) {
            return Box::pin(std::future::ready(()));
        }
        lock(&self.given_up).push(self.guid.clone());
        if self.server_session.has_ended() {
            return Box::pin(std::future::ready(()));
        }
        let found_by_guid = |place: &MemberPlace| {
            place.server_session.delete_by_guid_in_background(place.parent.clone(), place.guid.clone())
        };
        match self.name.take() {
            // Another one may have taken its place, without an answer.
            Some(name) if !name.starts_with(&self.guid) => {
                let node = path::join(&self.parent, &name);
                let both = (self.server_session.delete_in_background(node, 0), found_by_guid(self));
                Box::pin(async move {
                    both.0.await;
                    both.1.await;
                })
            }
            Some(name) => {
                let node = path::join(&self.parent, &name);
                match self.anchors.take() {
                    Some(anchors) => self.give_up_as_anchor(node, *anchors),
                    None => self.server_session.delete_in_background(node, 0),
                }
            }
            None => found_by_guid(self),
        }
    }
}

impl MemberPlace {
    /// Everybody has a watch on what `ready` says, and looks who is left when that is written again.
    fn give_up_as_anchor(
        &self,
        node: String,
        AnchorsKnowledge { ready, says }: AnchorsKnowledge,
    ) -> Later<()> {
        let server_session = self.server_session.clone();
        let both = server_session.multi(&[
            Write::Delete { path: node.clone(), version: None },
            Write::Set { path: ready, data: says, version: Some(0) },
        ]);
        let (about, own) = (server_session.clone(), node.clone());
        let first = Box::pin(async move {
            match both.await {
                // There is no such `ready` any more.
                Err(WireError::Part { .. }) => about.delete(&own, None).await,
                given_up => given_up.map(drop),
            }
        });
        server_session.delete_until_confirmed(node, 0, None, first)
    }
}

impl Drop for MemberPlace {
    fn drop(&mut self) {
        if self.server_session.process().is_present() {
            // A member that has been told that its call was cancelled must not be counted by those who come next.
            runtime::leave(self.give_up());
        } else {
            // The parent's to take back.
            std::mem::forget(self.told_when_over());
        }
    }
}
