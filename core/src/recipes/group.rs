//! A group: each member is an ephemeral child of the path, and its data is what the member says of itself.
//!
//! 1. Joining creates the node. It is kept in every server session and made again when somebody deletes it, until the member leaves,
//!    its handle is dropped or its client closed. With `replace` the node that another session has left under the name is deleted in
//!    the same transaction.
//! 2. Updating sets the node's data.
//! 3. Following is one watch on the list and one on each member: a change costs one list and one read of that member,
//!    however many there are.
//! 4. A follower is told the difference to what it was told before: who has left, who has joined, whose data has
//!    changed. A name that several nodes have is one member, from the first of them to the last.
//!
//! The layouts are Curator's `GroupMember` (the node has the member's name), kazoo's `Party` (a name like no other, the
//! member's name as data) and `ShallowParty` (both in the node's name). See `Layout`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::declared::{Declared, declare};
use super::names::child;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Feed, Source};
use crate::options::{GroupLayout, GroupOptions, Naming};
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::random;
use crate::session::registration::{KeptNode, StartingNode, not_declared};
use crate::session::server_session::ServerSession;
use crate::session::skipped_nodes::Flaw;
use crate::session::watching::Children;
use crate::session::watching::tree::{Depth, Tree};
use crate::session::wire::WireError;

impl Client {
    /// A handle on the group at `path`. Does no I/O.
    pub fn group(&self, path: &str, options: GroupOptions) -> Result<Group> {
        let session = self.session_for_handle()?;
        path::recipe(path)?;
        let layout = options.layout.unwrap_or(match session.options().naming {
            Naming::Kazoo => GroupLayout::Party,
            Naming::Curator | Naming::Zookeeper => GroupLayout::Member,
        });
        let (path, replaces) = (Arc::from(path), options.replace);
        Ok(Group { client: self.clone(), path, layout, replaces, own: Arc::default() })
    }
}

/// A group of members that know each other by name. Clones are the same handle, and the same member.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::{Client, GroupEvent};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let group = client.group("/groups/workers", Default::default())?;
/// group.join("worker-1", b"idle").await?;
/// assert_eq!(group.members().await?["worker-1"], b"idle");
/// let mut feed = group.watch();
/// let now = feed.next().await.transpose()?.expect("it goes on");
/// assert!(matches!(now, GroupEvent::Snapshot(members) if members.len() == 1));
/// group.update(b"busy").await?;
/// let changed = feed.next().await.transpose()?.expect("it goes on");
/// assert_eq!(changed, GroupEvent::Changed { name: "worker-1".into(), data: b"busy".to_vec() });
/// group.leave().await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Group {
    client: Client,
    path: Arc<str>,
    layout: GroupLayout,
    /// Whether joining takes the name from the member that has it.
    replaces: bool,
    /// Our own membership, while we have one; the last handle to go leaves.
    own: Arc<Mutex<Option<KeptNode>>>,
}

/// What happened in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupEvent {
    /// All members and their data, at first.
    Snapshot(BTreeMap<String, Vec<u8>>),
    /// Somebody came.
    Joined {
        /// Who.
        name: String,
        /// What they say of themselves.
        data: Vec<u8>,
    },
    /// Somebody has gone.
    Left {
        /// Who.
        name: String,
    },
    /// A member says something else of itself.
    Changed {
        /// Who.
        name: String,
        /// What they say of themselves now.
        data: Vec<u8>,
    },
}

impl Group {
    const JOIN: &'static str = "join";
    const LEAVE: &'static str = "leave";
    const UPDATE: &'static str = "update";
    const MEMBERS: &'static str = "members";
    const WAIT_FOR: &'static str = "wait_for";

    /// The path of the group.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Becomes a member, and stays one over all sessions of the client until it leaves, the last clone of this handle is
    /// dropped, or the client is closed. Exists: this handle has joined already, or another member has that name. (That may
    /// be the one that a crashed process has left: its name is free after its session timeout, or at once with the option
    /// `replace`.)
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn join(&self, name: &str, data: &[u8]) -> Result<()> {
        self.declare(name, data).await?.receive();
        Ok(())
    }

