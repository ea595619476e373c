//! Items of a queue: what was put is lost by nobody, taken once at most, and done once. Wherever it is, it is there once: in
//! the queue, or among the dead letters after as many claims as are allowed, and after no fewer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use zkrecipes::{Error, Item, LostReason};

use crate::plan::Plan;
use crate::sim::{HostId, Instant, Sim, nanos};
use crate::snapshot::{Node, Snapshot};
use crate::solo::Solo;
use crate::subject::Subject;
use crate::tell;

const MANY: usize = 30;
/// How long after that a worker may take to hear of it, or to see that it has settled it.
const GRACE: u64 = 100_000_000;
/// Two of them fit into one request, and three do not.
const BULK: usize = 400_000;
/// What an item that was done with an effect has brought about: a node of this name, and its number.
pub const EFFECT: &str = "/locks/simulated-effect-";

/// The node of the effect of an item.
pub fn effect(data: &[u8]) -> String {
    format!("{EFFECT}{}", name_of(data).trim_start_matches("item "))
}

/// The name of the item that these bytes are, or have in them: some layouts have their own around it.
pub fn name_of(data: &[u8]) -> String {
    find_name(data).unwrap_or_default().to_owned()
}

fn find_name(data: &[u8]) -> Option<&str> {
    const NAME: &[u8] = b"item ";
    let begin = data.windows(NAME.len()).position(|part| part == NAME)?;
    let number = data[begin + NAME.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&data[begin..begin + NAME.len() + number]).ok()
}

/// All items that anybody began to put, by what is in them.
#[derive(Default)]
pub struct Items(Solo<Inner>);

#[derive(Default)]
struct Inner {
    all: BTreeMap<String, Fate>,
    next: u64,
    /// Workers that put nothing any more.
    stopped: usize,
    everybody: usize,
    /// How often an item may be claimed.
    attempts: Option<u32>,
    /// Nobody loses a claim by force, so two never have one item.
    is_exclusive: bool,
    /// Calls of each host's process that take an item before they answer, and have not answered with one.
    unfed: BTreeMap<HostId, usize>,
    /// What processes may have taken along that ended at once.
    taken_along: usize,
    /// What the nodes are.
    nodes: Snapshot<ItemNode>,
    /// Counts the looks at them.
    looks: u64,
    /// Items that stood somewhere at the last look.
    placed: BTreeSet<Arc<str>>,
    /// The nodes of claims that stand, with when they were made.
    claims: BTreeMap<String, i64>,
    workers: Vec<Worker>,
    /// When the last pause of an item is over, or was.
    paused_until: i64,
}

#[derive(Default)]
struct Fate {
    /// It is certain that it is in the queue, or was.
    is_in: bool,
    /// Somebody has it for good, or has done it.
    is_over: bool,
    /// Somebody may have done it.
    may_be_over: bool,
    /// It is certain that it did not go in and will not.
    is_refused: bool,
    /// It is done, and what it was to bring about is there.
    has_effect: bool,
    /// When it is due, if it has to wait for that.
    due: Option<i64>,
    /// Who works on it.
    claim: Option<(HostId, Weak<Item>)>,
    /// The token of the last claim of it that anybody knows of.
    newest: u64,
    /// Whose processes are about to settle it.
    settling: Vec<HostId>,
    /// Where it stands, as the server has it.
    place: Option<Place>,
    /// The same when it was seen last: what was taken for nobody goes back to where it was.
    last: Option<Place>,
    /// How often it became a dead letter.
    deaths: u64,
    /// How many claims of it were given to nobody, as the server has it at most.
    unseen: u32,
    /// The same when it was claimed last: whoever makes a dead letter of it knows of these at the least.
    unseen_before: u32,
}

/// Who works on an item, or has it in hand.
struct Worker {
    host: HostId,
    claim: Weak<Item>,
    /// Whether it has heard that it lost it, if it listens.
    hears: Option<Arc<AtomicBool>>,
    /// Whether its claim stood, at that look.
    stood: Option<(u64, bool)>,
    /// Since when its claim does not stand.
    gone_since: Option<Instant>,
}

