//! Several clients with several workers each, all after the same: they wait, give up, are cancelled, hold, write under
//! the guard, ask each other to let go, and let go in every way there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use zkrecipes::session::clock::{Clock, Moment};
use zkrecipes::{Client, ClientOptions, Counter, Error, ErrorKind, Held, Result, State, drive};

use crate::clock::HostClock;
use crate::counting::Fate;
use crate::sim::{HostId, Process, Sim, nanos};
use crate::standing::Kind;
use crate::subject::{Ask, Handle, Subject};
use crate::tell;
use crate::views::Scope;
use crate::wire::HostDial;

/// What a release has to wait for beyond the deadline, and the usual delays of a busy machine.
const OVERTIME: Duration = Duration::from_millis(400);

/// One client with its workers.
pub struct Party {
    pub(crate) sim: Arc<Sim>,
    pub(crate) host: HostId,
    clock: HostClock,
    is_over: AtomicBool,
    working: AtomicUsize,
    may_close: AtomicBool,
    is_closed: AtomicBool,
}

impl Process for Party {
    fn launch(self: Arc<Self>) {
        self.working.store(self.sim.plan.workers, Ordering::Relaxed);
        self.sim.spawn(self.host, Box::pin(self.clone().run()));
    }
}

impl Party {
    pub fn start(sim: &Arc<Sim>, host: HostId) -> Arc<Party> {
        let party = Party::idle(sim, host);
        party.clone().launch();
        party
    }