    pub(crate) async fn declare(&self, name: &str, data: &[u8]) -> Result<Declared> {
        child(&self.path, name)?;
        let session = self.client.session()?;
        let (node, data) = self.layout.node_of(&self.path, name, data)?;
        let own = session.behind_others(self.own.clone().lock_owned()).await?;
        if own.is_some() {
            let message = "this handle is a member already; let it leave first, or make another handle";
            return Err(Error::new(ErrorKind::Exists, message).with_path(&*self.path));
        }
        let starting = if self.replaces { StartingNode::Replaced } else { StartingNode::Missing };
        let registration = declare(&session, Group::JOIN, &self.path, node, &data, starting).await?;
        Ok(Declared::to(own, registration))
    }

    /// Ends the membership. NotHeld: there is none. ConnectionLost: unconfirmed, and the deletion goes on in the background.
    pub async fn leave(&self) -> Result<()> {
        let session = self.client.session()?;
        let own = session.behind_others(self.own.lock()).await?.take();
        own.ok_or_else(|| self.no_member())?.undo(Group::LEAVE).await.map(drop)
    }

    /// Replaces what this member says of itself. NotHeld: it has not joined. ConnectionLost: not yet, it goes on in the
    /// background.
    pub async fn update(&self, data: &[u8]) -> Result<()> {
        let session = self.client.session()?;
        let own = session.behind_others(self.own.lock()).await?;
        let registration = own.as_ref().ok_or_else(|| self.no_member())?;
        if self.layout != GroupLayout::Member && !data.is_empty() {
            return Err(no_data(&self.path));
        }
        if self.layout == GroupLayout::Member {
            registration.update(Group::UPDATE, data).await
        } else {
            Ok(())
        }
    }

    fn no_member(&self) -> Error {
        not_declared("this handle is not a member; join first").with_path(&*self.path)
    }

    /// The members and what they say of themselves, no older than this call. One that may not be read is left out:
    /// [`skipped`](crate::Client::skipped) names it.
    pub async fn members(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let session = self.client.session()?;
        self.members_now(&mut session.call(None).reading(), Group::MEMBERS).await
    }

    async fn members_now(&self, call: &mut Call, verb: &'static str) -> Result<BTreeMap<String, Vec<u8>>> {
        let (session, path, layout) = (call.session().clone(), &*self.path, self.layout);
        let answer = call.ask(verb, |server| {
            let (server, session) = (server.clone(), &session);
            async move { server.as_of_now(path, || members(session, &server, path, layout)).await }
        });
        answer.await.map_err(|failure| failure.about(verb, path))
    }

