//! Two-phase commit: any two of a coordinator and two sites crash, each at any of its requests. The others go on, those that
//! crashed are started again, and all do the same; in the end nothing is left.
//!
//! A crash cuts a process off from the server at its k-th request, which is applied or not, and ends its session. What it has
//! written down for itself is in the ledger. `ZKR_ALL=1` runs every pair, otherwise a part of them that is always the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::support::commits::{MINUTE, MODES, PATH, of};
use crate::support::ground::Ground;
use crate::support::{SOON, options, server, soon};
use futures_util::StreamExt;
use tokio::task::JoinHandle;
use zkrecipes::{Client, CommitMode, Outcome, Proposal, Result};
use zkrecipes_embedded::{Fault, FaultId, Server};

const SITES: [&str; 2] = ["a", "b"];
/// Longer than this machine ever stalls: the server's clock stands still, so a session that its client gives up for that would stay.
const SESSION_TIMEOUT: Duration = MINUTE;
/// How many pairs run at the same time.
const AT_ONCE: usize = 8;
/// More than any of them makes before all is done.
const REQUESTS: u64 = 44;
/// One pair in so many, where not all are to run.
const SAMPLE: usize = 64;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Coordinator,
    Site(usize),
}

#[derive(Copy, Clone, Debug)]
struct Crash {
    role: Role,
    /// At which of its requests, counted from 1.
    at: u64,
    is_applied: bool,
}

/// What the world of a run is like.
#[derive(Copy, Clone, Debug)]
struct Variant {
    mode: CommitMode,
    /// The second site votes for the abort.
    refuses: bool,
}

/// What everybody has written down for themselves, and what they were told.
#[derive(Default)]
struct Ledger(Mutex<Book>);

#[derive(Default)]
struct Book {
    /// The transactions that the coordinator was about to begin.
    begun: Vec<String>,
    prepared: BTreeMap<String, BTreeSet<usize>>,
    told: BTreeMap<String, Vec<(Role, Outcome)>>,
}

impl Ledger {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().expect("no panic")
    }

    /// The next transaction, unless one has come to an end or it was tried twice.
    fn next(&self) -> Option<String> {
        let mut book = self.book();
        let is_over = book.told.values().flatten().any(|(role, _)| *role == Role::Coordinator);
        if is_over || book.begun.len() == 2 {
            return None;
        }
        let id = format!("t{}", book.begun.len());
        book.begun.push(id.clone());
        Some(id)
    }

    fn told(&self, id: &str, role: Role, outcome: Outcome) {
        self.book().told.entry(id.to_owned()).or_default().push((role, outcome));
    }

    fn check(&self, variant: Variant, what: &str) {
        let book = self.book();
        for (id, told) in &book.told {
            let outcome = told[0].1;
            assert!(told.iter().all(|(_, other)| *other == outcome), "{what}: {id}: {told:?}");
            if outcome == Outcome::Commit {
                let prepared = book.prepared.get(id).map_or(0, BTreeSet::len);
                assert_eq!(
                    (prepared, variant.refuses),
                    (SITES.len(), false),
                    "{what}: {id} was committed: {told:?}"
                );
                for (site, name) in SITES.iter().enumerate() {
                    let is_told = told.iter().any(|(role, _)| *role == Role::Site(site));
                    assert!(is_told, "{what}: {id} was committed, and {name} was never told");
                }
            }
        }
    }
}

/// One process.
struct Process {
    role: Role,
    client: Client,
    work: JoinHandle<()>,
}

impl Process {
    async fn start(role: Role, hosts: &str, variant: Variant, ledger: &Arc<Ledger>) -> Process {
        let client = Client::connect(hosts, options(SESSION_TIMEOUT)).await.expect("the server answers");
        Process::with(role, client, variant, ledger)
    }

    fn with(role: Role, client: Client, variant: Variant, ledger: &Arc<Ledger>) -> Process {
        let work = tokio::spawn(work(role, client.clone(), variant, ledger.clone()));
        Process { role, client, work }
    }