/// What a node of a queue is.
#[derive(Debug, Default)]
struct ItemNode {
    is_claim: bool,
    /// Until when an item is paused, if it says so.
    paused_until: Option<i64>,
    item: Option<Arc<str>>,
    is_dead: bool,
    /// The item whose effect it is.
    effect: Option<String>,
    /// The name and the czxid of the node of an item, and how many claims of it were given to nobody.
    unseen: Option<((String, i64), u32)>,
}

impl ItemNode {
    fn of(node: &Node) -> ItemNode {
        ItemNode {
            is_claim: node.path.contains("/claims/"),
            paused_until: paused_until(node),
            item: item_in(node).map(Arc::from),
            is_dead: node.path.contains("__dead__/"),
            effect: node.path.strip_prefix(EFFECT).map(|number| format!("item {number}")),
            unseen: unseen(node),
        }
    }
}

/// Where an item stands, in which node, and how often it was claimed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    is_dead: bool,
    czxid: i64,
    version: i32,
}

impl Items {
    pub fn of(plan: &Plan) -> Items {
        let attempts = match plan.subject {
            Subject::Queue(kind) => kind.attempts,
            _ => None,
        };
        let (everybody, is_exclusive) = (plan.everybody(), !plan.is_forced());
        Items(Solo::new(Inner { everybody, attempts, is_exclusive, ..Inner::default() }))
    }

    /// A new item, which its worker begins to put.
    pub fn fresh(&self) -> String {
        let mut items = self.0.lock();
        items.next += 1;
        let name = format!("item {}", items.next);
        items.all.insert(name.clone(), Fate::default());
        name
    }

    /// Whether there are so many that it is time to take some.
    pub fn are_many(&self) -> bool {
        let items = self.0.lock();
        items.all.values().filter(|fate| fate.is_waiting()).count() > MANY
    }

    /// What is put for it: the name, and so much more that few go into one request.
    pub fn bulk(name: &str) -> Vec<u8> {
        let mut data = format!("{name}.").into_bytes();
        data.resize(BULK, b'.');
        data
    }

    /// They have gone in.
    pub fn went_in(&self, names: &[String]) {
        let mut items = self.0.lock();
        for name in names {
            if let Some(fate) = items.all.get_mut(name) {
                fate.is_in = true;
            }
        }
    }

    /// It did not go in, and will not; why that cannot be.
    pub fn refused(&self, names: &[String]) -> Option<String> {
        let mut items = self.0.lock();
        let mut wrong = None;
        for name in names {
            if let Some(fate) = items.all.get_mut(name) {
                fate.is_refused = true;
                wrong = wrong
                    .or_else(|| fate.place.map(|place| format!("{name} was refused, and is at {place:?}")));
            }
        }
        wrong
    }

    /// Nobody is to have it before.
    pub fn is_due(&self, name: &str, due: i64) {
        self.0.lock().all.entry(name.to_owned()).or_default().due = Some(due);
    }

    /// Whether the effect of an item is there.
    pub fn has_effect(&self, data: &[u8]) -> bool {
        let name = name_of(data);
        self.0.lock().all.get(&name).is_some_and(|fate| fate.has_effect)
    }

    /// A call begins that takes an item before it answers.
    pub fn begins_to_get(&self, host: HostId) {
        *self.0.lock().unfed.entry(host).or_default() += 1;
    }

    /// It has answered with that item; why that cannot be.
    pub fn got(&self, host: HostId, data: &[u8], now: i64) -> Option<String> {
        let mut items = self.0.lock();
        if let Some(unfed) = items.unfed.get_mut(&host) {
            *unfed -= 1;
        }
        let (fate, wrong) = items.look_up(data, "taken", now);
        fate.is_over = true;
        wrong
    }

    /// Somebody works on it; why that cannot be.
    pub fn claimed(&self, host: HostId, item: &Item, claim: Weak<Item>, now: i64) -> Option<String> {
        let mut items = self.0.lock();
        let (most, attempts) = (items.attempts, item.attempts());
        // Deleted by force on the way to its owner, it may come after its successor: that is what tokens are for.
        let is_late = !items.is_exclusive && !items.claims.contains_key(item.node());
        items.workers.push(Worker { host, claim: claim.clone(), hears: None, stood: None, gone_since: None });
        let (fate, wrong) = items.look_up(item.data(), "claimed", now);
        fate.claim = Some((host, claim));
        fate.newest = fate.newest.max(item.fencing_token());
        let is_too_often = most.is_some_and(|most| attempts > most + fate.unseen) || attempts == 0;
        let wrong =
            wrong.or_else(|| is_too_often.then(|| format!("{item:?} was claimed, and {most:?} is the most")));
        wrong.filter(|_| !is_late)
    }