    /// Waits until there are at least `n` members, whoever they are, and answers them as they are then; Timeout after `limit`, which
    /// says how many are there. Waits through outages and into the next session.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn wait_for(&self, n: usize, limit: Option<Duration>) -> Result<BTreeMap<String, Vec<u8>>> {
        let session = self.client.session()?;
        let mut call = session.wait(limit).timeout_says(TOO_FEW).reading();
        let mut there = None;
        let outcome = self.until_there_are(n, &mut call, &mut there).await;
        outcome.map_err(|error| match there {
            Some(there) if error.kind() == ErrorKind::Timeout => {
                error.because(format!("{there} of {n} are there")).with_path(&*self.path)
            }
            _ => error.with_path(&*self.path),
        })
    }

    async fn until_there_are(
        &self,
        n: usize,
        call: &mut Call,
        there: &mut Option<usize>,
    ) -> Result<BTreeMap<String, Vec<u8>>> {
        let (session, is_one_look) = (call.session().clone(), call.is_single_attempt());
        let mut group = self.followed(&session, Group::WAIT_FOR);
        // Where their names say all, members count that may not be read.
        let mut list = session.watch_children(Group::WAIT_FOR, &self.path).current();
        loop {
            let members = if is_one_look {
                self.members_now(call, Group::WAIT_FOR).await?
            } else if self.layout.names_say_all() {
                let Children(found) = call.wait_for(list.next()).await??;
                let names = found.map(|(names, _)| names).unwrap_or_default();
                names.iter().filter_map(|name| self.layout.member_of(name, &[])).collect()
            } else {
                call.wait_for(group.look()).await??;
                group.due.clear();
                group.members()
            };
            if members.len() >= n {
                return Ok(members);
            }
            *there = Some(members.len());
            if is_one_look {
                return Err(Error::timeout(TOO_FEW));
            }
        }
    }

    /// First all members, then who joins, who leaves and whose data changes. After a gap, the differences are told. One that may not be
    /// read is left out: [`skipped`](crate::Client::skipped) names it.
    pub fn watch(&self) -> Feed<GroupEvent> {
        Feed::new(match self.client.session() {
            Ok(session) => self.followed(&session, "watch"),
            Err(error) => FollowedGroup::new(Err(error), self.layout),
        })
    }

    fn followed(&self, session: &Arc<Session>, verb: &'static str) -> FollowedGroup {
        FollowedGroup::new(Ok(Tree::new(session, verb, &self.path, Depth::Children)), self.layout)
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("path", &self.path).finish_non_exhaustive()
    }
}

/// One list, then all members, many in one read. A member that leaves in between is left out, and so is one that we may not
/// read.
async fn members(
    session: &Session,
    server_session: &Arc<ServerSession>,
    path: &str,
    layout: GroupLayout,
) -> Result<BTreeMap<String, Vec<u8>>, WireError> {
    let names = match server_session.children(path).await {
        Err(WireError::NoNode) => return Ok(BTreeMap::new()),
        answer => answer?,
    };
    if layout.names_say_all() {
        return Ok(names.iter().filter_map(|name| layout.member_of(name, &[])).collect());
    }
    let nodes: Vec<_> = names.iter().map(|name| path::join(path, name)).collect();
    let mut members = BTreeMap::new();
    for (name, read) in names.iter().zip(server_session.get_each(&nodes)) {
        match read.await {
            Ok((data, _)) => members.extend(layout.member_of(name, &data)),
            Err(WireError::NoNode) => {}
            Err(WireError::NoAuth) => session.skip(&path::join(path, name), Flaw::Denied),
            Err(error) => return Err(error),
        }
    }
    Ok(members)
}

/// Where members are and what their nodes say.
impl GroupLayout {
    const PARTY: &'static str = "__party__";

    /// The node of a member of that name, and its data.
    fn node_of(self, path: &str, name: &str, data: &[u8]) -> Result<(String, Vec<u8>)> {
        let mark = || random::guid().simple().to_string();
        if self != GroupLayout::Member && !data.is_empty() {
            return Err(no_data(path));
        }
        Ok(match self {
            GroupLayout::Member => (path::join(path, name), data.to_vec()),
            GroupLayout::Party => {
                (path::join(path, &format!("{}{}", mark(), GroupLayout::PARTY)), name.as_bytes().to_vec())
            }
            GroupLayout::ShallowParty => (path::join(path, &format!("{}-{name}", mark())), Vec::new()),
        })
    }

    /// The member that a node stands for, if it is one's.
    fn member_of(self, node: &str, data: &[u8]) -> Option<(String, Vec<u8>)> {
        match self {
            GroupLayout::Member => Some((node.to_owned(), data.to_vec())),
            GroupLayout::Party => node
                .contains(GroupLayout::PARTY)
                .then(|| (String::from_utf8_lossy(data).into_owned(), Vec::new())),
            GroupLayout::ShallowParty => node.split_once('-').map(|(_, name)| (name.to_owned(), Vec::new())),
        }
    }

    fn names_say_all(self) -> bool {
        self == GroupLayout::ShallowParty
    }
}

