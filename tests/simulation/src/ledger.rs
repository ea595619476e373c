//! What is promised, and who broke it: every step is checked against the server's truth.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use zkrecipes::Held;

use crate::server::Changes;
use crate::sim::{HostId, Instant, Sim};
use crate::solo::Solo;
use crate::tell;
use crate::wire::names::short;

/// How long after a pause a host may take to find out what it lost meanwhile.
const GRACE: u64 = 100_000_000;
/// How long the news of a loss may be on its way to who wants to hear it, when the node is deleted at the same time.
const ON_ITS_WAY: u64 = 10_000_000;

/// An acquisition that its worker has not released.
struct Holding {
    id: u64,
    host: HostId,
    held: Weak<Held>,
    /// As the server calls it.
    node: String,
    has_denied: bool,
    has_heard: bool,
    gone_since: Option<Instant>,
}

/// A worker that waits for its turn.
struct Waiting {
    host: HostId,
    /// It will not give up, and began to wait with a session.
    is_patient: bool,
    /// Nothing has happened since that could cost it its place.
    is_undisturbed: bool,
}

#[derive(Default)]
struct Book {
    accusation: Option<String>,
    /// The contenders in the tree, in order.
    standing: Vec<String>,
    /// Nodes that were first in line at some time.
    had_turn: HashSet<String>,
    forced: HashSet<String>,
    /// Which task was told that which node is gone, and at which step.
    told_gone: HashMap<(u64, String), u64>,
    waiting: BTreeMap<u64, Waiting>,
    /// The fencing token granted last, with the number of times its turn was passed on.
    last_token: (u64, u32),
    /// At which step a session of which host ended last.
    ended: BTreeMap<HostId, u64>,
    /// Acquisitions that were released and not lost.
    let_go: HashSet<u64>,
    is_parent_missing: bool,
}

/// Figures of a run.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub acquisitions: u64,
    pub losses: u64,
    pub timeouts: u64,
    pub cancellations: u64,
    pub faults: u64,
}

pub struct Ledger {
    probes: bool,
    is_calm: AtomicBool,
    next: AtomicU64,
    book: Solo<Book>,
    holdings: Solo<Vec<Holding>>,
    tally: Solo<Tally>,
}