    /// A worker listens for the loss of it; it says so there when it hears of one.
    pub fn listens(&self, item: &Arc<Item>) -> Arc<AtomicBool> {
        let mut items = self.0.lock();
        let claim = Arc::downgrade(item);
        let worker = items.workers.iter_mut().find(|worker| worker.claim.ptr_eq(&claim));
        let hears = Arc::new(AtomicBool::new(false));
        worker.into_iter().for_each(|worker| worker.hears = Some(hears.clone()));
        hears
    }

    /// A worker begins to give it back: it has done with it, and others may have it before it hears that they may. Answers how
    /// often it has been a dead letter by then.
    pub fn gives_back(&self, host: HostId, data: &[u8]) -> u64 {
        let name = name_of(data);
        let items = &mut *self.0.lock();
        let fate = items.all.entry(name).or_default();
        fate.claim.take_if(|(holder, _)| *holder == host);
        fate.deaths
    }

    /// A worker has given it back; why it cannot be where it is.
    pub fn given_back(&self, item: &Item, deaths: u64) -> Option<String> {
        let items = self.0.lock();
        let name = name_of(item.data());
        let fate = items.all.get(&name)?;
        let is_last = items.attempts.is_some_and(|most| item.attempts() >= most + fate.unseen);
        (is_last && fate.deaths == deaths)
            .then(|| format!("{name} was given back after its last attempt, and is no dead letter"))
    }

    /// Looks where the items are, whenever something was written; why that cannot be.
    pub fn look(&self, sim: &Sim, nodes: &[Arc<Node>]) -> Option<String> {
        let items = &mut *self.0.lock();
        items.looks += 1;
        items.nodes.follow(nodes, ItemNode::of);
        let mut places = BTreeMap::new();
        let mut wrong = None;
        let claims = items.nodes.iter().filter(|(_, role)| role.is_claim);
        items.claims = claims.map(|(node, _)| (node.path.clone(), node.czxid)).collect();
        let unseen: BTreeMap<_, _> = items.nodes.iter().filter_map(|(_, role)| role.unseen.clone()).collect();
        let pauses = items.nodes.iter().filter_map(|(_, role)| role.paused_until);
        items.paused_until = pauses.fold(items.paused_until, i64::max);
        for (node, role) in items.nodes.iter() {
            let Some(name) = &role.item else { continue };
            let place = Place { is_dead: role.is_dead, czxid: node.czxid, version: node.version };
            if let Some((_, other)) = places.insert(name.clone(), (place, node)) {
                wrong = Some(format!("{name} is at {} and at {}", other.path, node.path));
            }
        }
        for name in items.nodes.iter().filter_map(|(_, role)| role.effect.as_ref()) {
            match items.all.get_mut(name) {
                Some(fate) => fate.has_effect = true,
                None => items.all.entry(name.clone()).or_default().has_effect = true,
            }
        }
        // Nothing has changed for those that stood nowhere and do not stand anywhere now.
        let mut stirred = std::mem::take(&mut items.placed);
        items.placed = places.keys().cloned().collect();
        stirred.extend(items.placed.iter().cloned());
        for name in &stirred {
            let Some(fate) = items.all.get_mut(&**name) else { continue };
            let (place, node) = places.get(name).map(|(place, node)| (*place, node)).unzip();
            fate.place = place;
            // Those that were put together have one czxid.
            let of_it =
                node.and_then(|node| unseen.get(&(node.path.rsplit_once('/')?.1.to_owned(), node.czxid)));
            let unseen = of_it.copied().unwrap_or(0);
            let Some(place) = place else { continue };
            if i32::try_from(unseen).is_ok_and(|unseen| unseen > place.version) {
                wrong = Some(format!("more claims of {name} were given to nobody than there were"));
            }
            let before = fate.last.replace(place);
            match before {
                Some(before) if before.is_dead || place.is_dead => {}
                // What is put back begins anew.
                Some(before) if before.czxid != place.czxid => (fate.unseen, fate.unseen_before) = (0, 0),
                Some(before) if before.version != place.version => fate.unseen_before = fate.unseen,
                _ => {}
            }
            fate.unseen = fate.unseen.max(unseen);
            if fate.is_over || fate.has_effect {
                wrong = Some(format!("somebody has {name}, and there it is"));
            }
            if fate.is_refused {
                wrong = Some(format!("whoever put {name} heard that it was not, and there it is"));
            }
            if place.is_dead && before.is_none_or(|before| !before.is_dead) {
                fate.deaths += 1;
                sim.ledger.count(|tally| tally.deaths += 1);
                tell!(sim, "{name} is a dead letter");
                let claims = before.and_then(|before| u32::try_from(before.version).ok());
                // Of those that nobody was given the last may be written down when it is on its way there.
                let least = std::mem::take(&mut fate.unseen_before);
                let unseen = std::mem::take(&mut fate.unseen);
                let are_right =
                    |most: u32| claims.is_some_and(|claims| (most + least..=most + unseen).contains(&claims));
                if !items.attempts.is_some_and(are_right) {
                    wrong = Some(format!(
                        "{name} is a dead letter after {claims:?} claims of {:?}",
                        items.attempts
                    ));
                }
            }
        }
        wrong
    }

