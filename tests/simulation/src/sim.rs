//! The world: virtual time, hosts that can be paused, what is due when, and the step that moves it all on.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::Notify;
use zkrecipes::session::clock::Later;
use zkrecipes::session::random;

use crate::executor::Tasks;
use crate::ledger::Ledger;
use crate::net::{ConnId, Net};
use crate::plan::{Plan, Trouble, TroubleKind};
use crate::rng::Rng;
use crate::server::Waking;
use crate::solo::Solo;
use crate::subject::Subject;
use crate::trace::Trace;

pub type HostId = usize;
/// Nanoseconds since long before the world began, so that nothing subtracts below zero.
pub type Instant = u64;

pub const DAWN: Instant = 1_000_000_000_000;

pub fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

/// Leaves a line in the trace.
#[macro_export]
macro_rules! tell {
    ($sim:expr, $($arg:tt)*) => { $sim.tell(format_args!($($arg)*)) };
}

/// What a host's clock is to do when its time has come.
pub enum Timer {
    Wake(Waker),
    Alarm(Box<dyn FnOnce() + Send>),
}

/// A machine with one client on it.
#[derive(Default)]
pub struct Host {
    pub paused_until: Option<Instant>,
    /// Its workers do not run, but everything else does.
    pub is_stalled: bool,
    /// Its process has ended: what is left of it does nothing any more.
    pub is_dead: bool,
    /// How many of its processes have ended so, and how much the present one has asked for.
    pub crashes: usize,
    pub requests: u64,
    /// How much all of them together have, and how much of that met trouble.
    pub asked: u64,
    pub met: usize,
    /// The server that it tries first, if it was sent there.
    pub home: Option<usize>,
    /// Told when a call of it is to be withdrawn.
    pub withdrawal: Arc<Notify>,
    /// When it last came back from a pause or a stall, or its clock jumped.
    pub resumed: Instant,
    /// How far its clock has run ahead of the world's.
    pub skew: u64,
    /// By its own clock.
    timers: BTreeMap<(Instant, u64), Timer>,
}

impl Host {
    pub fn is_paused(&self) -> bool {
        self.paused_until.is_some()
    }
}

/// What runs on a host, and is started again after a crash.
pub trait Process: Send + Sync {
    fn launch(self: Arc<Self>);
}

/// What happens to the world from outside the hosts.
#[derive(Copy, Clone, Debug)]
pub enum Due {
    /// The first of what is under way to the server has arrived.
    Up(ConnId),
    /// The same towards the client.
    Down(ConnId),
    Resume(HostId),
    ServerResumes,
    LeaderResumes(Waking),
    ServerStarts,
    /// A follower keeps up again.
    Rejoin(usize),
    GoOn(HostId),
    /// Who waits behind the first is deleted by force, then the first.
    Ambush,
    /// The process of a host ends at once.
    Crash(HostId),
    /// It is started again.
    Restart(HostId),
    /// Everybody may create again what was refused.
    Allow,
    /// The next fault.
    Mischief,
    /// Nothing, but somebody waits for that moment.
    Look,
}

pub struct Sim {
    pub plan: Plan,
    now: AtomicU64,
    steps: AtomicU64,
    sequence: AtomicU64,
    /// The task that was polled last, or is being polled.
    current: AtomicU64,
    /// Taken apart: nothing new is accepted.
    over: AtomicBool,
    pub rng: Solo<Rng>,
    pub trace: Solo<Trace>,
    pub hosts: Solo<Vec<Host>>,
    agenda: Solo<BTreeMap<(Instant, u64), Due>>,
    tasks: Solo<Tasks>,
    candidates: Solo<Vec<u64>>,
    pub net: Solo<Net>,
    pub ledger: Ledger,
    pub processes: Solo<Vec<Arc<dyn Process>>>,
}

impl Sim {
    pub fn new(seed: u64, aloud: bool) -> Arc<Sim> {
        let mut rng = Rng::new(seed);
        let mut plan = Plan::draw(&mut rng);
        plan.subject = Subject::instead(seed).unwrap_or(plan.subject);
        plan.widen(seed);
        plan.widen_queue(seed);
        plan.narrow(seed);
        Sim::of(plan, rng, aloud)
    }

    /// Names that are like no other, and what else the core leaves to chance.
    pub fn chances(seed: u64) -> random::Drawing {
        let mut rng = Rng::new(seed.rotate_left(32));
        random::draw_from(move || u128::from(rng.next()) << 64 | u128::from(rng.next()))
    }

