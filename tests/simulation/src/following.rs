//! Members of a group who come and go, writers of a tree, and those who follow them, or who leads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use zkrecipes::{Client, CreateMode, Election, ErrorKind, Group, GroupEvent, NodeState, Result, WatchKind};

use crate::scenario::Party;
use crate::subject::{PATH, Subject};
use crate::tell;
use crate::views::{Memory, Scope, View};

/// How often somebody looks whether all have been told the same.
const LOOKS: Duration = Duration::from_millis(50);

impl Party {
    /// Follows who leads.
    pub(crate) async fn observe(self: Arc<Self>, election: Election) {
        let (mut feed, mut epoch) = (election.observe(), 0);
        while !self.is_over() {
            let told = tokio::select! {
                biased;
                told = feed.next() => told,
                () = self.nap(Duration::from_millis(500)) => continue,
            };
            match told {
                Some(Ok(Some(leader))) => {
                    self.sim.ledger.count(|tally| tally.observed += 1);
                    let wrong = self.sim.ledger.leaders.told(epoch, &leader);
                    epoch = leader.epoch;
                    wrong.into_iter().for_each(|wrong| self.accuse(wrong));
                }
                Some(Ok(None)) => {}
                Some(Err(error)) => return self.accuse(format!("an observer was told {error}")),
                // With its client, which nobody keeps open for an observer once all is over.
                None if self.is_over() => return,
                None => return self.accuse("the feed has ended".to_owned()),
            }
        }
    }

    // ---- members

    /// Joins, says something else, leaves, gives up half way; in the end a member until everybody knows.
    pub(crate) async fn be_a_member(&self, group: &Group) {
        let views = &self.sim.ledger.views;
        let nth = views.begin();
        let is_party = self.sim.plan.subject == (Subject::Group { is_party: true });
        // Members of a party may have one name.
        let name = if is_party { format!("m{}", nth / 2) } else { format!("m{nth}") };
        let said = |round: u64| if is_party { Vec::new() } else { format!("{nth}-{round}").into_bytes() };
        let (mut is_in, mut round) = (false, 0);
        while !self.is_over() {
            self.nap(self.up_to(self.sim.plan.think)).await;
            round += 1;
            is_in = self.change_membership(group, &name, &said(round), is_in).await;
        }
        let last = said(round + 1);
        loop {
            let done = match is_in {
                true => group.update(&last).await,
                false => group.join(&name, &last).await,
            };
            is_in |= done.is_ok();
            let is_done = done.is_ok();
            self.expect("the last of a member", done, &[]);
            if is_done {
                break;
            }
            self.nap(LOOKS).await;
        }
        views.done_as(&name, &last);
        self.until_agreed().await;
        self.expect("leave", group.leave().await, &[]);
    }

    async fn change_membership(&self, group: &Group, name: &str, data: &[u8], is_in: bool) -> bool {
        let (how, patience) = (self.sim.chance(|rng| rng.below(6)), self.up_to(self.sim.plan.hold));
        self.sim.ledger.count(|tally| tally.changes += 1);
        if !is_in {
            let joining = group.join(name, data);
            let joined = tokio::select! {
                biased;
                joined = joining => joined,
                // Given up by dropping the future.
                () = self.nap(patience), if how == 0 => return false,
            };
            let is_in = joined.is_ok();
            self.expect("join", joined, &[]);
            return is_in;
        }
        match how {
            0 | 1 => self.expect("leave", group.leave().await, &[]),
            _ => self.expect("update", group.update(data).await, &[]),
        }
        how > 1
    }

    async fn until_agreed(&self) {
        let (sim, views) = (&self.sim, &self.sim.ledger.views);
        while !views.is_agreed() {
            let workers = sim.plan.hosts * sim.plan.workers;
            views.compare(sim.plan.subject, workers, sim.net.lock().server.followed());
            self.nap(LOOKS).await;
        }
    }

    /// Who has joined was not in, and who has left was.
    pub(crate) async fn follow_members(self: Arc<Self>, group: Group) {
        let (mut feed, mut known, mut is_first) = (group.watch(), View::new(), true);
        loop {
            let told = tokio::select! {
                biased;
                told = feed.next() => told,
                () = self.nap(LOOKS) => None,
            };
            match told {
                None if self.sim.ledger.views.is_agreed() && known.is_empty() => break,
                None => continue,
                Some(Ok(event)) => {
                    if let Some(wrong) = apply(&mut known, event, is_first) {
                        self.accuse(wrong);
                    }
                    is_first = false;
                }
                Some(Err(error)) => self.accuse(format!("a follower was told {error}")),
            }
            self.sim.ledger.count(|tally| tally.observed += 1);
            self.sim.ledger.views.told(self.host, Scope::Members, known.clone());
        }
        self.finished();
    }

    // ---- a tree

