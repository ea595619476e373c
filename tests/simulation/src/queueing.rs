//! Producers and consumers: they put, one or several, wait for room, take, work on items, acknowledge them, give them
//! back in every way there is, and put dead letters back. In the end they leave nothing.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use zkrecipes::{
    Backlog, Client, CreateMode, DelayQueue, Error, ErrorKind, Item, PriorityQueue, Queue, QueueOptions,
    Result, drive,
};

use crate::clock::wall;
use crate::items::{self, Items};
use crate::rng::Rng;
use crate::scenario::Party;
use crate::subject::PATH;
use crate::tell;

/// Between two looks whether something is left.
const LOOKS: Duration = Duration::from_millis(50);

/// How a queue is kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct QueueKind {
    shards: usize,
    order: Order,
    max_items: Option<usize>,
    pub attempts: Option<u32>,
    /// Items are only worked on, never taken before that.
    is_careful: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Order {
    Arrival,
    Rank,
    Due,
}

impl QueueKind {
    /// A queue as most are.
    pub const USUAL: QueueKind =
        QueueKind { shards: 1, order: Order::Arrival, max_items: None, attempts: None, is_careful: false };

    pub fn draw(rng: &mut Rng) -> QueueKind {
        let order = *rng.pick(&[Order::Arrival, Order::Arrival, Order::Rank, Order::Due]);
        let shards = if order == Order::Arrival { *rng.pick(&[1, 1, 3]) } else { 1 };
        let max_items = (shards == 1 && rng.one_in(3)).then(|| rng.number(1..=6) as usize);
        let attempts = rng.one_in(2).then(|| rng.number(1..=3) as u32);
        QueueKind { shards, order, max_items, attempts, is_careful: rng.one_in(3) }
    }

    pub fn handle(self, client: &Client) -> Result<AnyQueue> {
        let mut options = QueueOptions::default().shards(self.shards);
        options.max_items = self.max_items;
        // Zero for no end.
        options.max_attempts = self.attempts.unwrap_or(0);
        Ok(match self.order {
            Order::Arrival => AnyQueue::Plain(client.queue(PATH, options)?, self),
            Order::Rank => AnyQueue::Ranked(client.priority_queue(PATH, options)?, self),
            Order::Due => AnyQueue::Delayed(client.delay_queue(PATH, options)?, self),
        })
    }

    pub fn parents_of_items(self) -> Vec<String> {
        match self.shards {
            1 => vec![PATH.to_owned()],
            shards => (0..shards).map(|shard| format!("{PATH}/{shard}")).collect(),
        }
    }

    /// What may be left when there is no item: parents of items, of claims, of marks, and what counts the puts.
    pub fn lasting(self) -> Vec<String> {
        let shards = (0..self.shards).map(|shard| format!("{PATH}/{shard}"));
        let dead = if self.shards == 1 { format!("{PATH}-__dead__") } else { format!("{PATH}/__dead__") };
        let queues = [PATH.to_owned(), dead].into_iter().chain(shards);
        let beside = ["", "-__queue__", "-__queue__/claims", "-__queue__/marks", "-__queue__/waiting"];
        let beside = beside.into_iter().chain(["-__queue__/puts"]);
        queues.flat_map(|queue| beside.clone().map(move |end| format!("{queue}{end}"))).collect()
    }
}

#[derive(Clone)]
pub enum AnyQueue {
    Plain(Queue, QueueKind),
    Ranked(PriorityQueue, QueueKind),
    Delayed(DelayQueue, QueueKind),
}

impl Deref for AnyQueue {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        match self {
            AnyQueue::Plain(queue, _) => queue,
            AnyQueue::Ranked(queue, _) => queue,
            AnyQueue::Delayed(queue, _) => queue,
        }
    }
}

impl AnyQueue {
    fn kind(&self) -> QueueKind {
        match self {
            AnyQueue::Plain(_, kind) | AnyQueue::Ranked(_, kind) | AnyQueue::Delayed(_, kind) => *kind,
        }
    }

