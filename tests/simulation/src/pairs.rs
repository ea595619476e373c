//! Two processes of a two-phase commit that crash, at every pair of their requests: a coordinator and two sites, of whom
//! any two, or one twice, end at a request of theirs, before it is carried out or after, and are started again.
//!
//! Nothing but the crashes goes wrong, so that a run is the same up to the first of them: when a crash at some request does
//! not come about, because all is over before, none at a later request does.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use zkrecipes::session::clock::Clock;
use zkrecipes::{
    Client, ClientOptions, CommitMode, Error, ErrorKind, Outcome as Decided, Proposal, Result, TwoPhaseCommit,
};

use crate::clock::HostClock;
use crate::committing::{is_taken, is_told, site};
use crate::plan::{Crash, Plan, Trouble, TroubleKind};
use crate::rng::Rng;
use crate::sim::{HostId, Process, Sim};
use crate::subject::{PATH, Subject};
use crate::walk::{Walk, Walks};
use crate::wire::HostDial;
use crate::{Outcome, conclude, tell, until};

const COORDINATOR: HostId = 0;
const SITES: [HostId; 2] = [1, 2];
const SESSION: Duration = Duration::from_secs(2);
/// A process that has crashed is back while its session still lives, or when it has ended; then whoever waits may have decided,
/// because the time to vote was over, or not.
const TIMES: [Times; 3] = [
    Times { away: Duration::from_millis(50), to_vote: LONG },
    Times { away: Duration::from_secs(5), to_vote: LONG },
    Times { away: Duration::from_secs(5), to_vote: Duration::from_secs(1) },
];
/// Longer than everything together.
const LONG: Duration = Duration::from_secs(300);
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks at what cannot be waited for otherwise.
const LOOKS: Duration = Duration::from_millis(400);

#[derive(Copy, Clone, Debug)]
struct Times {
    away: Duration,
    to_vote: Duration,
}

/// Two crashes, but for the requests at which they happen.
#[derive(Copy, Clone, Debug)]
pub struct Course {
    /// Who; the same one twice: it crashes, and so does the process that is started in its place.
    hosts: [HostId; 2],
    /// Behind the request instead of before it.
    is_applied: [bool; 2],
    mode: CommitMode,
    /// The second site votes for the abort.
    refuses: bool,
    times: Times,
}

/// Everything that differs from pair to pair but the requests.
pub fn courses() -> Vec<Course> {
    let mut all = Vec::new();
    for hosts in [[0, 1], [0, 2], [1, 2], [0, 0], [1, 1], [2, 2]] {
        for mode in [CommitMode::Coordinator, CommitMode::Peer] {
            for refuses in [false, true] {
                for times in TIMES {
                    for is_applied in [[false, false], [false, true], [true, false], [true, true]] {
                        all.push(Course { hosts, is_applied, mode, refuses, times });
                    }
                }
            }
        }
    }
    all
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Course { hosts, is_applied, mode, refuses, times: Times { away, to_vote } } = self;
        let party = |nth: usize| {
            let who = ["coordinator", "first site", "second site"][hosts[nth]];
            format!("{who} {}", if is_applied[nth] { "after" } else { "before" })
        };
        let votes = if *refuses { "one refuses" } else { "all agree" };
        write!(f, "{mode:?}, {votes} in {to_vote:?}, back after {away:?}, {}, {}", party(0), party(1))
    }
}

impl Walks for Course {
    fn what(&self) -> String {
        "two-phase commit, two crashes".to_owned()
    }

    fn walk(&self, seed: u64, first: u64, every: usize, aloud: Option<&str>) -> Walk {
        let mut walk = Walk::default();
        for i in (first..).step_by(every) {
            let mut has_first = false;
            for j in (first..).step_by(every) {
                let name = format!("{self}: {i} and {j}");
                let (outcome, crashed) = self.run(seed, [i, j], aloud == Some(&*name));
                let has_failed = outcome.failure.is_some();
                walk.count(name, outcome, crashed == [true, true]);
                has_first |= crashed[0];
                // A run that failed says nothing of how many requests there are.
                if !crashed[1] || has_failed {
                    break;
                }
            }
            if !has_first || walk.failures.len() > 3 {
                break;
            }
        }
        walk
    }
}

