//! The instances of a service as they are known, and one of them for who asks.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use tokio::sync::{oneshot, watch};

use super::instance::Instance;
use super::set_aside::{FoundNode, SetAside};
use crate::error::{Error, ErrorKind, Result};
use crate::feed::Source;
use crate::futures::unless;
use crate::mutex::lock;
use crate::session::Session;
use crate::session::clock::Moment;
use crate::session::growing_pause::GrowingPause;
use crate::session::random;
use crate::session::skipped_nodes::Flaw;
use crate::session::watching::tree::{Depth, Tree};

/// Which of the instances of a service is picked.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PickBy {
    /// One after the other.
    #[default]
    RoundRobin,
    /// Any.
    Random,
    /// The same as before, as long as it is there.
    Sticky,
}

/// The instances of one service, followed. Once they were told, following goes on also where the service may not be read for a
/// while: what was known last is better than nothing, as it is while no server answers.
pub(super) struct FollowedInstances {
    session: Arc<Session>,
    verb: &'static str,
    service: String,
    tree: Tree,
    found_by: Arc<SetAside>,
    /// By node; what is no instance is not there.
    known: BTreeMap<String, Instance>,
    told: Option<BTreeMap<String, Instance>>,
    /// Tells them again when a node is another one that says the same.
    tells_nodes: bool,
    /// The service could not be read: it is listed anew then.
    begins_anew: Option<Moment>,
    pause: GrowingPause,
}

impl FollowedInstances {
    pub(super) fn new(
        session: &Arc<Session>,
        verb: &'static str,
        service: &str,
        found_by: &Arc<SetAside>,
    ) -> FollowedInstances {
        let tree = Tree::new(session, verb, service, Depth::Children).looking();
        let retry = &session.options().retry;
        FollowedInstances {
            session: session.clone(),
            verb,
            service: service.to_owned(),
            tree,
            found_by: found_by.clone(),
            known: BTreeMap::new(),
            told: None,
            tells_nodes: false,
            begins_anew: None,
            pause: GrowingPause::new(retry.base, retry.max),
        }
    }

    /// For who has to know which nodes they are: what has failed is one of them.
    fn telling_nodes(self) -> FollowedInstances {
        FollowedInstances { tells_nodes: true, ..self }
    }

    fn is_told(&self) -> bool {
        self.told.as_ref().is_some_and(|told| {
            let [before, now] = [told, &self.known].map(|all| all.values().map(Instance::found_node));
            *told == self.known && !(self.tells_nodes && before.ne(now))
        })
    }

    /// Whoever was told of an instance may say `failed()` of it also when it was registered anew since and says the same.
    fn keep_what_was_told_in_use(&mut self) {
        for (path, told) in self.told.iter_mut().flatten() {
            let now = self.known.get(path).filter(|now| *now == told);
            if let Some(now) = now.filter(|now| now.found_node() != told.found_node()) {
                self.found_by.succeed(told.found_node(), now.found_node());
                *told = now.clone();
            }
        }
    }

    /// All instances by the names of their nodes, at first and whenever they are others.
    async fn next(&mut self) -> Result<Vec<Instance>> {
        loop {
            if let Some(due) = self.begins_anew {
                unless(self.session.clock().sleep_until(due), self.session.until_closing()).await;
                self.tree = Tree::new(&self.session, self.verb, &self.service, Depth::Children).looking();
                self.known.clear();
                self.begins_anew = None;
            }
            let touched = match self.tree.next().await {
                // No event tells that it may be read again.
                Err(error) if error.kind() == ErrorKind::Denied && self.told.is_some() => {
                    tell_astray(&self.session, self.verb, &self.service, &error);
                    self.begins_anew = Some(self.session.now() + self.pause.next());
                    continue;
                }
                touched => touched?,
            };
            self.pause.restart();
            for node in touched {
                let found = self.tree.get(&node);
                let now = found.and_then(|(data, stat)| {
                    decoded(&self.session, FoundNode::new(&node, stat), data, &self.found_by)
                });
                match now {
                    Some(now) => drop(self.known.insert(node, now)),
                    None => drop(self.known.remove(&node)),
                }
            }
            let is_told = self.is_told();
            if !self.tells_nodes {
                self.keep_what_was_told_in_use();
            }
            if !is_told {
                self.told = Some(self.known.clone());
                return Ok(self.known.values().cloned().collect());
            }
        }
    }
}

/// Once for each service.
fn tell_astray(session: &Session, verb: &str, service: &str, error: &Error) {
    if session.is_first_time(&format!("{verb} {service}")) {
        tracing::warn!(target: "zkrecipes", event = "follow_astray", path = service, %error, "a service cannot be followed; what was known last stands for it");
    }
}

/// What a node says; one that says nothing of use is named once in the log, and stops nobody.
pub(super) fn decoded(
    session: &Session,
    node: FoundNode,
    data: &[u8],
    found_by: &Arc<SetAside>,
) -> Option<Instance> {
    let path = node.path.clone();
    let instance = Instance::decode(node, data, found_by);
    if instance.is_none() {
        session.skip(&path, Flaw::Encoding);
    }
    instance
}

/// What a feed of the instances tells.
pub(super) struct InstancesFeed(pub(super) Result<FollowedInstances>);