    pub fn of(plan: Plan, rng: Rng, aloud: bool) -> Arc<Sim> {
        Arc::new(Sim {
            now: AtomicU64::new(DAWN),
            steps: AtomicU64::new(0),
            sequence: AtomicU64::new(0),
            current: AtomicU64::new(u64::MAX),
            over: AtomicBool::new(false),
            rng: Solo::new(rng),
            trace: Solo::new(Trace::new(aloud)),
            hosts: Solo::new((0..plan.hosts).map(|_| Host::default()).collect()),
            agenda: Solo::default(),
            tasks: Solo::default(),
            candidates: Solo::default(),
            net: Solo::new(Net::new(&plan)),
            processes: Solo::default(),
            ledger: Ledger::new(&plan),
            plan,
        })
    }

    pub fn now(&self) -> Instant {
        self.now.load(Ordering::Relaxed)
    }

    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    pub fn current_task(&self) -> u64 {
        self.current.load(Ordering::Relaxed)
    }

    pub fn tell(&self, text: std::fmt::Arguments) {
        self.trace.lock().line(self.now() - DAWN, text);
    }

    pub fn chance<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.rng.lock())
    }

    /// What a host's clock shows; it counts suspension.
    pub fn host_now(&self, host: HostId) -> Instant {
        self.now() + self.hosts.lock()[host].skew
    }

    // ---- what is to come

    pub fn at(&self, when: Instant, due: Due) {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        self.agenda.lock().insert((when.max(self.now()), sequence), due);
    }

    pub fn set_timer(&self, host: HostId, when: Instant, timer: Timer) -> (Instant, u64) {
        let key = (when, self.sequence.fetch_add(1, Ordering::Relaxed));
        let state = &mut self.hosts.lock()[host];
        if !self.over.load(Ordering::Relaxed) && !state.is_dead {
            state.timers.insert(key, timer);
        }
        key
    }

    pub fn clear_timer(&self, host: HostId, key: (Instant, u64)) {
        let timer = self.hosts.lock()[host].timers.remove(&key);
        drop(timer);
    }

    pub fn spawn(&self, host: HostId, task: Later<()>) {
        if self.may_spawn(host) {
            self.tasks.lock().spawn(host, false, task);
        }
    }

    /// A task that may stand still while the rest of its host goes on.
    pub fn spawn_worker(&self, host: HostId, task: Later<()>) {
        if self.may_spawn(host) {
            self.tasks.lock().spawn(host, true, task);
        }
    }

    fn may_spawn(&self, host: HostId) -> bool {
        !self.over.load(Ordering::Relaxed) && !self.hosts.lock()[host].is_dead
    }

    /// Nothing of a host's process runs any more, and nobody is told. It is started again later.
    fn crash(self: &Arc<Self>, host: HostId) {
        if self.ledger.is_calm() || std::mem::replace(&mut self.hosts.lock()[host].is_dead, true) {
            return;
        }
        tell!(self, "h{host} crashes");
        self.ledger.crashed(host);
        self.net.lock().abandon(self, host);
        let tasks = self.tasks.lock().of_host(host);
        let timers = std::mem::take(&mut self.hosts.lock()[host].timers);
        self.guarded("what was left of a process", || drop((tasks, timers)));
        {
            let state = &mut self.hosts.lock()[host];
            state.is_stalled = false;
            (state.crashes, state.requests) = (state.crashes + 1, 0);
        }
        let by_chance = || self.chance(|rng| rng.duration(Duration::ZERO..=self.plan.session_timeout * 2));
        let away = self.plan.away.unwrap_or_else(by_chance);
        self.at(self.now() + nanos(away), Due::Restart(host));
    }

    /// A process has asked for something; whether that is the end of it, and the request is carried out before.
    pub fn ends_at_request(&self, host: HostId) -> Option<bool> {
        let state = &mut self.hosts.lock()[host];
        state.requests += 1;
        let crash = self.plan.crashes.iter().filter(|crash| crash.host == host).nth(state.crashes)?;
        (crash.at == state.requests).then_some(crash.is_applied)
    }

    /// The same; what is to happen to the request.
    pub fn trouble_at_request(&self, host: HostId) -> Option<TroubleKind> {
        let state = &mut self.hosts.lock()[host];
        state.asked += 1;
        let is_it = |trouble: &&Trouble| trouble.host == host && trouble.at == state.asked;
        let kind = self.plan.troubles.iter().find(is_it)?.kind;
        state.met += 1;
        Some(kind)
    }

    fn restart(self: &Arc<Self>, host: HostId) {
        self.hosts.lock()[host].is_dead = false;
        let process = self.processes.lock()[host].clone();
        process.launch();
    }

    /// Whatever held a host's workers up is over.
    pub fn go_on(&self, host: HostId) {
        let state = &mut self.hosts.lock()[host];
        if std::mem::take(&mut state.is_stalled) {
            state.resumed = self.now();
        }
    }

    pub fn tasks(&self) -> usize {
        self.tasks.lock().count()
    }

    // ---- moving on

    /// Does one thing. False when nothing is left to happen.
    pub fn step(self: &Arc<Self>) -> bool {
        self.steps.fetch_add(1, Ordering::Relaxed);
        let moved = match self.next_due() {
            Some((when, next)) if when <= self.now() => {
                self.carry_out(next);
                true
            }
            due => self.poll_someone() || due.is_some_and(|(when, _)| self.wait_until(when)),
        };
        self.ledger.check(self);
        moved
    }

    fn wait_until(&self, when: Instant) -> bool {
        self.now.store(when, Ordering::Relaxed);
        true
    }

    fn next_due(&self) -> Option<(Instant, Next)> {
        let world = self.agenda.lock().first_key_value().map(|(key, _)| (key.0, Next::Agenda));
        let server = self.net.lock().next_tick().map(|when| (when, Next::Tick));
        let hosts = self.hosts.lock();
        let timers =
            hosts.iter().enumerate().filter(|(_, host)| !host.is_paused()).filter_map(|(id, host)| {
                let ((when, _), _) = host.timers.first_key_value()?;
                Some((when.saturating_sub(host.skew), Next::Timer(id)))
            });
        timers.chain(world).chain(server).min_by_key(|(when, next)| (*when, *next))
    }

    fn carry_out(self: &Arc<Self>, next: Next) {
        match next {
            Next::Agenda => {
                let due = self.agenda.lock().pop_first();
                if let Some((_, due)) = due {
                    self.happen(due);
                }
            }
            Next::Tick => Net::tick(self),
            Next::Timer(host) => {
                let timer = self.hosts.lock()[host].timers.pop_first();
                match timer {
                    Some((_, Timer::Wake(waker))) => waker.wake(),
                    Some((_, Timer::Alarm(alarm))) => self.guarded("an alarm", alarm),
                    None => {}
                }
            }
        }
    }

    fn happen(self: &Arc<Self>, due: Due) {
        match due {
            Due::Up(conn) => Net::arrive_at_server(self, conn),
            Due::Down(conn) => Net::arrive_at_client(self, conn),
            Due::Resume(host) => {
                let now = self.now();
                let mut hosts = self.hosts.lock();
                let host_state = &mut hosts[host];
                if host_state.paused_until.is_some_and(|until| until <= now) {
                    host_state.paused_until = None;
                    host_state.resumed = now;
                    drop(hosts);
                    tell!(self, "h{host} goes on");
                }
            }
            Due::ServerResumes => Net::resume_server(self),
            Due::LeaderResumes(waking) => Net::wake_leader(self, waking),
            Due::ServerStarts => Net::start_server(self),
            Due::Rejoin(member) => crate::mischief::rejoin(self, member),
            Due::GoOn(host) => self.go_on(host),
            Due::Crash(host) => self.crash(host),
            Due::Restart(host) => self.restart(host),
            Due::Ambush => crate::mischief::ambush(self),
            Due::Allow => self.net.lock().allow(self),
            Due::Mischief => crate::mischief::strike(self),
            Due::Look => {}
        }
    }

    fn poll_someone(self: &Arc<Self>) -> bool {
        let mut candidates = self.candidates.lock();
        {
            let hosts = self.hosts.lock();
            let may_run = |host: HostId, may_stall: bool| {
                !(hosts[host].is_paused() || may_stall && hosts[host].is_stalled)
            };
            self.tasks.lock().ready(may_run, &mut candidates);
        }
        if candidates.is_empty() {
            return false;
        }
        let (id, cost) = self.chance(|rng| (*rng.pick(&candidates), rng.below(20_000)));
        drop(candidates);
        self.trace.lock().note(id);
        self.current.store(id, Ordering::Relaxed);
        let taken = self.tasks.lock().take(id);
        if let Some(mut taken) = taken {
            match catch_unwind(AssertUnwindSafe(|| taken.poll())) {
                Ok(true) => drop(taken),
                Ok(false) => self.tasks.lock().put_back(taken),
                Err(panic) => self.ledger.accuse(format!("a task panicked: {}", panic_text(&*panic))),
            }
        }
        // Work takes time, so that messages arrive while it is done.
        self.now.fetch_add(cost, Ordering::Relaxed);
        true
    }

    fn guarded(&self, what: &str, body: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
            self.ledger.accuse(format!("{what} panicked: {}", panic_text(&*panic)));
        }
    }

    /// Drops everything that is left, and what that leaves in turn.
    pub fn take_apart(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.agenda.lock().clear();
        self.processes.lock().clear();
        loop {
            let timers: Vec<_> =
                self.hosts.lock().iter_mut().map(|host| std::mem::take(&mut host.timers)).collect();
            let tasks = self.tasks.lock().clear();
            let is_done = tasks.is_empty() && timers.iter().all(BTreeMap::is_empty);
            drop((timers, tasks));
            if is_done {
                return;
            }
        }
    }
}

/// In the order in which things of the same instant happen.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Timer(HostId),
    Agenda,
    Tick,
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