impl Course {
    /// How it went, and who crashed.
    fn run(&self, seed: u64, at: [u64; 2], aloud: bool) -> (Outcome, [bool; 2]) {
        let _chances = Sim::chances(seed);
        let mut rng = Rng::new(seed);
        let mut plan = plan(&mut rng, self.mode);
        plan.away = Some(self.times.away);
        let crash =
            |nth: usize| Crash { host: self.hosts[nth], at: at[nth], is_applied: self.is_applied[nth] };
        plan.crashes = vec![crash(0), crash(1)];
        let sim = Sim::of(plan, rng, aloud);
        tell!(sim, "{self}: {at:?}");
        let failure = play(&sim, self.refuses, self.times.to_vote).err();
        let crashes = |host: HostId| sim.hosts.lock()[host].crashes;
        let crashed = match self.hosts {
            [one, other] if one == other => [crashes(one) > 0, crashes(one) > 1],
            [one, other] => [crashes(one) > 0, crashes(other) > 0],
        };
        (conclude(&sim, seed, failure), crashed)
    }
}

fn play(sim: &Arc<Sim>, refuses: bool, to_vote: Duration) -> std::result::Result<(), String> {
    let world = Arc::new(World { refuses, to_vote, ..World::default() });
    for host in 0..sim.plan.hosts {
        let clock = HostClock { sim: sim.clone(), host };
        let member = Arc::new(Member { sim: sim.clone(), host, clock, world: world.clone() });
        sim.processes.lock().push(member.clone());
        member.launch();
    }
    let commits = &sim.ledger.commits;
    if !until(sim, PATIENCE, |sim| commits.are_all_done(1) && open(sim).is_empty())? {
        return Err(format!("not finished after {PATIENCE:?}, and there is {:?}", open(sim)));
    }
    // Who is away comes back, and has one look.
    sim.ledger.calm();
    world.is_over.store(true, Ordering::Relaxed);
    let has_ended = |sim: &Sim| {
        let is_closed = world.closed.load(Ordering::Relaxed) == sim.plan.hosts;
        is_closed && sim.tasks() == 0 && sim.net.lock().server.sessions() == 0
    };
    if !until(sim, PATIENCE, has_ended)? {
        return Err(format!("{} tasks outlive their clients", sim.tasks()));
    }
    if let Some(wrong) = sim.ledger.reckon() {
        return Err(wrong);
    }
    let server = &sim.net.lock().server;
    match (server.left(), server.watches()) {
        (0, 0) => Ok(()),
        (nodes, watches) => Err(format!("{nodes} nodes and {watches} watches are left behind")),
    }
}

fn plan(rng: &mut Rng, mode: CommitMode) -> Plan {
    let mut plan = Plan::quiet(rng);
    plan.subject = Subject::TwoPhaseCommit { mode };
    (plan.hosts, plan.workers) = (1 + SITES.len(), 1);
    (plan.session_timeout, plan.tick) = (SESSION, SESSION / 4);
    plan
}

/// One or two that meet trouble at a request, but for which these are.
#[derive(Clone, Debug)]
pub struct TroubledCommit {
    mode: CommitMode,
    troubles: Vec<(HostId, TroubleKind)>,
}

/// With one trouble each, or with two; then where the coordinator decides.
pub fn troubled_commits(is_pairs: bool) -> Vec<TroubledCommit> {
    let mut all = Vec::new();
    for first in TroubleKind::ALL {
        if !is_pairs {
            for mode in [CommitMode::Coordinator, CommitMode::Peer] {
                all.extend(
                    [COORDINATOR, SITES[0]]
                        .map(|host| TroubledCommit { mode, troubles: vec![(host, first)] }),
                );
            }
            continue;
        }
        for second in TroubleKind::ALL {
            for [one, other] in [[COORDINATOR, COORDINATOR], [COORDINATOR, SITES[0]], [SITES[0], SITES[0]]] {
                let troubles = vec![(one, first), (other, second)];
                all.push(TroubledCommit { mode: CommitMode::Coordinator, troubles });
            }
        }
    }
    all
}

impl fmt::Display for TroubledCommit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let who = |host: HostId| if host == COORDINATOR { "coordinator" } else { "site" };
        let all = self.troubles.iter().map(|(host, kind)| format!("{}: {}", who(*host), kind.name()));
        write!(f, "two-phase commit, {:?}, {}", self.mode, all.collect::<Vec<_>>().join(", then "))
    }
}