    pub(crate) async fn put<T: AsRef<[u8]>>(
        &self,
        items: &[T],
        rank: i32,
        limit: Option<Duration>,
    ) -> Result<()> {
        match (self, items, limit) {
            (AnyQueue::Plain(queue, _), [one], None) => queue.put(one.as_ref()).await,
            (AnyQueue::Plain(queue, _), [one], Some(limit)) => queue.put_timeout(one.as_ref(), limit).await,
            (AnyQueue::Plain(queue, _), all, None) => queue.put_many(all).await,
            (AnyQueue::Plain(queue, _), all, Some(limit)) => queue.put_many_timeout(all, limit).await,
            (AnyQueue::Ranked(queue, _), all, None) => queue.put(all[0].as_ref(), rank).await,
            (AnyQueue::Ranked(queue, _), all, Some(limit)) => {
                queue.put_timeout(all[0].as_ref(), rank, limit).await
            }
            (AnyQueue::Delayed(queue, _), all, None) => queue.put(all[0].as_ref(), delay(rank)).await,
            (AnyQueue::Delayed(queue, _), all, Some(limit)) => {
                queue.put_timeout(all[0].as_ref(), delay(rank), limit).await
            }
        }
    }
}

impl Party {
    pub(crate) async fn work_on_items(&self, queue: &AnyQueue) {
        while !self.is_over() {
            self.nap(self.up_to(self.sim.plan.think)).await;
            match self.sim.chance(|rng| rng.below(12)) {
                0..=4 if !self.sim.ledger.items.are_many() => self.put_some(queue).await,
                5 | 6 if !queue.kind().is_careful => self.get_one(queue).await,
                7 if self.sim.chance(|rng| rng.one_in(4)) => {
                    self.expect("replay", queue.replay().await.map(drop), &[]);
                }
                _ => self.work_on_one(queue).await,
            }
        }
        self.sim.ledger.items.stopped();
        self.leave_nothing(queue).await;
    }

    async fn put_some(&self, queue: &AnyQueue) {
        let (sim, items, kind) = (&self.sim, &self.sim.ledger.items, queue.kind());
        let many = if kind.order != Order::Arrival { 1 } else { sim.chance(|rng| rng.number(1..=3)) };
        let names: Vec<_> = (0..many).map(|_| items.fresh()).collect();
        let (how, rank) = sim.chance(|rng| (rng.below(6), rng.below(4) as i32));
        let limit = self.up_to(sim.plan.session_timeout * 2);
        let is_bulky = many > 1 && sim.plan.is_bulky && sim.chance(|rng| rng.one_in(4));
        let bytes = |name: &String| if is_bulky { Items::bulk(name) } else { name.clone().into_bytes() };
        let data: Vec<_> = names.iter().map(bytes).collect();
        // Where everybody waits for room nobody makes any.
        let within = (how == 1 || kind.max_items.is_some()).then_some(limit);
        if kind.order == Order::Due {
            items.is_due(&names[0], wall(sim) + delay(rank).as_millis() as i64);
        }
        let putting = queue.put(&data, rank, within);
        let put = tokio::select! {
            biased;
            put = putting => put,
            () = self.nap(self.up_to(sim.plan.hold)), if how == 0 => return,
        };
        let went_in = match &put {
            Ok(()) => names.len(),
            Err(error) => error.put().unwrap_or(0),
        };
        items.went_in(&names[..went_in]);
        if put.as_ref().is_err_and(|error| error.kind() == ErrorKind::Timeout || self.is_refusal(error)) {
            let wrong = items.refused(&names[went_in..]);
            wrong.into_iter().for_each(|wrong| self.accuse(wrong));
        }
        self.expect("put", put, &[ErrorKind::Timeout]);
    }

