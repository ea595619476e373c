//! Which recipes are in use, from what was seen of the nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::choose::{READ_OF_EACH, Role, line, queue_that_has, role};
use crate::path;
use crate::recipes::contenders::{self, Contender, SeenContender};
use crate::recipes::{election, queue, semaphore};
use crate::session::watching::tree::Tree;
use crate::session::wire::Stat;
use crate::sort;
use crate::turn::name::{ContenderName, Kind};
use crate::turn::revocation::REVOKE;

const BESIDE_A_SEMAPHORE: &str = "-__lock__";

/// What a node is the path of.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundKind {
    /// A lock; kazoo's elections, too, which look the same.
    Lock,
    /// A read/write lock.
    ReadWriteLock,
    /// A semaphore.
    Semaphore,
    /// An election.
    Election,
    /// A queue.
    Queue,
    /// A double barrier.
    DoubleBarrier,
    /// A group, or whatever else has ephemeral children.
    Group,
    /// A node without children that has data: a value, a counter, a barrier that is up.
    Node,
}

impl FoundKind {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            FoundKind::Lock => "lock",
            FoundKind::ReadWriteLock => "read/write lock",
            FoundKind::Semaphore => "semaphore",
            FoundKind::Election => "election",
            FoundKind::Queue => "queue",
            FoundKind::DoubleBarrier => "double barrier",
            FoundKind::Group => "group",
            FoundKind::Node => "node",
        }
    }
}

/// A recipe in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it was made with.
    pub path: String,
    /// Which recipe.
    pub kind: FoundKind,
    /// Who holds, leads, has claimed or is a member, then who waits, in order. The first hundred of each.
    pub contenders: Vec<Contender>,
    /// How many hold, lead, have claimed or are members.
    pub holding: usize,
    /// How many wait.
    pub waiting: usize,
    /// How many permits there are, or parties.
    pub size: Option<usize>,
    /// How many items are queued.
    pub items: usize,
    /// How many dead letters there are.
    pub dead: usize,
    /// The leader has said that it has begun; the round of the double barrier is on.
    pub has_begun: bool,
    /// What the leader, or the node, says: the first 4096 bytes of it.
    pub data: Vec<u8>,
}

pub(super) fn all(tree: &Tree) -> Vec<Found> {
    let view = View { tree, families: tree.families() };
    let mut found: Vec<_> = view.families.keys().flat_map(|path| view.folder(path)).collect();
    found.extend(view.queues().into_iter().map(|path| view.queue(path)));
    sort::by(&mut found, |a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    found
}

struct View<'a> {
    tree: &'a Tree,
    families: &'a BTreeMap<String, BTreeSet<String>>,
}

impl Found {
    fn new(path: &str, kind: FoundKind) -> Found {
        Found {
            path: path.to_owned(),
            kind,
            contenders: Vec::new(),
            holding: 0,
            waiting: 0,
            size: None,
            items: 0,
            dead: 0,
            has_begun: false,
            data: Vec::new(),
        }
    }
}