impl Walks for TroubledCommit {
    fn what(&self) -> String {
        let many = if self.troubles.len() == 1 { "one request" } else { "two requests" };
        format!("two-phase commit, {many}")
    }

    fn walk(&self, seed: u64, first: u64, every: usize, aloud: Option<&str>) -> Walk {
        let mut walk = Walk::default();
        let hosts: Vec<_> = self.troubles.iter().map(|(host, _)| *host).collect();
        for one in (first..).step_by(every) {
            let mut has_first = false;
            let others = if hosts == [hosts[0]; 2] { one + 1 } else { first };
            for other in (others..).step_by(every) {
                let at = [one, other];
                let name = format!(
                    "{self}: {}",
                    if hosts.len() == 1 { format!("{one}") } else { format!("{one} and {other}") }
                );
                let (outcome, met) = self.run(seed, at, aloud == Some(&*name));
                let is_whole = met.iter().all(|met| *met);
                let has_failed = outcome.failure.is_some();
                walk.count(name, outcome, is_whole);
                has_first |= met[0];
                if hosts.len() == 1 || !met[1] || has_failed {
                    break;
                }
            }
            if !has_first || walk.failures.len() > 3 {
                break;
            }
        }
        walk
    }
}

impl TroubledCommit {
    /// How it went, and which of the requests met trouble.
    fn run(&self, seed: u64, at: [u64; 2], aloud: bool) -> (Outcome, Vec<bool>) {
        let _chances = Sim::chances(seed);
        let mut rng = Rng::new(seed);
        let mut plan = plan(&mut rng, self.mode);
        let troubles = self.troubles.iter().zip(at);
        plan.troubles = troubles.map(|((host, kind), at)| Trouble { host: *host, at, kind: *kind }).collect();
        (plan.members, plan.homes) = (3, vec![1, 2, 0]);
        let sim = Sim::of(plan, rng, aloud);
        tell!(sim, "{self}: {at:?}");
        let failure = play(&sim, false, LONG).err();
        let met = sim.plan.troubles.iter().map(|trouble| sim.hosts.lock()[trouble.host].asked >= trouble.at);
        let met = met.collect();
        (conclude(&sim, seed, failure), met)
    }
}

/// What stands of transactions, and of what sites were asked.
fn open(sim: &Sim) -> Vec<String> {
    let places = [format!("{PATH}/transactions/"), format!("{PATH}/inbox/")];
    let inboxes = SITES.map(|host| format!("{PATH}/inbox/{}", site(host, 0)));
    let net = sim.net.lock();
    let paths = net.server.followed().iter().map(|node| node.path.clone());
    paths
        .filter(|path| places.iter().any(|place| path.starts_with(place)) && !inboxes.contains(path))
        .collect()
}

/// What all of them have in common.
#[derive(Default)]
struct World {
    refuses: bool,
    to_vote: Duration,
    is_over: AtomicBool,
    closed: AtomicUsize,
}

/// One that does its part, again from the beginning after each crash.
struct Member {
    sim: Arc<Sim>,
    host: HostId,
    clock: HostClock,
    world: Arc<World>,
}

impl Process for Member {
    fn launch(self: Arc<Self>) {
        self.sim.spawn(self.host, Box::pin(self.clone().live()));
    }
}

impl Member {
    async fn live(self: Arc<Self>) {
        if let Err(error) = self.try_live().await {
            self.sim.ledger.accuse(format!("h{}: {error}", self.host));
        }
    }