    /// Who has an item in hand that is not theirs any more: by then each answer that keeps its session says so. In whose process
    /// nothing runs, nobody is told.
    pub fn check(&self, sim: &Sim) -> Option<String> {
        let items = &mut *self.0.lock();
        let mut wrong = None;
        items.workers.retain_mut(|worker| {
            let Some(item) = worker.claim.upgrade() else { return false };
            let (looks, claims) = (items.looks, &items.claims);
            let stands = || claims.get(item.node()).is_some_and(|made| *made as u64 == item.fencing_token());
            let stood = worker.stood.filter(|(look, _)| *look == looks);
            let (_, stands) = *worker.stood.insert(stood.unwrap_or_else(|| (looks, stands())));
            // Who has let it go is told of no loss, also while nobody has confirmed that the claim is deleted.
            if stands || item.is_being_settled() || item.is_released() {
                worker.gone_since = None;
                return true;
            }
            let gone_since = *worker.gone_since.get_or_insert(sim.now());
            let due = gone_since + nanos(sim.plan.session_timeout);
            let (is_paused, is_stalled, resumed) = {
                let host = &sim.hosts.lock()[worker.host];
                (host.is_paused(), host.is_stalled, host.resumed)
            };
            if sim.now() <= due || is_paused {
                return true;
            }
            // Before it is asked whether it is held: by that question it would find out, too.
            if worker.hears.as_ref().is_some_and(|hears| !hears.load(Ordering::Relaxed)) {
                if sim.now() <= due.max(resumed) + GRACE || is_stalled {
                    return true;
                }
                wrong = Some(format!("h{} was not told that the claim of {item:?} is gone", worker.host));
            } else if item.is_held() {
                wrong = Some(format!("h{} has {item:?}, whose claim has been gone for so long", worker.host));
            }
            true
        });
        wrong
    }

    /// Why a claim cannot have been lost like that: somebody has deleted it, and nobody does in this world.
    pub fn is_lost(&self, item: &Item, error: &Error) -> Option<String> {
        let is_deleted = error.reason() == Some(LostReason::Deleted);
        (is_deleted && self.0.lock().is_exclusive).then(|| format!("somebody deleted the claim of {item:?}"))
    }

    /// A worker is about to settle it. If its process ends now, nobody knows whether it did.
    pub fn settles(&self, host: HostId, data: &[u8]) {
        let name = name_of(data);
        self.0.lock().all.entry(name).or_default().settling.push(host);
    }

    /// It has heard what came of that.
    pub fn has_settled(&self, host: HostId, data: &[u8]) {
        let name = name_of(data);
        let items = &mut *self.0.lock();
        let settling = &mut items.all.entry(name).or_default().settling;
        if let Some(at) = settling.iter().position(|other| *other == host) {
            settling.swap_remove(at);
        }
    }

