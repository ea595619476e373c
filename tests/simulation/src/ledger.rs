//! What is promised, and who broke it: every step is checked against the server's truth.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use zkrecipes::{Held, LostReason};

use crate::book::{Book, Seen, Waiting};
use crate::commits::Commits;
use crate::counting::Sums;
use crate::items::Items;
use crate::observing::Leaders;
use crate::plan::Plan;
use crate::rounds::Rounds;
use crate::server::Changes;
use crate::sim::{HostId, Instant, Sim, nanos};
use crate::solo::Solo;
use crate::standing::Kind;
use crate::subject::Subject;
use crate::tally::Tally;
use crate::tell;
use crate::trace::short;
use crate::views::Views;

/// How long after a pause a host may take to find out what it lost meanwhile.
const GRACE: u64 = 100_000_000;
/// How long the news of a loss may be on its way to who wants to hear it, when the node is deleted at the same time.
const ON_ITS_WAY: u64 = 10_000_000;

/// An acquisition that its worker has not released.
struct Holding {
    id: u64,
    host: HostId,
    held: Weak<Held>,
    /// As the server calls them.
    nodes: Vec<String>,
    has_denied: bool,
    has_heard: bool,
    gone_since: Option<Instant>,
    seen: Seen,
}

impl Holding {
    fn name(&self) -> String {
        names(&self.nodes)
    }
}

fn names(nodes: &[String]) -> String {
    nodes.iter().map(|node| short(node)).collect::<Vec<_>>().join(" ")
}

pub struct Ledger {
    pub sums: Sums,
    pub leaders: Leaders,
    pub views: Views,
    pub items: Items,
    pub rounds: Rounds,
    pub commits: Commits,
    probes: AtomicBool,
    is_calm: AtomicBool,
    next: AtomicU64,
    book: Solo<Book>,
    holdings: Solo<Vec<Holding>>,
    tally: Solo<Tally>,
}

impl Ledger {
    pub fn new(plan: &Plan) -> Ledger {
        Ledger {
            sums: Sums::default(),
            leaders: Leaders::default(),
            views: Views::default(),
            items: Items::of(plan),
            rounds: Rounds::of(plan),
            commits: Commits::default(),
            probes: AtomicBool::new(plan.probes),
            is_calm: AtomicBool::new(false),
            next: AtomicU64::new(1),
            book: Solo::new(Book::of(plan.ground().size)),
            holdings: Solo::default(),
            tally: Solo::default(),
        }
    }

    /// Somebody broke a promise. The first accusation counts; what follows may follow from it.
    pub fn accuse(&self, what: String) {
        self.book.lock().accusation.get_or_insert(what);
    }

    pub fn accusation(&self) -> Option<String> {
        self.book.lock().accusation.clone()
    }

    pub fn tally(&self) -> Tally {
        *self.tally.lock()
    }