    async fn try_live(&self) -> Result<()> {
        let (sim, host) = (&self.sim, self.host);
        let options = ClientOptions::default().session_timeout(SESSION).identity(format!("h{host}"));
        let dial = Box::new(HostDial { sim: sim.clone(), host });
        let clock = Arc::new(HostClock { sim: sim.clone(), host });
        let client = Client::connect_over(dial, clock, "simulated:2181", options).await?;
        let sink = HostClock { sim: sim.clone(), host };
        client.deliver_through(move |_, job| sink.spawn(Box::pin(async move { job() })));
        let Subject::TwoPhaseCommit { mode } = sim.plan.subject else { return Ok(()) };
        let withdrawal = sim.hosts.lock()[host].withdrawal.clone();
        loop {
            // Each with a handle of its own: what another one has in hand ends with that.
            let part = self.do_its_part(client.two_phase_commit(PATH, mode)?);
            let ended = tokio::select! {
                biased;
                ended = part => Some(ended),
                () = withdrawal.notified() => None,
            };
            match ended {
                Some(Ok(())) => break,
                Some(Err(error)) if !self.may_try_again(&error) => return Err(error),
                _ => self.nap().await,
            }
        }
        client.close(Some(Duration::from_secs(20))).await?;
        self.world.closed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn do_its_part(&self, commits: TwoPhaseCommit) -> Result<()> {
        match self.host {
            COORDINATOR => self.coordinate(&commits).await,
            _ => self.take_part(&commits).await,
        }
    }

    /// Crashes alone surprise nobody else.
    fn may_try_again(&self, error: &Error) -> bool {
        let is_known =
            matches!(error.kind(), ErrorKind::ConnectionLost | ErrorKind::NotHeld | ErrorKind::Exists);
        is_known && !self.sim.plan.troubles.is_empty()
    }

    fn is_over(&self) -> bool {
        self.world.is_over.load(Ordering::Relaxed)
    }

    async fn nap(&self) {
        self.clock.sleep_until(self.clock.now() + LOOKS).await;
    }

    /// Brings about one transaction, which is tried twice, and whatever an earlier process has left.
    async fn coordinate(&self, commits: &TwoPhaseCommit) -> Result<()> {
        let (ledger, mut mine) = (&self.sim.ledger.commits, BTreeSet::new());
        loop {
            for transaction in commits.recover().await? {
                self.is_told(transaction.id(), None, transaction.outcome(None).await?);
                mine.insert(transaction.id().to_owned());
            }
            // What it knows itself is the sites' affair now.
            let is_clear = commits.history().await?.iter().all(|status| mine.contains(&status.id));
            if is_clear && (ledger.is_any_known() || ledger.begun() == 2) {
                break;
            }
            if is_clear {
                let sites = SITES.map(|host| site(host, 0));
                let id = ledger.fresh(&sites);
                let names = sites.each_ref().map(String::as_str);
                let transaction = commits.begin(&id, &names, b"chairs", self.world.to_vote).await?;
                self.is_told(&id, None, transaction.outcome(None).await?);
                mine.insert(id);
            } else {
                self.nap().await;
            }
        }
        ledger.done();
        while !self.is_over() {
            self.nap().await;
        }
        Ok(())
    }

    async fn take_part(&self, commits: &TwoPhaseCommit) -> Result<()> {
        let name = site(self.host, 0);
        while let Err(error) = commits.join(&name).await {
            // Of the process before, whose session has not ended yet.
            if error.kind() != ErrorKind::Exists {
                return Err(error);
            }
            self.nap().await;
        }
        for proposal in commits.pending().await? {
            self.answer(&name, &proposal).await?;
        }
        while !self.is_over() {
            match commits.next(Some(LOOKS)).await {
                Ok(proposal) => self.answer(&name, &proposal).await?,
                Err(error) if error.kind() == ErrorKind::Timeout => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn answer(&self, name: &str, proposal: &Proposal) -> Result<()> {
        let (ledger, id) = (&self.sim.ledger.commits, proposal.id());
        if !proposal.has_voted() {
            let refuses = self.world.refuses && self.host == SITES[1];
            let wants = if refuses { Decided::Abort } else { Decided::Commit };
            let voted = match ledger.votes(id, name, wants) {
                Decided::Commit => proposal.vote_commit().await,
                Decided::Abort => proposal.vote_abort("no room").await,
            };
            match voted {
                Ok(()) if refuses => {
                    ledger.has_refused(id).into_iter().for_each(|wrong| self.sim.ledger.accuse(wrong))
                }
                Ok(()) if is_taken(proposal).await => ledger.is_bound(id, name),
                Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        self.is_told(id, Some(name), proposal.outcome(None).await?);
        proposal.acknowledge().await
    }

    fn is_told(&self, id: &str, name: Option<&str>, outcome: Decided) {
        is_told(&self.sim, self.host, id, name, outcome);
    }
}