    async fn stop(self) {
        self.work.abort();
        let _ = self.work.await;
        soon("closing", self.client.close(Some(SOON))).await.expect("closed");
    }

    /// It is cut off already; its session ends.
    async fn crash(self, server: &Server) {
        self.work.abort();
        let _ = self.work.await;
        server.expire(self.client.session_id());
        // To free what it has here. It does not get through.
        let _ = self.client.close(Some(Duration::ZERO)).await;
    }
}

async fn work(role: Role, client: Client, variant: Variant, ledger: Arc<Ledger>) {
    let done = match role {
        Role::Coordinator => coordinate(&client, variant, &ledger).await,
        Role::Site(nth) => take_part(&client, nth, variant, &ledger).await,
    };
    // Who is cut off may be told anything.
    drop(done);
}

async fn coordinate(client: &Client, variant: Variant, ledger: &Ledger) -> Result<()> {
    let commits = of(client, variant.mode);
    for transaction in commits.recover().await? {
        ledger.told(transaction.id(), Role::Coordinator, transaction.outcome(None).await?);
    }
    while let Some(id) = ledger.next() {
        let transaction = commits.begin(&id, &SITES, b"chairs", MINUTE).await?;
        ledger.told(&id, Role::Coordinator, transaction.outcome(None).await?);
    }
    // It is there until it is stopped.
    commits.history().await.map(drop)
}

async fn take_part(client: &Client, nth: usize, variant: Variant, ledger: &Ledger) -> Result<()> {
    let site = of(client, variant.mode);
    site.join(SITES[nth]).await?;
    for proposal in site.pending().await? {
        answer(nth, &proposal, variant, ledger).await?;
    }
    loop {
        answer(nth, &site.next(None).await?, variant, ledger).await?;
    }
}

async fn answer(nth: usize, proposal: &Proposal, variant: Variant, ledger: &Ledger) -> Result<()> {
    if !proposal.has_voted() {
        let voted = match nth == 1 && variant.refuses {
            true => proposal.vote_abort("full").await,
            false => {
                ledger.book().prepared.entry(proposal.id().to_owned()).or_default().insert(nth);
                proposal.vote_commit().await
            }
        };
        voted?;
    }
    let outcome = proposal.outcome(None).await?;
    ledger.told(proposal.id(), Role::Site(nth), outcome);
    proposal.acknowledge().await
}

/// A process behind a proxy of its own, that crashes.
struct Victim {
    ground: Ground,
    fault: FaultId,
    process: Option<Process>,
}

impl Victim {
    async fn start(crash: Crash, server: &Server, variant: Variant, ledger: &Arc<Ledger>) -> Victim {
        let ground = Ground::real(server.connect_string(), String::new());
        let client = ground.client(SESSION_TIMEOUT).await;
        let fault = if crash.is_applied { Fault::drop_after("*") } else { Fault::drop_before("*") };
        let fault = ground.inject(fault.request_number(crash.at));
        ground.inject(Fault::refuse_connections(1).forever());
        Victim { ground, fault, process: Some(Process::with(crash.role, client, variant, ledger)) }
    }
}

/// What stands in these places, beside the folders and the outcomes that are left for who began a transaction and crashed.
fn left(server: &Server, places: &[&str]) -> Vec<String> {
    let folders = ["transactions", "sites", "coordinators", "inbox", "inbox/a", "inbox/b"];
    let folders: Vec<_> = folders.iter().map(|folder| format!("{PATH}/{folder}")).collect();
    let is_there = |node: &String| places.iter().any(|place| node[PATH.len()..].starts_with(place));
    let nodes = crate::support::nodes_under(server, PATH).into_iter();
    let is_outcome = |node: &String| node[PATH.len()..].starts_with("/outcomes");
    nodes.filter(|node| is_there(node) && !folders.contains(node) && !is_outcome(node)).collect()
}