    /// One that is told what to do.
    pub(crate) fn idle(sim: &Arc<Sim>, host: HostId) -> Arc<Party> {
        Arc::new(Party {
            sim: sim.clone(),
            host,
            clock: HostClock { sim: sim.clone(), host },
            is_over: AtomicBool::new(false),
            working: AtomicUsize::new(sim.plan.workers),
            may_close: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Workers end when they have finished what they are at.
    pub fn wind_up(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub fn working(&self) -> usize {
        self.working.load(Ordering::Relaxed)
    }

    pub fn close(&self) {
        self.may_close.store(true, Ordering::Relaxed);
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    async fn run(self: Arc<Self>) {
        let client = self.connect().await;
        // Callbacks run as tasks of the host, at some time of their own like on any other thread.
        let sink = HostClock { sim: self.sim.clone(), host: self.host };
        client.deliver_through(move |_, job| sink.spawn(Box::pin(async move { job() })));
        let subject = self.sim.plan.subject;
        let fresh = || self.sim.chance(|rng| subject.handle(&client, rng));
        let shared = fresh();
        for worker in 0..self.sim.plan.workers {
            // Some have a handle each, some share one.
            let is_shared = worker >= 2 && subject.may_share();
            let handle = match &shared {
                Ok(handle) if is_shared => Ok(handle.clone()),
                _ => fresh(),
            };
            match handle {
                Ok(handle) => {
                    let work = self.clone().work(client.clone(), handle, worker, is_shared);
                    self.sim.spawn_worker(self.host, Box::pin(work));
                }
                Err(error) => self.accuse(format!("no handle: {error}")),
            }
        }
        match &shared {
            Ok(Handle::Election(election)) => {
                let observing = self.clone().observe(election.clone());
                self.sim.spawn(self.host, Box::pin(observing));
            }
            Ok(Handle::Group(group)) => {
                self.begin_following(Scope::Members);
                let following = self.clone().follow_members(group.clone());
                self.sim.spawn(self.host, Box::pin(following));
            }
            Ok(Handle::TwoPhaseCommit) => {
                self.working.fetch_add(1, Ordering::Relaxed);
                let coordinating = self.clone().coordinate(client.clone());
                self.sim.spawn_worker(self.host, Box::pin(coordinating));
            }
            Ok(Handle::Tree) => {
                for scope in [Scope::Data, Scope::Children, Scope::Subtree] {
                    self.begin_following(scope);
                    let following = self.clone().follow_the_tree(client.clone(), scope);
                    self.sim.spawn(self.host, Box::pin(following));
                }
            }
            _ => {}
        }
        while !self.may_close.load(Ordering::Relaxed) {
            self.nap(Duration::from_millis(50)).await;
        }
        if let Ok(Handle::Counter(counter)) = &shared {
            let sum = loop {
                match counter.get().await {
                    // As long as nothing comes through.
                    Err(error) if error.kind() == ErrorKind::ConnectionLost => {}
                    sum => break sum,
                }
            };
            match sum {
                Ok(value) => {
                    self.sim.ledger.sums.final_value(value).into_iter().for_each(|wrong| self.accuse(wrong))
                }
                Err(error) => self.accuse(format!("nobody can say the sum: {error}")),
            }
        }
        drop(shared);
        if let Err(error) = client.close(Some(Duration::from_secs(20))).await {
            self.accuse(format!("not closed: {error}"));
        }
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Whoever follows is to finish, too.
    fn begin_following(&self, scope: Scope) {
        self.working.fetch_add(1, Ordering::Relaxed);
        self.sim.ledger.views.follow(self.host, scope);
    }

    pub(crate) fn finished(&self) {
        self.working.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) async fn connect(&self) -> Client {
        loop {
            let plan = &self.sim.plan;
            let mut options = ClientOptions::default()
                .session_timeout(plan.session_timeout)
                .identity(format!("h{}", self.host))
                .naming(plan.naming_of(self.host));
            options.retry.give_up_after = plan.gives_up.or(options.retry.give_up_after);
            options.max_in_flight = plan.max_in_flight.unwrap_or(options.max_in_flight);
            let dial = HostDial { sim: self.sim.clone(), host: self.host };
            let clock = Arc::new(HostClock { sim: self.sim.clone(), host: self.host });
            match Client::connect_over(Box::new(dial), clock, "simulated:2181", options).await {
                Ok(client) => return client,
                Err(error) if error.kind() == ErrorKind::ConnectionLost => {}
                Err(error) => self.accuse(format!("not connected: {error}")),
            }
            self.nap(Duration::from_millis(100)).await;
        }
    }

    pub(crate) fn accuse(&self, what: String) {
        self.sim.ledger.accuse(format!("h{}: {what}", self.host));
    }

    pub(crate) async fn nap(&self, duration: Duration) {
        self.clock.sleep_until(self.clock.now() + duration).await;
    }

    pub(crate) fn up_to(&self, longest: Duration) -> Duration {
        self.sim.chance(|rng| rng.duration(Duration::ZERO..=longest))
    }

    // ---- a worker

    async fn work(self: Arc<Self>, client: Client, handle: Handle, nth: usize, is_shared: bool) {
        match &handle {
            Handle::Queue(queue) => self.work_on_items(queue).await,
            Handle::DoubleBarrier => self.meet(&client, nth).await,
            Handle::TwoPhaseCommit => self.be_a_site(&client, nth).await,
            Handle::Group(group) => self.be_a_member(group).await,
            Handle::Tree => self.write_the_tree(&client).await,
            handle => self.take_turns(&client, handle, is_shared).await,
        }
        self.finished();
    }

    async fn take_turns(&self, client: &Client, handle: &Handle, is_shared: bool) {
        while !self.is_over() {
            self.nap(self.up_to(self.sim.plan.think)).await;
            if let Handle::Counter(counter) = handle {
                self.count(counter).await;
                continue;
            }
            let (how, asks, ask) =
                self.sim.chance(|rng| (rng.below(10), rng.one_in(self.sim.plan.requests), handle.ask(rng)));
            if asks {
                self.request(&ask, is_shared).await;
                continue;
            }
            // Who shares a handle is also cancelled with the others, and without a session there is no order yet.
            let is_patient = how <= 3 && !is_shared && client.state() == State::Connected;
            let ticket = self.sim.ledger.queue(self.host, ask.in_order(), is_patient);
            let acquired = self.acquire(&ask, how, is_shared).await;
            match (acquired, handle, ask.in_order()) {
                (Some(held), Handle::ReadWrite(_), Some(Kind::Write)) => {
                    self.write(client, ticket, Arc::new(held)).await
                }
                (Some(held), ..) => self.hold(client, ticket, Arc::new(held)).await,
                (None, ..) => self.sim.ledger.leave_queue(ticket),
            }
        }
    }

    /// One change, which may be given up half way.
    async fn count(&self, counter: &Counter) {
        let (sim, sums) = (&self.sim, &self.sim.ledger.sums);
        let (how, patience) = (sim.chance(|rng| rng.below(8)), self.up_to(sim.plan.hold));
        let known = if how == 1 { counter.get().await.ok() } else { None };
        sums.begun();
        sim.ledger.count(|tally| tally.changes += 1);
        let changed = match known {
            Some(value) => {
                counter.compare_and_set(value, value + 1).await.map(|made| made.then_some(value + 1))
            }
            None if how == 0 => {
                let adding = counter.add(1);
                tokio::select! {
                    biased;
                    changed = adding => changed.map(Some),
                    () = self.nap(patience) => Err(Error::new(ErrorKind::ConnectionLost, "given up")),
                }
            }
            None => counter.add(1).await.map(Some),
        };
        let fate = match changed {
            Ok(Some(value)) => Fate::Made(value),
            Ok(None) => Fate::NotMade,
            Err(error) if self.is_refusal(&error) => Fate::NotMade,
            Err(error) if error.message().contains("was not changed") => Fate::NotMade,
            Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                tell!(sim, "h{}: {error}", self.host);
                Fate::Open
            }
            Err(error) => return self.accuse(format!("{} from counting: {error}", error.kind().name())),
        };
        sums.ended(fate).into_iter().for_each(|wrong| self.accuse(wrong));
    }

    /// Asks whoever holds to let go, and makes them.
    async fn request(&self, ask: &Ask, is_shared: bool) {
        let patience = self.sim.plan.session_timeout / 2;
        let force_after = match self.sim.chance(|rng| rng.below(4)) {
            0 => None,
            1 => Some(Duration::ZERO),
            _ => Some(self.up_to(patience)),
        };
        tell!(self.sim, "h{} asks who holds, force after {force_after:?}", self.host);
        self.sim.ledger.count(|tally| tally.requests += 1);
        // Others who share the handle may cancel what waits on it.
        let allowed: &[_] = if is_shared { &[ErrorKind::Cancelled] } else { &[] };
        self.expect("revoke", ask.revoke(None, force_after).await.map(drop), allowed);
    }

    async fn acquire(&self, ask: &Ask, how: u64, is_shared: bool) -> Option<Held> {
        // A cancel that came before says nothing of this call.
        let may_be_cancelled = is_shared || how > 8;
        let limit = self.up_to(self.sim.plan.session_timeout * 2);
        let since = self.clock.now();
        match how {
            0..=3 => self.judge(ask.acquire_within(None).await, None, since, may_be_cancelled),
            4 | 5 => self.judge(ask.acquire_within(Some(limit)).await, Some(limit), since, may_be_cancelled),
            6 => match ask.try_acquire().await {
                Ok(held) => held,
                Err(error) => self.judge(Err(error), None, since, may_be_cancelled),
            },
            7 | 8 => {
                // Given up by dropping the future.
                let acquiring = ask.acquire_within(None);
                tokio::select! {
                    biased;
                    result = acquiring => self.judge(result, None, since, may_be_cancelled),
                    () = self.nap(limit) => {
                        self.sim.ledger.count(|tally| tally.cancellations += 1);
                        None
                    }
                }
            }
            _ => {
                // Cancelled through the handle, which ends whatever waits on it.
                let acquiring = ask.acquire_within(None);
                let mut acquiring = std::pin::pin!(acquiring);
                tokio::select! {
                    biased;
                    result = &mut acquiring => self.judge(result, None, since, may_be_cancelled),
                    () = self.nap(limit) => {
                        ask.cancel();
                        self.judge(acquiring.await, None, since, may_be_cancelled)
                    }
                }
            }
        }
    }

    /// Whether a result is one that the caller can have asked for.
    fn judge(
        &self,
        result: Result<Held>,
        limit: Option<Duration>,
        since: Moment,
        may_be_cancelled: bool,
    ) -> Option<Held> {
        let error = match result {
            Ok(held) => return Some(held),
            Err(error) => error,
        };
        let (took, ledger) = (self.clock.now().since(since), &self.sim.ledger);
        tell!(self.sim, "h{} gave up after {took:?}: {}", self.host, error.kind().name());
        match (error.kind(), limit) {
            (ErrorKind::Timeout, Some(limit)) => {
                ledger.count(|tally| tally.timeouts += 1);
                let resumed = self.sim.hosts.lock()[self.host].resumed;
                let was_paused = self.sim.now() < resumed + nanos(limit + OVERTIME);
                if took < limit || (took > limit + OVERTIME && !was_paused) {
                    self.accuse(format!("a limit of {limit:?} ran out after {took:?}"));
                }
            }
            (ErrorKind::Cancelled, _) if may_be_cancelled => ledger.count(|tally| tally.cancellations += 1),
            (ErrorKind::ConnectionLost, _) => {}
            _ if self.is_refusal(&error) => {}
            (kind, limit) => {
                self.accuse(format!("{} from an acquire within {limit:?}: {error}", kind.name()))
            }
        }
        None
    }

    async fn hold(&self, client: &Client, ticket: u64, held: Arc<Held>) {
        let id = self.begin(ticket, &held);
        self.stay(client, id, &held).await;
        self.let_go(id, held).await;
    }

    /// Holds write, and sometimes goes on as a reader.
    async fn write(&self, client: &Client, ticket: u64, writing: Arc<Held>) {
        let id = self.begin(ticket, &writing);
        self.stay(client, id, &writing).await;
        if writing.is_held()
            && self.sim.chance(|rng| rng.one_in(2))
            && let Some((id, reading)) = self.downgrade(id, &writing).await
        {
            self.stay(client, id, &reading).await;
            self.let_go(id, reading).await;
            return;
        }
        self.let_go(id, writing).await;
    }

    async fn downgrade(&self, id: u64, writing: &Held) -> Option<(u64, Arc<Held>)> {
        let ledger = &self.sim.ledger;
        let ticket = ledger.queue(self.host, None, false);
        // From the call on it may be over.
        ledger.released(id, false);
        match writing.downgrade().await {
            Ok(reading) => {
                if reading.fencing_token() != writing.fencing_token() {
                    self.accuse("a downgrade changed the token".to_owned());
                }
                ledger.count(|tally| tally.downgrades += 1);
                let reading = Arc::new(reading);
                Some((self.begin(ticket, &reading), reading))
            }
            Err(error) => {
                ledger.leave_queue(ticket);
                // Write was lost, or has no number that a reader could share.
                let has_no_number =
                    error.kind() == ErrorKind::Invalid && self.sim.plan.numbers_left.is_some();
                if !has_no_number {
                    self.expect("downgrade", Err(error), &[ErrorKind::NotHeld]);
                }
                None
            }
        }
    }

    pub(crate) fn begin(&self, ticket: u64, held: &Arc<Held>) -> u64 {
        let id = self.sim.ledger.granted(&self.sim, self.host, ticket, held);
        held.on_lost({
            let sim = self.sim.clone();
            move |error| sim.ledger.heard_of_loss(&sim, id, error.reason())
        });
        id
    }

    /// Until it has had enough of it, is asked to let go, or has lost it.
    async fn stay(&self, client: &Client, id: u64, held: &Arc<Held>) {
        let (sim, ledger) = (&self.sim, &self.sim.ledger);
        let is_asked = Arc::new(AtomicBool::new(false));
        if sim.chance(|rng| rng.one_in(2)) {
            let (sim, is_asked) = (sim.clone(), is_asked.clone());
            held.on_revoke(move || {
                sim.ledger.heard_of_request(&sim, id);
                is_asked.store(true, Ordering::Relaxed);
            });
        }
        let until = self.clock.now() + self.up_to(sim.plan.hold);
        while self.clock.now() < until && !is_asked.load(Ordering::Relaxed) {
            self.nap(self.up_to(sim.plan.hold / 4)).await;
            let says = held.is_held();
            ledger.asked(id, says);
            if !says {
                break;
            }
            match sim.chance(|rng| rng.below(12)) {
                0 => self.expect("verify", held.verify().await, &[ErrorKind::NotHeld]),
                1 => self.write_guarded(held).await,
                2 => self.expect("exists", client.nodes().exists("/locks").await.map(drop), &[]),
                3 if matches!(sim.plan.subject, Subject::Election { .. }) => {
                    let leadership = drive::leadership(Held::clone(held));
                    self.expect(
                        "acknowledge",
                        leadership.acknowledge(b"at work").await,
                        &[ErrorKind::NotHeld],
                    );
                }
                _ => {}
            }
        }
    }

    pub(crate) async fn write_guarded(&self, held: &Held) {
        let transaction = held.guarded();
        let written = match transaction.delete("/nowhere", None) {
            Ok(()) => transaction.commit().await,
            Err(error) => Err(error),
        };
        // Refused because there is nothing to delete, or because the guard is gone: never carried out.
        match written {
            Ok(_) => self.accuse("a transaction that cannot succeed did".to_owned()),
            Err(error) => self.expect("guarded", Err(error), &[ErrorKind::NotHeld, ErrorKind::NoNode]),
        }
    }

    async fn let_go(&self, id: u64, held: Arc<Held>) {
        let ledger = &self.sim.ledger;
        tell!(self.sim, "h{} lets go", self.host);
        // From the call on, before anybody else runs.
        match self.sim.chance(|rng| rng.below(8)) {
            0 => {
                let released = held.release_in_background();
                ledger.released(id, released.is_ok());
                self.expect("release", released, &[ErrorKind::NotHeld]);
            }
            1 => {
                ledger.released(id, false);
                drop(held);
            }
            2 => {
                // The confirmation is not waited for.
                let releasing = held.release();
                ledger.released(id, false);
                drop(releasing);
            }
            3 => {
                let leaving = held.leave(false);
                ledger.released(id, false);
                self.expect("leave", leaving.await, &[ErrorKind::Lost]);
            }
            _ => {
                let releasing = held.release();
                ledger.released(id, false);
                let released = releasing.await;
                if released.is_ok() {
                    ledger.released(id, true);
                }
                self.expect("release", released, &[ErrorKind::NotHeld]);
            }
        }
    }

    /// Nothing was done, since somebody has taken the right to.
    pub(crate) fn is_refusal(&self, error: &Error) -> bool {
        self.sim.plan.is_refused && error.kind() == ErrorKind::Denied
    }

    pub(crate) fn expect(&self, what: &str, result: Result<()>, allowed: &[ErrorKind]) {
        if let Err(error) = result
            && error.kind() != ErrorKind::ConnectionLost
            && !self.is_refusal(&error)
            && !allowed.contains(&error.kind())
        {
            self.accuse(format!("{} from {what}: {}", error.kind().name(), sentence(&error)));
        }
    }
}

fn sentence(error: &Error) -> String {
    error.message()
}