    /// It is done, or maybe: the answer was not waited for, or nobody knows. Why that cannot be.
    pub fn done(&self, item: &Item, is_certain: bool) -> Option<String> {
        let mut items = self.0.lock();
        let name = name_of(item.data());
        let fate = items.all.entry(name.clone()).or_default();
        let wrong = (fate.is_over && is_certain).then(|| format!("{name} is done, and was before"));
        // Its claim was gone when somebody else came by the item.
        let is_late = is_certain && item.fencing_token() < fate.newest;
        let wrong = wrong.or_else(|| {
            is_late.then(|| {
                format!(
                    "{name} was done by a claim of {}, and there was one of {}",
                    item.fencing_token(),
                    fate.newest
                )
            })
        });
        fate.is_over |= is_certain;
        fate.may_be_over = true;
        wrong
    }

    /// A worker puts nothing any more.
    pub fn stopped(&self) {
        self.0.lock().stopped += 1;
    }

    pub fn have_all_stopped(&self) -> bool {
        let items = self.0.lock();
        items.stopped >= items.everybody
    }

    pub fn crashed(&self, host: HostId) {
        let mut items = self.0.lock();
        items.taken_along += items.unfed.remove(&host).unwrap_or_default();
        for fate in items.all.values_mut().filter(|fate| fate.settling.contains(&host)) {
            fate.may_be_over = true;
            fate.settling.retain(|other| *other != host);
        }
    }

    /// How much of `patience` is left if it begins when no item is paused any more.
    pub fn patience_after_pauses(&self, patience: Duration, now: i64) -> Duration {
        let end = self.0.lock().paused_until + patience.as_millis() as i64;
        Duration::from_millis(u64::try_from(end - now).unwrap_or(0))
    }

    /// Why something is missing now that the queue is empty.
    pub fn reckon(&self) -> Option<String> {
        let items = self.0.lock();
        let is_lost = |fate: &Fate| fate.is_in && fate.is_waiting();
        let lost: Vec<_> = items.all.iter().filter(|(_, fate)| is_lost(fate)).map(|(name, _)| name).collect();
        let most = items.taken_along;
        (lost.len() > most).then(|| format!("{lost:?} are lost, and crashes may have taken {most} along"))
    }
}

impl Fate {
    /// Nobody has had it, as far as anybody knows.
    fn is_waiting(&self) -> bool {
        !self.is_over && !self.may_be_over && !self.has_effect
    }
}

/// Until when an item is paused, if a node says so.
fn paused_until(node: &Node) -> Option<i64> {
    node.path.rsplit_once('~')?.1.split_once('-')?.0.parse().ok()
}

/// Which item a node is about, by the name and the czxid of its node, and how many claims of it were given to nobody.
fn unseen(node: &Node) -> Option<((String, i64), u32)> {
    let name = node.path.strip_suffix("~unseen")?.rsplit_once('/')?.1;
    let (czxid, count) = std::str::from_utf8(&node.data).ok()?.split_once(' ')?;
    Some(((name.to_owned(), czxid.parse().ok()?), count.parse().ok()?))
}

/// Which item a node is; `None` if it is none.
fn item_in(node: &Node) -> Option<&str> {
    if node.path.contains("__queue__") {
        return None;
    }
    find_name(&node.data)
}

impl Inner {
    /// What became of an item so far; why nobody can come by it.
    fn look_up(&mut self, data: &[u8], how: &str, now: i64) -> (&mut Fate, Option<String>) {
        let name = name_of(data);
        let is_known = self.all.contains_key(&name);
        let fate = self.all.entry(name.clone()).or_default();
        let others = fate.claim.take().filter(|_| self.is_exclusive);
        let holder = others.filter(|(_, claim)| claim.upgrade().is_some_and(|item| item.is_held()));
        let wrong = match (is_known, fate.is_over, holder) {
            (false, ..) => Some(format!("{name} was {how}, and nobody has put it")),
            (_, true, _) => Some(format!("{name} was {how}, and somebody has had it")),
            _ if fate.has_effect => Some(format!("{name} was {how}, and is done")),
            _ if fate.due.is_some_and(|due| now < due) => Some(format!("{name} was {how}, and is not due")),
            (.., Some((host, _))) => Some(format!("{name} was {how}, and h{host} works on it")),
            _ => None,
        };
        fate.is_in = true;
        (fate, wrong)
    }
}