/// Everybody lives, dies and comes back; whether both crashed.
async fn run(variant: Variant, crashes: [Crash; 2]) -> bool {
    let what = format!("{variant:?} {crashes:?}");
    let server = server();
    // No session ends but by a crash.
    server.freeze_clock();
    let ledger = Arc::new(Ledger::default());
    let hosts = server.connect_string();
    let watcher = Client::connect(&hosts, options(SESSION_TIMEOUT)).await.expect("the server answers");
    let commits = of(&watcher, variant.mode);
    let (mut victims, mut processes) = (Vec::new(), Vec::new());
    for role in [Role::Site(0), Role::Site(1), Role::Coordinator] {
        match crashes.iter().find(|crash| crash.role == role) {
            Some(crash) => victims.push(Victim::start(*crash, &server, variant, &ledger).await),
            None => processes.push(Process::start(role, &hosts, variant, &ledger).await),
        }
    }
    let going_on = async {
        loop {
            for victim in &mut victims {
                if victim.ground.fault_fired(victim.fault)
                    && let Some(process) = victim.process.take()
                {
                    let role = process.role;
                    process.crash(&server).await;
                    processes.push(Process::start(role, &hosts, variant, &ledger).await);
                }
            }
            let all = victims.iter().filter_map(|victim| victim.process.as_ref()).chain(&processes);
            let is_done = all
                .filter(|process| process.role == Role::Coordinator)
                .all(|coordinator| coordinator.work.is_finished());
            // Whoever was asked has done it.
            if is_done && left(&server, &["/transactions/", "/inbox/"]).is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    if tokio::time::timeout(SOON, going_on).await.is_err() {
        panic!("{what} hangs: {:#?} {:?}", commits.history().await, ledger.book().told);
    }
    let fired = victims.iter().all(|victim| victim.process.is_none());
    ledger.check(variant, &what);
    victims.iter().for_each(|victim| victim.ground.clear_faults());
    let others = victims.iter_mut().filter_map(|victim| victim.process.take()).chain(processes);
    for process in others {
        process.stop().await;
    }
    soon(&what, watcher.close(Some(SOON))).await.expect("closed");
    let left = left(&server, &["/"]);
    assert!(left.is_empty(), "{what}: {left:?}, and the sessions {:x?}", server.sessions());
    fired
}

async fn every_pair(roles: [Role; 2]) {
    let mut pairs = Vec::new();
    for mode in MODES {
        for refuses in [false, true] {
            let variant = Variant { mode, refuses };
            for i in 1..=REQUESTS {
                for j in 1..=REQUESTS {
                    for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
                        let crashes = [
                            Crash { role: roles[0], at: i, is_applied: first },
                            Crash { role: roles[1], at: j, is_applied: second },
                        ];
                        pairs.push((variant, crashes));
                    }
                }
            }
        }
    }
    let all = pairs.len();
    if std::env::var_os("ZKR_ALL").is_none() {
        // Spread over all of them, and the same each time.
        let is_chosen = |nth: usize| (nth as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let chosen =
            pairs.iter().enumerate().filter(|(nth, _)| (is_chosen(*nth) as usize).is_multiple_of(SAMPLE));
        pairs = chosen.map(|(_, pair)| *pair).collect();
    }
    let running = pairs.len();
    let fired = futures_util::stream::iter(pairs)
        .map(|(variant, crashes)| run(variant, crashes))
        .buffer_unordered(AT_ONCE)
        .filter(|fired| std::future::ready(*fired))
        .count()
        .await;
    println!("{roles:?}: {running} of {all} pairs, both crashed in {fired}");
    assert!(fired * 2 >= running, "only in {fired} of {running} pairs both crashed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_and_a_site_crash_at_any_step() {
    every_pair([Role::Coordinator, Role::Site(0)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sites_crash_at_any_step() {
    every_pair([Role::Site(0), Role::Site(1)]).await;
}