    /// Creates, changes, replaces and deletes; in the end all of it, when everybody has seen what was there.
    pub(crate) async fn write_the_tree(&self, client: &Client) {
        self.sim.ledger.views.begin();
        while !self.is_over() {
            self.nap(self.up_to(self.sim.plan.think)).await;
            self.sim.ledger.count(|tally| tally.changes += 1);
            let fine = [
                ErrorKind::NoNode,
                ErrorKind::Exists,
                ErrorKind::NotEmpty,
                // Below an ephemeral node.
                ErrorKind::Invalid,
            ];
            self.expect("a change", self.change_the_tree(client).await, &fine);
        }
        self.sim.ledger.views.done();
        self.until_agreed().await;
        while let Err(error) = client.nodes().delete_all(PATH).await {
            if error.kind() == ErrorKind::NoNode {
                break;
            }
            self.expect("the end", Err(error), &[ErrorKind::NotEmpty]);
            self.nap(LOOKS).await;
        }
    }

    async fn change_the_tree(&self, client: &Client) -> Result<()> {
        let nodes = client.nodes();
        let (how, path, data) = self.sim.chance(|rng| {
            let mut path = PATH.to_owned();
            for _ in 0..rng.below(3) {
                path = format!("{path}/{}", rng.pick(&["a", "b", "c"]));
            }
            (rng.below(8), path, rng.below(1_000).to_string().into_bytes())
        });
        match how {
            0 | 1 => nodes.create(&path, &data, CreateMode::Persistent).await.map(drop),
            2 => nodes.create(&path, &data, CreateMode::Ephemeral).await.map(drop),
            3 => nodes.ensure(&path).await,
            4 | 5 => nodes.set(&path, &data, None).await.map(drop),
            6 => nodes.delete(&path, None).await,
            _ => {
                // Another node under the same name, so fast that no list can tell.
                let both = nodes.transaction();
                both.delete(&path, None)?;
                both.create(&path, &data, CreateMode::Persistent)?;
                both.commit().await.map(drop)
            }
        }
    }

    /// What was changed later is told later.
    pub(crate) async fn follow_the_tree(self: Arc<Self>, client: Client, scope: Scope) {
        let kind = match scope {
            Scope::Data => WatchKind::Data,
            Scope::Children => WatchKind::Children,
            Scope::Subtree | Scope::Members => WatchKind::Subtree,
        };
        let mut feed = match client.nodes().watch(PATH, kind) {
            Ok(feed) => feed,
            Err(error) => return self.accuse(format!("not followed: {error}")),
        };
        let (mut memory, mut is_empty) = (Memory::default(), true);
        loop {
            let told = tokio::select! {
                biased;
                told = feed.next() => told,
                () = self.nap(LOOKS) => None,
            };
            match told {
                None if self.sim.ledger.views.is_agreed() && is_empty => break,
                None => continue,
                Some(Ok(state)) => {
                    let (view, marks) = view_of(state);
                    tell!(self.sim, "h{} is told of {} nodes, {scope:?}", self.host, view.len());
                    memory.told(&marks).into_iter().for_each(|wrong| self.accuse(wrong));
                    is_empty = view.is_empty();
                    self.sim.ledger.views.told(self.host, scope, view);
                }
                Some(Err(error)) => self.accuse(format!("a follower was told {error}")),
            }
            self.sim.ledger.count(|tally| tally.observed += 1);
        }
        self.finished();
    }
}

/// What follows from an event; why it cannot be.
fn apply(known: &mut View, event: GroupEvent, is_first: bool) -> Option<String> {
    let wrong = match event {
        GroupEvent::Snapshot(members) => {
            *known = members.into_iter().map(|(name, data)| (name, (data, 0))).collect();
            return (!is_first).then(|| "a second snapshot".to_owned());
        }
        GroupEvent::Joined { name, data } => {
            known.insert(name.clone(), (data, 0)).map(|_| format!("{name} has joined, and was in already"))
        }
        GroupEvent::Left { name } => match known.remove(&name) {
            Some(_) => None,
            None => Some(format!("{name} has left, and was not in")),
        },
        GroupEvent::Changed { name, data } => match known.insert(name.clone(), (data.clone(), 0)) {
            Some((before, _)) if before == data => Some(format!("{name} says what it said before")),
            Some(_) => None,
            None => Some(format!("{name} has changed, and was not in")),
        },
        other => Some(format!("an unknown event {other:?}")),
    };
    if is_first { Some("no snapshot at first".to_owned()) } else { wrong }
}

/// What is there, and of which transactions.
fn view_of(state: NodeState) -> (View, BTreeMap<String, (i64, i64)>) {
    let nodes: Vec<_> = match state {
        NodeState::Data(found) => found.map(|found| (PATH.to_owned(), found)).into_iter().collect(),
        NodeState::Subtree(all) => all.into_iter().collect(),
        NodeState::Children(names) => {
            let names = names.unwrap_or_default().into_iter();
            return (names.map(|name| (name, (Vec::new(), 0))).collect(), BTreeMap::new());
        }
    };
    let marks = nodes.iter().map(|(path, (_, stat))| (path.clone(), (stat.czxid, stat.mzxid))).collect();
    (nodes.into_iter().map(|(path, (data, stat))| (path, (data, stat.czxid))).collect(), marks)
}