impl Ledger {
    pub fn new(probes: bool) -> Ledger {
        Ledger {
            probes,
            is_calm: AtomicBool::new(false),
            next: AtomicU64::new(1),
            book: Solo::default(),
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

    pub fn calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
    }

    pub fn standing(&self) -> usize {
        self.book.lock().standing.len()
    }

    // ---- the server's truth

    pub fn follow(&self, sim: &Sim, changes: Changes) {
        let mut book = self.book.lock();
        let is_forced = !changes.forced.is_empty();
        book.forced.extend(changes.forced);
        book.is_parent_missing =
            changes.contenders.as_ref().map_or(book.is_parent_missing, |_| changes.is_parent_missing);
        if let Some(contenders) = changes.contenders {
            if contenders.len() != book.standing.len() {
                let line: Vec<_> = contenders.iter().map(|node| short(node)).collect();
                tell!(sim, "in line: {}", line.join(" "));
            }
            if let Some(first) = contenders.first()
                && !book.had_turn.contains(first)
            {
                book.had_turn.insert(first.clone());
            }
            book.standing = contenders;
        }
        let is_disturbance = changes.is_parent_missing || is_forced;
        drop(book);
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
        self.book.lock().ended.insert(host, step);
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
    pub fn queue(&self, host: HostId, is_patient: bool) -> u64 {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let mut book = self.book.lock();
        // Who has to make the parent first may be overtaken by who comes then.
        let is_undisturbed = !book.is_parent_missing;
        book.waiting.insert(ticket, Waiting { host, is_patient, is_undisturbed });
        ticket
    }

    pub fn leave_queue(&self, ticket: u64) {
        self.book.lock().waiting.remove(&ticket);
    }

    // ---- holding

    /// The turn has come: everything that must be true of that is checked before anybody else runs.
    pub fn granted(&self, sim: &Arc<Sim>, host: HostId, ticket: u64, held: &Arc<Held>) -> u64 {
        let node = sim.chance(|rng| sim.names.lock().outgoing(rng, held.node()));
        let (is_held, token) = (held.is_held(), (held.fencing_token(), held.passes()));
        let name = short(&node);
        tell!(sim, "h{host} granted {name}, token {token:?}, held {is_held}");
        let mut book = self.book.lock();
        let mut wrongs = Vec::new();
        if let Some(waiting) = book.waiting.remove(&ticket)
            && waiting.is_undisturbed
            && book.waiting.range(..ticket).any(|(_, w)| w.host == host && w.is_patient && w.is_undisturbed)
        {
            wrongs.push(format!("h{host}: {name} overtook an undisturbed waiter of the same client"));
        }
        if !book.had_turn.contains(&node) {
            wrongs.push(format!("h{host}: {name} was granted but never was first in line"));
        }
        // News that came before this very poll was there to be seen. A turn that is passed on leaves its watch behind: who
        // takes it over asks anew, and the answer to that is still to come.
        let told = book.told_gone.get(&(sim.current_task(), node.clone()));
        if token.1 == 0 && told.is_some_and(|step| *step < sim.steps()) {
            wrongs
                .push(format!("h{host}: {name} was granted although its task had been told that it is gone"));
        }
        // Only the end of its session, in the middle of this very step, can have come before the owner's first question.
        if !is_held && book.ended.get(&host) != Some(&sim.steps()) {
            wrongs.push(format!("h{host}: {name} was granted but is not held"));
        }
        // Deleted by force on the way to its owner, it may come after its successor: that is what tokens are for.
        let says = is_held && !book.forced.contains(&node);
        if says && token <= book.last_token {
            wrongs.push(format!("h{host}: token {token:?} of {name} after {:?}", book.last_token));
        }
        if says {
            book.last_token = token;
        }
        drop(book);
        wrongs.into_iter().for_each(|wrong| self.accuse(wrong));
        self.tally.lock().acquisitions += 1;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let held = Arc::downgrade(held);
        let holding =
            Holding { id, host, held, node, has_denied: !is_held, has_heard: false, gone_since: None };
        self.holdings.lock().push(holding);
        id
    }

    /// The owner has let go, or finds that it had lost. After a release that counted, no loss is told.
    pub fn released(&self, id: u64, counted: bool) {
        self.holdings.lock().retain(|holding| holding.id != id);
        if counted {
            self.book.lock().let_go.insert(id);
        }
    }

    /// The owner hears that it lost. Not after it let go, and once only.
    pub fn heard_of_loss(&self, sim: &Sim, id: u64) {
        self.tally.lock().losses += 1;
        let wrong = match self.holdings.lock().iter_mut().find(|holding| holding.id == id) {
            Some(holding) => {
                tell!(sim, "h{} hears that it lost {}", holding.host, short(&holding.node));
                let again = std::mem::replace(&mut holding.has_heard, true);
                again.then(|| format!("h{} heard twice that it lost {}", holding.host, short(&holding.node)))
            }
            None => {
                self.book.lock().let_go.contains(&id).then(|| "a loss was told after the release".to_owned())
            }
        };
        if let Some(wrong) = wrong {
            self.accuse(wrong);
        }
    }

    /// What an owner that asks for itself is told.
    pub fn asked(&self, id: u64, says: bool) {
        let wrong = self.holdings.lock().iter_mut().find(|holding| holding.id == id).and_then(|holding| {
            let denied_before = holding.has_denied;
            holding.has_denied |= !says;
            (says && denied_before).then(|| format!("{} was lost and is held again", short(&holding.node)))
        });
        if let Some(wrong) = wrong {
            self.accuse(wrong);
        }
    }

    // ---- at every step

    pub fn check(&self, sim: &Sim) {
        let mut holdings = std::mem::take(&mut *self.holdings.lock());
        if holdings.is_empty() {
            return;
        }
        let mut claims = 0;
        let mut wrongs = Vec::new();
        for holding in &mut holdings {
            let (is_paused, resumed) = {
                let host = &sim.hosts.lock()[holding.host];
                (host.is_paused(), host.resumed)
            };
            if is_paused {
                continue;
            }
            let name = short(&holding.node);
            // Asking changes what is asked: an uncertain hold is lost by it. So half of the runs leave that to others.
            let held = holding.held.upgrade().filter(|_| self.probes);
            let says = held.is_some_and(|held| held.is_held());
            let book = self.book.lock();
            let place = book.standing.iter().position(|node| *node == holding.node);
            let is_forced = book.forced.contains(&holding.node);
            drop(book);
            if self.probes {
                if says && holding.has_denied {
                    wrongs.push(format!("h{}: {name} was lost and is held again", holding.host));
                }
                holding.has_denied |= !says;
            }
            if says && !is_forced {
                claims += 1;
                match place {
                    Some(0) => {}
                    Some(_) => wrongs.push(format!("h{} holds {name}, which is not first", holding.host)),
                    None => wrongs.push(format!("h{} holds {name}, which is gone", holding.host)),
                }
            }
            let gone_since = *holding.gone_since.get_or_insert(sim.now());
            if place.is_some() {
                holding.gone_since = None;
            }
            let is_unaware = !holding.has_heard && !holding.has_denied && !is_forced;
            let due = (resumed + GRACE).max(gone_since + ON_ITS_WAY);
            if is_unaware && place.is_none() && sim.now() > due {
                wrongs.push(format!("h{} was not told in time that {name} is gone", holding.host));
            }
        }
        if claims > 1 {
            wrongs.push(format!("{claims} hold at once"));
        }
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