const TOO_FEW: &str = "the group did not have as many members";

fn no_data(path: &str) -> Error {
    Error::invalid("data", "has no room in kazoo's parties, which keep a name alone; join with empty data")
        .with_path(path)
}

struct FollowedGroup {
    tree: Result<Tree>,
    layout: GroupLayout,
    /// By node, whose it is.
    names: BTreeMap<String, String>,
    /// By member.
    told: Option<BTreeMap<String, ToldMember>>,
    due: VecDeque<GroupEvent>,
}

#[derive(Clone, Default)]
struct ToldMember {
    data: Vec<u8>,
    /// When each of the member's nodes was created. More than one have no data.
    nodes: BTreeMap<String, i64>,
}

impl FollowedGroup {
    fn new(tree: Result<Tree>, layout: GroupLayout) -> FollowedGroup {
        FollowedGroup { tree, layout, names: BTreeMap::new(), told: None, due: VecDeque::new() }
    }

    fn members(&self) -> BTreeMap<String, Vec<u8>> {
        let told = self.told.iter().flatten();
        told.map(|(name, member)| (name.clone(), member.data.clone())).collect()
    }

    /// The next state; what is to be told of it is due. At first, that is all members.
    async fn look(&mut self) -> Result<()> {
        let tree = self.tree.as_mut().map_err(|error| error.clone())?;
        let touched = tree.next().await?;
        self.note(touched)
    }

    fn note(&mut self, touched: BTreeSet<String>) -> Result<()> {
        let tree = self.tree.as_ref().map_err(|error| error.clone())?;
        let is_first = self.told.is_none();
        let told = self.told.get_or_insert_default();
        let mut before = BTreeMap::new();
        for node in touched {
            let now = tree.get(&node).and_then(|(data, stat)| {
                let (name, data) = self.layout.member_of(path::name(&node), data)?;
                Some((name, data, stat.czxid))
            });
            let then = self.names.remove(&node);
            for name in now.iter().map(|(name, ..)| name).chain(&then) {
                before.entry(name.clone()).or_insert_with(|| told.get(name).cloned());
            }
            if let Some(name) = then
                && let Some(member) = told.get_mut(&name)
            {
                member.nodes.remove(&node);
            }
            if let Some((name, data, czxid)) = now {
                self.names.insert(node.clone(), name.clone());
                let member = told.entry(name).or_default();
                member.data = data;
                member.nodes.insert(node, czxid);
            }
        }
        for name in before.keys() {
            if told.get(name).is_some_and(|member| member.nodes.is_empty()) {
                told.remove(name);
            }
        }
        if is_first {
            self.due.push_back(GroupEvent::Snapshot(self.members()));
            return Ok(());
        }
        for (name, before) in before {
            let now = told.get(&name);
            self.due.extend(difference(name, before, now));
        }
        Ok(())
    }
}

impl Source<GroupEvent> for FollowedGroup {
    async fn next(&mut self) -> Result<GroupEvent> {
        loop {
            if let Some(event) = self.due.pop_front() {
                return Ok(event);
            }
            self.look().await?;
        }
    }
}

/// What is to be told of one member.
fn difference(name: String, before: Option<ToldMember>, now: Option<&ToldMember>) -> Vec<GroupEvent> {
    let left = GroupEvent::Left { name: name.clone() };
    let (before, now) = match (before, now) {
        (None, None) => return vec![],
        (Some(_), None) => return vec![left],
        (None, Some(now)) => return vec![GroupEvent::Joined { name, data: now.data.clone() }],
        (Some(before), Some(now)) => (before, now),
    };
    let data = now.data.clone();
    if !before.nodes.iter().any(|(node, czxid)| now.nodes.get(node) == Some(czxid)) {
        return vec![left, GroupEvent::Joined { name, data }];
    }
    if before.data == data { vec![] } else { vec![GroupEvent::Changed { name, data }] }
}