impl View<'_> {
    /// The names of the children; none where there is no node.
    fn names(&self, path: &str) -> impl Iterator<Item = &String> {
        self.families.get(path).into_iter().flatten()
    }

    fn has(&self, path: &str, name: &str) -> bool {
        self.families.get(path).is_some_and(|names| names.contains(name))
    }

    fn data(&self, path: &str) -> &[u8] {
        self.tree.get(path).map_or(&[], |(data, _)| data)
    }

    fn count(&self, path: &str, is_one: impl Fn(Role) -> bool) -> usize {
        self.names(path).filter(|name| is_one(role(path, name))).count()
    }

    /// A contender, as soon as its node was read; without identity if we may not read it.
    fn seen(&self, parent: &str, entry: ContenderName) -> Option<SeenContender> {
        let node = path::join(parent, &entry.name);
        match self.tree.get(&node) {
            Some((data, stat)) => Some(SeenContender { entry, data: data.clone(), stat: *stat }),
            None if self.tree.is_denied(&node) => Some(SeenContender::unreadable(entry)),
            None => None,
        }
    }

    /// What uses `path`, queues excepted.
    fn folder(&self, path: &str) -> Vec<Found> {
        let (parent, name) = (path::parent(path), path::name(path));
        let is_part_of_semaphore =
            matches!(name, "locks" | "leases" | "max") && path != "/" && self.is_semaphore(parent);
        if is_part_of_semaphore || is_of_a_queue(path) {
            return Vec::new();
        }
        if let Some(semaphore) = path.strip_suffix(BESIDE_A_SEMAPHORE).filter(|path| path.len() > 1) {
            return vec![self.kazoos_semaphore(semaphore)];
        }
        let mut found: Vec<_> = self.lock(path).into_iter().chain(self.election(path)).collect();
        if self.is_semaphore(path) {
            found.push(self.semaphore(path));
        }
        let has_permits = self
            .names(path)
            .any(|name| self.is_permit(path, name) && self.tree.get(&path::join(path, name)).is_some());
        if has_permits
            && path::name(path) != "leases"
            && !self.families.contains_key(&format!("{path}{BESIDE_A_SEMAPHORE}"))
        {
            found.push(self.kazoos_semaphore(path));
        }
        found.extend(self.members(path));
        if found.is_empty() {
            found.extend(self.node(path));
        }
        found
    }

    fn lock(&self, path: &str) -> Option<Found> {
        let line = line(path, &self.families[path], Kind::Lock);
        let is_plain = line.iter().all(|entry| entry.kind == Kind::Lock);
        let mut found = Found::new(path, if is_plain { FoundKind::Lock } else { FoundKind::ReadWriteLock });
        self.fill(&mut found, path, line, contenders::with_holder)?;
        Some(found)
    }

    fn election(&self, path: &str) -> Option<Found> {
        let mut found = Found::new(path, FoundKind::Election);
        let line = line(path, &self.families[path], Kind::Latch);
        let mut leader = None;
        let candidates = |seen: Vec<SeenContender>| -> Vec<Contender> {
            leader = seen.first().map(|first| (first.stat.czxid, election::candidate_data(&first.data)));
            seen.into_iter().enumerate().map(|(at, seen)| election::candidate(seen, at == 0)).collect()
        };
        self.fill(&mut found, path, line, candidates)?;
        let (server_session, data) = leader?;
        match election::begun(self.data(path)).filter(|(begun, _)| *begun == server_session as u64) {
            Some((_, said)) => (found.has_begun, found.data) = (true, said),
            None => found.data = data,
        }
        Some(found)
    }

    /// Those of the first entries that were read, and how many there are in all.
    fn first_of(&self, path: &str, line: Vec<ContenderName>) -> (Vec<SeenContender>, usize) {
        let total = line.len();
        let first = line.into_iter().take(READ_OF_EACH);
        let seen: Vec<_> = first.filter_map(|entry| self.seen(path, entry)).collect();
        // Who was not read yet comes in a moment.
        let total = if total <= READ_OF_EACH { seen.len() } else { total };
        (seen, total)
    }

    /// Fills in who is in a line. `None` if nobody is that was read yet.
    fn fill(
        &self,
        found: &mut Found,
        path: &str,
        line: Vec<ContenderName>,
        who: impl FnOnce(Vec<SeenContender>) -> Vec<Contender>,
    ) -> Option<()> {
        let kinds: Vec<Kind> = line.iter().map(|entry| entry.kind).collect();
        let (mut seen, total) = self.first_of(path, line);
        contenders::sort_line(&mut seen);
        found.contenders = who(seen);
        found.holding = found.contenders.iter().filter(|contender| contender.holds).count();
        if found.kind == FoundKind::ReadWriteLock && found.holding == READ_OF_EACH {
            // All that were read are readers, and so hold the readers right behind them.
            let more = kinds[READ_OF_EACH..].iter().take_while(|kind| **kind == Kind::Read);
            found.holding += more.count();
        }
        found.waiting = total.saturating_sub(found.holding);
        (!found.contenders.is_empty()).then_some(())
    }

    /// In Curator's layout.
    fn is_semaphore(&self, path: &str) -> bool {
        let is_used = || self.has(path, "locks") || self.has(path, "max");
        let permits_at = path::join(path, "leases");
        self.has(path, "leases") && (is_used() || self.count(&permits_at, |role| role == Role::Permit) > 0)
    }

    /// A node of that name may be a folder, too.
    fn is_permit(&self, path: &str, name: &str) -> bool {
        let known = self.tree.get(&path::join(path, name));
        role(path, name) == Role::Permit && known.is_none_or(|(_, stat)| stat.ephemeral_owner != 0)
    }

    fn semaphore(&self, path: &str) -> Found {
        let size = semaphore::size(self.data(&path::join(path, "max")));
        self.permits(path, (&path::join(path, "leases"), &path::join(path, "locks")), size)
    }

    fn kazoos_semaphore(&self, path: &str) -> Found {
        self.permits(path, (path, &format!("{path}{BESIDE_A_SEMAPHORE}")), semaphore::size(self.data(path)))
    }

    fn permits(&self, path: &str, (permits_at, locks): (&str, &str), size: Option<usize>) -> Found {
        let names = self.names(permits_at).filter(|name| self.is_permit(permits_at, name));
        let (mut permits, mut count) =
            self.first_of(permits_at, names.map(|name| ContenderName::permit(name)).collect());
        let line = self.families.get(locks).map(|names| line(locks, names, Kind::Lock)).unwrap_or_default();
        let (mut queue, waiting) = self.first_of(locks, line);
        sort::by(&mut permits, |a, b| (a.stat.czxid, &a.entry.name).cmp(&(b.stat.czxid, &b.entry.name)));
        contenders::sort_line(&mut queue);
        if semaphore::drop_surplus(&mut permits, &queue, size) {
            count = count.saturating_sub(1);
        }
        let below = |folder: &str, contender: Contender| {
            let node = path::join(folder, &contender.node);
            let node = node.strip_prefix(path).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&node);
            Contender { node: node.to_owned(), ..contender }
        };
        let holders = permits.into_iter().map(|seen| below(permits_at, seen.contender(true)));
        let waiters = queue.into_iter().map(|seen| below(locks, seen.contender(false)));
        Found {
            contenders: holders.chain(waiters).collect(),
            holding: count,
            waiting,
            size,
            ..Found::new(path, FoundKind::Semaphore)
        }
    }

    /// Who is at a double barrier, or in a group.
    fn members(&self, path: &str) -> Option<Found> {
        let mut parties = None;
        let (mut is_barrier, mut count, mut members) = (false, 0, Vec::new());
        for name in self.names(path) {
            let node = path::join(path, name);
            let known = self.tree.get(&node).filter(|(_, stat)| stat.ephemeral_owner != 0);
            match role(path, name) {
                Role::Party(of) => {
                    (is_barrier, parties) = (true, parties.max(Some(of)));
                    count += 1;
                    members.extend(known.map(|known| member(name, known, true)));
                }
                Role::Ready => is_barrier = true,
                Role::Unknown if known.is_some() => {
                    count += 1;
                    members.extend(known.map(|known| member(name, known, false)));
                }
                _ => {}
            }
        }
        if members.is_empty() {
            return None;
        }
        let has_begun = is_barrier && self.has(path, "ready");
        sort::by_key(&mut members, |member| member.since);
        if is_barrier {
            members.iter_mut().for_each(|member| member.holds = has_begun);
        }
        let kind = if is_barrier { FoundKind::DoubleBarrier } else { FoundKind::Group };
        let (holding, waiting) = if is_barrier && !has_begun { (0, count) } else { (count, 0) };
        members.truncate(READ_OF_EACH);
        Some(Found {
            contenders: members,
            holding,
            waiting,
            size: parties.or_else(|| semaphore::size(self.data(path)).filter(|_| is_barrier)),
            has_begun,
            ..Found::new(path, kind)
        })
    }

    fn node(&self, path: &str) -> Option<Found> {
        let (data, stat) = self.tree.get(path)?;
        let is_leaf = self.families[path].is_empty() && stat.ephemeral_owner == 0;
        let says_something = ![&b""[..], queue::STAYS].contains(&&**data) && election::begun(data).is_none();
        (is_leaf && says_something).then(|| Found { data: data.clone(), ..Found::new(path, FoundKind::Node) })
    }

    // ---- queues

    fn queues(&self) -> BTreeSet<&str> {
        let of = |path: &'_ str, names: &BTreeSet<String>| {
            if let Some(queue) =
                queue_that_has(path, queue::OWN).or_else(|| queue_that_has(path, queue::DEAD))
            {
                // What is beside the dead letters is theirs.
                return Some(queue.len()).filter(|length| *length > 1 && !is_of_a_queue(queue));
            }
            let has_items = names.iter().any(|name| role(path, name) == Role::Item);
            match path.strip_suffix("/entries").filter(|queue| !queue.is_empty()) {
                Some(queue) if has_items => Some(queue.len()),
                _ => (has_items && !is_of_a_queue(path)).then_some(path.len()),
            }
        };
        self.families.iter().filter_map(|(path, names)| Some(&path[..of(path, names)?])).collect()
    }

    fn queue(&self, path: &str) -> Found {
        let entries = path::join(path, "entries");
        let items = |path: &str| self.count(path, |role| role == Role::Item);
        let mut claims = Vec::new();
        let mut claimed = 0;
        for folder in [format!("{path}-{}/claims", queue::OWN), path::join(path, "taken")] {
            for name in self.names(&folder).filter(|name| role(&folder, name) == Role::Claim) {
                claimed += 1;
                if let Some((data, stat)) = self.tree.get(&path::join(&folder, name)) {
                    claims.push(contender(name, &queue::who_claims(data), "claim", stat, true));
                }
            }
        }
        Found {
            contenders: claims,
            holding: claimed,
            items: items(path) + items(&entries),
            dead: items(&format!("{path}-{}", queue::DEAD)) + items(&path::join(path, queue::DEAD)),
            ..Found::new(path, FoundKind::Queue)
        }
    }
}

/// What a queue keeps for itself, or anything below that.
fn is_of_a_queue(path: &str) -> bool {
    let is_own = |name: &str| {
        [queue::OWN, queue::DEAD].iter().any(|own| name == *own || queue_that_has(name, own).is_some())
    };
    path.split('/').any(is_own)
}

fn member(node: &str, (data, stat): &(Vec<u8>, Stat), is_party: bool) -> Contender {
    // Ours at a barrier say who they are, and so do kazoo's in a party; others have their name.
    let says_who = is_party || node.contains("__party__");
    let said = String::from_utf8_lossy(data);
    contender(node, if says_who { &said } else { node }, "member", stat, true)
}

fn contender(node: &str, identity: &str, kind: &str, stat: &Stat, holds: bool) -> Contender {
    let seen =
        SeenContender { entry: ContenderName::permit(node), data: identity.as_bytes().to_vec(), stat: *stat };
    // Members write what they like.
    Contender { kind: kind.to_owned(), is_asked: identity.as_bytes() == REVOKE, ..seen.contender(holds) }
}