    async fn get_one(&self, queue: &AnyQueue) {
        let how = self.sim.chance(|rng| rng.below(6));
        let limit = self.up_to(self.sim.plan.session_timeout);
        let limit = if how == 0 { Duration::ZERO } else { limit };
        self.sim.ledger.items.begins_to_get(self.host);
        let getting = drive::get(queue, if how < 4 { Some(limit) } else { None });
        let got = tokio::select! {
            biased;
            got = getting => got.map(drive::Got::hand_over),
            // Withdrawn: what was on its way goes back.
            () = self.nap(limit), if how >= 4 => return,
        };
        self.has_got(got);
    }

    fn has_got(&self, got: Result<Vec<u8>>) {
        match got {
            Ok(data) => {
                tell!(self.sim, "h{} gets {}", self.host, items::name_of(&data));
                self.sim.ledger.count(|tally| tally.items += 1);
                let wrong = self.sim.ledger.items.got(self.host, &data, wall(&self.sim));
                wrong.into_iter().for_each(|wrong| self.accuse(wrong));
            }
            Err(error) => self.expect("get", Err(error), &[ErrorKind::Timeout]),
        }
    }

    async fn work_on_one(&self, queue: &AnyQueue) {
        let how = self.sim.chance(|rng| rng.below(6));
        let limit = self.up_to(self.sim.plan.session_timeout);
        let limit = if how == 0 { Duration::ZERO } else { limit };
        let claiming = drive::claim(queue, if how < 4 { Some(limit) } else { None });
        let claimed = tokio::select! {
            biased;
            claimed = claiming => claimed,
            () = self.nap(limit), if how >= 4 => return,
        };
        match claimed {
            Ok(item) => self.work_on(Arc::new(item), true).await,
            Err(error) => self.expect("claim", Err(error), &[ErrorKind::Timeout]),
        }
    }

    /// Stays at it for a while, and settles it.
    async fn work_on(&self, item: Arc<Item>, is_idle: bool) {
        let (sim, items) = (&self.sim, &self.sim.ledger.items);
        tell!(sim, "h{} claims {} {item:?}", self.host, items::name_of(item.data()));
        let wrong = items.claimed(self.host, &item, Arc::downgrade(&item), wall(sim));
        wrong.into_iter().for_each(|wrong| self.accuse(wrong));
        if (sim.plan.thefts > 0 || sim.plan.doubts > 0) && sim.chance(|rng| rng.one_in(2)) {
            let (told, hears) = (sim.clone(), items.listens(&item));
            item.on_lost(move |_| {
                hears.store(true, Ordering::Relaxed);
                told.ledger.count(|tally| tally.losses += 1);
            });
        }
        if is_idle {
            self.nap(self.up_to(sim.plan.hold)).await;
        }
        let data = item.data().to_vec();
        items.settles(self.host, &data);
        let unsettled = self.settle(item, is_idle).await;
        items.has_settled(self.host, &data);
        // Who does not know whether it is done has it in hand for a while.
        if unsettled.is_some() && is_idle {
            let longest = sim.plan.session_timeout * if sim.plan.doubts > 0 { 4 } else { 2 };
            self.nap(self.up_to(longest)).await;
        }
    }

    /// What was lost was lost to somebody.
    fn expect_of(&self, item: &Item, what: &str, result: Result<()>, allowed: &[ErrorKind]) {
        let lost = result.as_ref().err().filter(|error| allowed.contains(&error.kind()));
        let wrong = lost.and_then(|error| self.sim.ledger.items.is_lost(item, error));
        wrong.into_iter().for_each(|wrong| self.accuse(wrong));
        self.expect(what, result, allowed);
    }