    pub fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock());
    }

    pub fn count_fault(&self) {
        self.tally.lock().faults += 1;
    }

    pub fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    /// From now on everybody is asked at every step.
    pub fn probe(&self) {
        self.probes.store(true, Ordering::Relaxed);
    }

    pub fn calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
    }

    /// The process of a host has ended at once.
    pub fn crashed(&self, host: HostId) {
        self.tally.lock().crashes += 1;
        self.items.crashed(host);
        // Nobody is told of anything any more, and nobody waits.
        let mut holdings = self.holdings.lock();
        let (gone, rest): (Vec<_>, Vec<_>) = holdings.drain(..).partition(|holding| holding.host == host);
        *holdings = rest;
        drop(holdings);
        let book = &mut *self.book.lock();
        book.waiting.retain(|_, waiting| waiting.host != host);
        book.familiar.remove(&host);
        gone.iter().for_each(|holding| book.leaves(&holding.nodes));
    }

    /// What is wrong at the end, when everybody has done what there was to do.
    pub fn reckon(&self) -> Option<String> {
        self.items.reckon().or_else(|| self.commits.reckon())
    }

    // ---- the server's truth

    pub fn follow(&self, sim: &Sim, changes: Changes) {
        self.count(|tally| tally.reused += changes.reused);
        let mut book = self.book.lock();
        let is_disturbance = changes.is_parent_missing || !changes.forced.is_empty();
        book.changes += u64::from(!changes.forced.is_empty());
        book.forced.extend(changes.forced);
        if let Some(standing) = changes.standing {
            if changes.is_parent_missing && !book.is_parent_missing {
                book.tokens.begin_anew();
                book.familiar.clear();
            }
            book.is_parent_missing = changes.is_parent_missing;
            if standing.all().len() != book.standing.all().len() {
                let line: Vec<_> = standing.all().iter().map(|node| short(&node.path)).collect();
                tell!(sim, "in line: {}", line.join(" "));
            }
            book.look_at(standing, changes.gone);
        }
        let is_overdrawn = book.standing.permits() > book.size;
        let wrong =
            is_overdrawn.then(|| format!("{} permits of {} are taken", book.standing.permits(), book.size));
        drop(book);
        wrong.into_iter().for_each(|wrong| self.accuse(wrong));
        if is_disturbance {
            self.disturb(None);
        }
    }

    /// A task's watch has received the news that a node is gone.
    pub fn told_gone(&self, task: u64, node: &str, step: u64) {
        self.book.lock().told_gone.entry((task, node.to_owned())).or_insert(step);
    }

    /// A session of a host's client has ended.
    pub fn session_ended(&self, host: HostId, step: u64) {
        let book = &mut *self.book.lock();
        book.ended.insert(host, step);
        book.familiar.remove(&host);
    }

    // ---- waiting

    /// Something happened that may cost waiters their place: to one host's, or to all.
    pub fn disturb(&self, host: Option<HostId>) {
        for waiting in self.book.lock().waiting.values_mut() {
            if host.is_none_or(|host| host == waiting.host) {
                waiting.is_undisturbed = false;
            }
        }
    }

    /// A worker asks for its turn, now.
    pub fn queue(&self, host: HostId, kind: Option<Kind>, is_patient: bool) -> u64 {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let mut book = self.book.lock();
        // Who has to make the parent first, or to ask what may be done there, may be overtaken by who comes then.
        let is_undisturbed = !book.is_parent_missing && book.familiar.contains(&host);
        book.waiting.insert(ticket, Waiting { host, kind, is_patient, is_undisturbed });
        ticket
    }

    pub fn leave_queue(&self, ticket: u64) {
        self.book.lock().waiting.remove(&ticket);
    }

    // ---- holding

    /// The turn has come: everything that must be true of that is checked before anybody else runs.
    pub fn granted(&self, sim: &Arc<Sim>, host: HostId, ticket: u64, held: &Arc<Held>) -> u64 {
        // Who is told the name of its node keeps it from being passed on before that is gone. A reader that took a writer's place
        // has its token.
        let is_named = sim.plan.subject == Subject::ReadWrite || ticket.is_multiple_of(4);
        let own = is_named.then(|| held.node().to_owned());
        let is_held = held.is_held();
        let mut book = self.book.lock();
        let nodes = book.nodes_of(own, &held.fencing_tokens());
        let name = names(&nodes);
        tell!(
            sim,
            "h{host} granted {name}, tokens {:?} {}, held {is_held}",
            held.fencing_tokens(),
            held.passes()
        );
        book.familiar.insert(host);
        let mut wrongs = Vec::new();
        if let Some(waiting) = book.waiting.remove(&ticket)
            && waiting.is_undisturbed
            && book.waiting.range(..ticket).any(|(_, ahead)| ahead.is_overtaken_by(&waiting))
        {
            wrongs.push(format!("h{host}: {name} overtook an undisturbed waiter of the same client"));
        }
        if is_held && nodes.len() != held.permits() {
            wrongs.push(format!(
                "h{host}: {} nodes were granted, and there are {}",
                held.permits(),
                nodes.len()
            ));
        }
        let is_forced = nodes.iter().any(|node| book.forced.contains(node));
        if !book.had_their_turn(&nodes) && !nodes.is_empty() && !is_forced {
            let either =
                if nodes.len() == 1 { "always had somebody before it" } else { "never stood at once" };
            wrongs.push(format!("h{host}: {name} was granted but {either}"));
        }
        // News that came before this very poll was there to be seen. A turn that is passed on leaves its watch behind: who
        // takes it over asks anew, and the answer to that is still to come. So do several that were won one by one: the
        // answer that says that they all stand is the last to be looked at.
        if let [node] = &nodes[..]
            && held.passes() == 0
            && let Some(told) = book.told_gone.get(&(sim.current_task(), node.clone()))
            && *told < sim.steps()
        {
            wrongs
                .push(format!("h{host}: {name} was granted although its task had been told that it is gone"));
        }
        // Only the end of its session, in the middle of this very step, can have come before the owner's first question.
        if !is_held && book.ended.get(&host) != Some(&sim.steps()) {
            wrongs.push(format!("h{host}: {name} was granted but is not held"));
        }
        // Deleted by force on the way to its owner, it may come after its successor: that is what tokens are for.
        if is_held && !nodes.iter().any(|node| book.forced.contains(node)) {
            let Book { known, tokens, .. } = &mut *book;
            for (node, token) in nodes.iter().zip(held.fencing_tokens()) {
                let refused =
                    known.get(node).and_then(|node| tokens.grant(node, (token, held.passes())).err());
                wrongs
                    .extend(refused.map(|refused| format!("h{host}: {} was granted {refused}", short(node))));
            }
        }
        book.held.extend(nodes.iter().cloned());
        book.changes += 1;
        drop(book);
        wrongs.into_iter().for_each(|wrong| self.accuse(wrong));
        self.tally.lock().acquisitions += 1;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let held = Arc::downgrade(held);
        let holding = Holding {
            id,
            host,
            held,
            nodes,
            has_denied: !is_held,
            has_heard: false,
            gone_since: None,
            seen: Seen::default(),
        };
        self.holdings.lock().push(holding);
        id
    }

    /// The owner has let go, or finds that it had lost. After a release that counted, no loss is told.
    pub fn released(&self, id: u64, counted: bool) {
        let mut holdings = self.holdings.lock();
        let at = holdings.iter().position(|holding| holding.id == id);
        let nodes = at.map(|at| holdings.remove(at).nodes);
        drop(holdings);
        let mut book = self.book.lock();
        nodes.iter().for_each(|nodes| book.leaves(nodes));
        if counted {
            book.let_go.insert(id);
        }
    }

    /// The owner hears that it lost. Not after it let go, and once only.
    pub fn heard_of_loss(&self, sim: &Sim, id: u64, reason: Option<LostReason>) {
        self.tally.lock().losses += 1;
        let mut wrongs = Vec::new();
        let book = self.book.lock();
        match self.holdings.lock().iter_mut().find(|holding| holding.id == id) {
            Some(holding) => {
                let (host, name) = (holding.host, holding.name());
                tell!(sim, "h{host} hears that it lost {name}: {reason:?}");
                if std::mem::replace(&mut holding.has_heard, true) {
                    wrongs.push(format!("h{host} heard twice that it lost {name}"));
                }
                let is_forced = holding.nodes.iter().any(|node| book.forced.contains(node));
                if reason == Some(LostReason::Deleted) && !is_forced {
                    wrongs.push(format!("h{host} heard that {name} was deleted, which nobody did"));
                }
                if reason == Some(LostReason::Revoked) && !book.is_any_asked(&holding.nodes) {
                    wrongs.push(format!("h{host} heard that {name} was revoked, which nobody did"));
                }
            }
            None if book.let_go.contains(&id) => wrongs.push("a loss was told after the release".to_owned()),
            None => {}
        }
        drop(book);
        wrongs.into_iter().for_each(|wrong| self.accuse(wrong));
    }

    /// The owner hears that somebody wants it to let go.
    pub fn heard_of_request(&self, sim: &Sim, id: u64) {
        let book = self.book.lock();
        let holdings = self.holdings.lock();
        let Some(holding) = holdings.iter().find(|holding| holding.id == id) else { return };
        let (host, name) = (holding.host, holding.name());
        tell!(sim, "h{host} is asked for {name}");
        let is_true = book.is_any_asked(&holding.nodes);
        drop((book, holdings));
        if !is_true {
            self.accuse(format!("h{host} was asked for {name} by nobody"));
        }
    }

    /// What an owner that asks for itself is told.
    pub fn asked(&self, id: u64, says: bool) {
        let wrong = self.holdings.lock().iter_mut().find(|holding| holding.id == id).and_then(|holding| {
            let denied_before = holding.has_denied;
            holding.has_denied |= !says;
            (says && denied_before).then(|| format!("{} was lost and is held again", holding.name()))
        });
        if let Some(wrong) = wrong {
            self.accuse(wrong);
        }
    }

    // ---- at every step

    pub fn check(&self, sim: &Sim) {
        self.items.check(sim).into_iter().for_each(|wrong| self.accuse(wrong));
        let mut holdings = std::mem::take(&mut *self.holdings.lock());
        if holdings.is_empty() {
            return;
        }
        let probes = self.probes.load(Ordering::Relaxed);
        let mut claims: Vec<(HostId, usize)> = Vec::new();
        let mut wrongs = Vec::new();
        for holding in &mut holdings {
            let (is_paused, resumed) = {
                let host = &sim.hosts.lock()[holding.host];
                (host.is_paused(), host.resumed)
            };
            if is_paused {
                continue;
            }
            // Asking changes what is asked: an uncertain hold is lost by it. So half of the runs leave that to others.
            let held = holding.held.upgrade().filter(|_| probes);
            let says = held.is_some_and(|held| held.is_held());
            if probes {
                if says && holding.has_denied {
                    wrongs.push(format!("h{}: {} was lost and is held again", holding.host, holding.name()));
                }
                holding.has_denied |= !says;
            }
            let book = self.book.lock();
            if holding.seen.change != book.changes {
                holding.seen = book.see(&holding.nodes);
            }
            drop(book);
            let Seen { is_forced, at, why_not, .. } = &holding.seen;
            let (is_forced, is_whole) = (*is_forced, at.len() == holding.nodes.len());
            if says && !is_forced {
                claims.extend(at.iter().map(|at| (holding.host, *at)));
                let wrong = |(node, why): &(String, String)| {
                    format!("h{} holds {}, {why}", holding.host, short(node))
                };
                wrongs.extend(why_not.iter().map(wrong));
            }
            let gone_since = *holding.gone_since.get_or_insert(sim.now());
            if is_whole {
                holding.gone_since = None;
            }
            // Force cannot be foreseen, but by then each answer that keeps the session says so.
            let is_late = !is_whole && sim.now() > gone_since + nanos(sim.plan.session_timeout);
            if is_late && holding.held.upgrade().is_some_and(|held| held.is_held()) {
                wrongs.push(format!(
                    "h{} holds {}, which has been gone for so long",
                    holding.host,
                    holding.name()
                ));
            }
            let is_unaware = !holding.has_heard && !holding.has_denied && !is_forced;
            let due = (resumed + GRACE).max(gone_since + ON_ITS_WAY);
            if is_unaware && !is_whole && sim.now() > due {
                wrongs.push(format!(
                    "h{} was not told in time that {} is gone",
                    holding.host,
                    holding.name()
                ));
            }
        }
        wrongs.extend(self.book.lock().too_many(&claims));
        wrongs.into_iter().for_each(|wrong| self.accuse(wrong));
        let mut now = self.holdings.lock();
        holdings.append(&mut now);
        *now = holdings;
    }

    /// Before the world is taken apart: nothing is asked any more.
    pub fn shut(&self) {
        self.holdings.lock().clear();
    }
}