impl Source<Vec<Instance>> for InstancesFeed {
    async fn next(&mut self) -> Result<Vec<Instance>> {
        self.0.as_mut().map_err(|error| error.clone())?.next().await
    }
}

/// The services of which a handle has picked instances, each followed in the background until the handle goes.
#[derive(Default)]
pub(super) struct PickedServices(Mutex<HashMap<String, Arc<PickedService>>>);

struct PickedService {
    /// `None` until it is known.
    latest: watch::Receiver<Option<Result<Arc<Vec<Instance>>>>>,
    /// Dropped with this, which ends the following.
    _alive: oneshot::Sender<()>,
    choice: Mutex<Choice>,
}

struct Choice {
    /// Whose turn it is. Where it begins is random: many clients that begin at once would otherwise all begin with the same.
    turn: usize,
    /// Whose node.
    sticky: Option<Arc<str>>,
}

impl PickedServices {
    /// One of the instances of `service`, a path; `None` if there is none that may be picked. Asks a server only where nothing is
    /// known yet.
    pub(super) async fn pick(
        &self,
        session: &Arc<Session>,
        verb: &'static str,
        service: &str,
        by: PickBy,
        found_by: &Arc<SetAside>,
    ) -> Result<Option<Instance>> {
        let picked = self.followed(session, verb, service, found_by);
        let mut latest = picked.latest.clone();
        let known = latest.borrow().clone();
        let known = match known {
            Some(known) => known,
            None => {
                let mut call = session.call(None).reading();
                let first =
                    async { latest.wait_for(Option::is_some).await.ok().and_then(|known| known.clone()) };
                let first = call.receive(verb, async { Ok(first.await) }).await?;
                first.ok().flatten().unwrap_or_else(|| Err(Error::closed("client")))
            }
        };
        match known {
            Ok(known) => Ok(picked.choose(&known, by, found_by)),
            Err(error) => {
                // It is not followed any more; who asks next begins anew.
                let mut all = lock(&self.0);
                if all.get(service).is_some_and(|one| Arc::ptr_eq(one, &picked)) {
                    all.remove(service);
                }
                Err(error.with_path(service))
            }
        }
    }

    /// The nodes of those with that name and id, as far as `service` is followed.
    pub(super) fn nodes_of(&self, service: &str, name: &str, id: &str) -> Vec<FoundNode> {
        let followed = lock(&self.0).get(service).cloned();
        let latest = followed.and_then(|followed| followed.latest.borrow().clone());
        let known = latest.and_then(Result::ok).unwrap_or_default();
        let named = known.iter().filter(|one| one.name == name && one.id == id);
        named.map(|one| one.found_node().clone()).collect()
    }

    fn followed(
        &self,
        session: &Arc<Session>,
        verb: &'static str,
        service: &str,
        found_by: &Arc<SetAside>,
    ) -> Arc<PickedService> {
        let mut all = lock(&self.0);
        if let Some(known) = all.get(service) {
            return known.clone();
        }
        let (tell, latest) = watch::channel(None);
        let (alive, gone) = oneshot::channel::<()>();
        let (session, service, found_by) = (session.clone(), service.to_owned(), found_by.clone());
        let (key, clock) = (service.clone(), session.clock().clone());
        let following = async move {
            let mut pause = GrowingPause::new(session.options().retry.base, session.options().retry.max);
            loop {
                let instances = FollowedInstances::new(&session, verb, &service, &found_by);
                let mut instances = instances.telling_nodes();
                let error = loop {
                    match instances.next().await {
                        Ok(found) => drop(tell.send_replace(Some(Ok(Arc::new(found))))),
                        Err(error) => break error,
                    }
                    pause.restart();
                };
                // What was known last is better than nothing, as it is while no server answers.
                let is_known = tell.borrow().is_some();
                if !is_known || error.kind() == ErrorKind::Closed {
                    tell.send_replace(Some(Err(error)));
                    return;
                }
                tell_astray(&session, verb, &service, &error);
                pause.pass(session.clock()).await;
            }
        };
        let until = async move { drop(gone.await) };
        clock.spawn(Box::pin(async move { unless(following, until).await.unwrap_or_default() }));
        let choice = Mutex::new(Choice { turn: random::below(usize::MAX), sticky: None });
        let picked = Arc::new(PickedService { latest, _alive: alive, choice });
        all.insert(key, picked.clone());
        picked
    }
}

impl PickedService {
    fn choose(&self, known: &[Instance], by: PickBy, found_by: &SetAside) -> Option<Instance> {
        let may_be: Vec<&Instance> =
            known.iter().filter(|one| one.enabled && one.is_spared(found_by)).collect();
        if may_be.is_empty() {
            return None;
        }
        let mut choice = lock(&self.choice);
        let any = || may_be[random::below(may_be.len())];
        let one = match by {
            PickBy::RoundRobin => {
                choice.turn = choice.turn.wrapping_add(1);
                may_be[choice.turn % may_be.len()]
            }
            PickBy::Random => any(),
            PickBy::Sticky => {
                let before = choice.sticky.take();
                let stays = before.and_then(|node| may_be.iter().find(|one| *one.node() == node).copied());
                let one = stays.unwrap_or_else(any);
                choice.sticky = Some(one.node().clone());
                one
            }
        };
        Some(one.clone())
    }
}