    async fn settle(&self, item: Arc<Item>, is_idle: bool) -> Option<Arc<Item>> {
        let (sim, ledger, lost) = (&self.sim, &self.sim.ledger.items, &[ErrorKind::NotHeld]);
        match sim.chance(|rng| rng.below(10)) {
            0 if is_idle => {
                let deaths = ledger.gives_back(self.host, item.data());
                let given = item.nack().await;
                let wrong = given.as_ref().ok().and_then(|()| ledger.given_back(&item, deaths));
                wrong.into_iter().for_each(|wrong| self.accuse(wrong));
                self.expect_of(&item, "nack", given, lost);
            }
            1 if is_idle => drop(item),
            2 if is_idle => {
                ledger.gives_back(self.host, item.data());
                self.expect("leave", item.leave(true).await, &[]);
            }
            3 if is_idle => self.expect_of(&item, "release", item.release().await, lost),
            4 if is_idle => {
                let acknowledging = item.ack();
                tokio::select! {
                    biased;
                    done = acknowledging => drop(self.has_done(&item, done)),
                    () = self.nap(self.up_to(LOOKS)) => self.may_have_done(&item),
                }
            }
            5 => {
                let left = item.leave(false).await;
                let is_lost = left.as_ref().is_err_and(|error| error.kind() == ErrorKind::Lost);
                if is_lost {
                    self.expect_of(&item, "leave", left, &[ErrorKind::Lost])
                } else {
                    self.has_done(&item, left);
                }
            }
            6 => {
                // The effect is there exactly if the item is done, and twice it could not be made.
                let (effects, mode) = (item.guarded(), CreateMode::Persistent);
                let done = match effects.create(&items::effect(item.data()), b"", mode) {
                    Ok(()) => item.ack_with(&effects).await,
                    Err(error) => Err(error),
                };
                // One that was refused may have been done by whoever came next.
                if done.is_ok() && !ledger.has_effect(item.data()) {
                    self.accuse(format!("{item:?} is done, and its effect is not there"));
                }
                return self.has_done(&item, done).then_some(item);
            }
            _ => {
                let done = item.ack().await;
                return self.has_done(&item, done).then_some(item);
            }
        }
        None
    }

    /// Whether that is not known.
    fn has_done(&self, item: &Item, done: Result<()>) -> bool {
        tell!(self.sim, "h{} has done {item:?}: {}", self.host, outcome(&done));
        let is_unknown = done.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConnectionLost);
        match done {
            Ok(()) => {
                self.sim.ledger.count(|tally| tally.items += 1);
                let wrong = self.sim.ledger.items.done(item, true);
                wrong.into_iter().for_each(|wrong| self.accuse(wrong));
            }
            Err(error) if error.kind() == ErrorKind::ConnectionLost => self.may_have_done(item),
            Err(error) => self.expect_of(item, "ack", Err(error), &[ErrorKind::NotHeld]),
        }
        is_unknown
    }

    fn may_have_done(&self, item: &Item) {
        let wrong = self.sim.ledger.items.done(item, false);
        wrong.into_iter().for_each(|wrong| self.accuse(wrong));
    }

    /// Takes whatever is left, also of the dead, when nobody puts any more.
    pub(crate) async fn leave_nothing(&self, queue: &AnyQueue) {
        let dead = queue.dead();
        loop {
            match queue.try_claim().await {
                Ok(Some(item)) => {
                    self.work_on(Arc::new(item), false).await;
                    continue;
                }
                Ok(None) => {}
                Err(error) => self.expect("the last claim", Err(error), &[]),
            }
            self.sim.ledger.items.begins_to_get(self.host);
            match dead.try_get().await {
                Ok(Some(data)) => {
                    self.has_got(Ok(data));
                    continue;
                }
                Ok(None) => {}
                Err(error) => self.expect("the last get", Err(error), &[]),
            }
            let left = (queue.len().await, dead.len().await);
            let items = &self.sim.ledger.items;
            // What is missing may be on its way back.
            if matches!(left, (Ok(0), Ok(0))) && items.have_all_stopped() && items.reckon().is_none() {
                return;
            }
            self.nap(LOOKS).await;
        }
    }
}

/// The lower, the sooner.
fn delay(rank: i32) -> Duration {
    Duration::from_millis(rank.unsigned_abs().into()) * 400
}

fn outcome(done: &Result<()>) -> String {
    done.as_ref().err().map_or_else(|| "yes".to_owned(), Error::message)
}
