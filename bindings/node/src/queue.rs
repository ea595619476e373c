//! Queues: what each kind puts, what all of them have (`Backlog`), and what is claimed.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use napi::Env;
use napi::bindgen_prelude::{Buffer, ClassInstance, Uint8Array};
use napi_derive::napi;
use zkrecipes::{DeadLetter, Nack, Result, drive};

use crate::declared::Declared;
use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::OrThrow;
use crate::generated::{Backlog, Item, Transaction};
use crate::held::Held;
use crate::options::finite;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Queue(pub(crate) Remote<zkrecipes::Queue>);

#[napi(custom_finalize)]
pub struct PriorityQueue(pub(crate) Remote<zkrecipes::PriorityQueue>);

#[napi(custom_finalize)]
pub struct DelayQueue(pub(crate) Remote<zkrecipes::DelayQueue>);

/// An item that was taken, until it is handed over.
#[napi(custom_finalize)]
pub struct Got(Mutex<Option<drive::Got>>);

drop_quietly!(Queue, PriorityQueue, DelayQueue, Got);

impl Queue {
    pub fn new(queue: zkrecipes::Queue, inbox: &Inbox) -> Queue {
        Queue(Remote::new(queue, inbox))
    }
}

#[napi]
impl Queue {
    #[napi(catch_unwind)]
    pub fn backlog(&self) -> Backlog {
        Backlog::new((**self.0).clone(), &self.0.inbox)
    }

    /// In as few transactions as carry them. The call's value is a `Declared`, here and at the others.
    #[napi(catch_unwind)]
    pub fn put(&self, items: Vec<Uint8Array>, timeout: f64) -> f64 {
        let items: Vec<_> = items.iter().map(|item| item.to_vec()).collect();
        self.0.wait(timeout, |queue, limit| drive::put(&queue, items, limit), Declared::from)
    }

    /// With a key or without.
    #[napi(catch_unwind)]
    pub fn put_one(&self, data: &[u8], key: Option<String>, timeout: f64) -> f64 {
        let data = data.to_vec();
        let put = |queue, limit| drive::put_one(&queue, data, key, limit);
        self.0.wait(timeout, put, Declared::from)
    }
}

impl PriorityQueue {
    pub fn new(queue: zkrecipes::PriorityQueue, inbox: &Inbox) -> PriorityQueue {
        PriorityQueue(Remote::new(queue, inbox))
    }
}

#[napi]
impl PriorityQueue {
    #[napi(catch_unwind)]
    pub fn backlog(&self) -> Backlog {
        Backlog::new((**self.0).clone(), &self.0.inbox)
    }

    #[napi(catch_unwind)]
    pub fn put(&self, data: &[u8], priority: i32, key: Option<String>, timeout: f64) -> f64 {
        let data = data.to_vec();
        let put = |queue, limit| drive::put_priority(&queue, data, priority, key, limit);
        self.0.wait(timeout, put, Declared::from)
    }
}

impl DelayQueue {
    pub fn new(queue: zkrecipes::DelayQueue, inbox: &Inbox) -> DelayQueue {
        DelayQueue(Remote::new(queue, inbox))
    }
}

#[napi]
impl DelayQueue {
    #[napi(catch_unwind)]
    pub fn backlog(&self) -> Backlog {
        Backlog::new((**self.0).clone(), &self.0.inbox)
    }

    #[napi(catch_unwind)]
    pub fn put(&self, data: &[u8], delay: f64, key: Option<String>, timeout: f64) -> f64 {
        let data = data.to_vec();
        let put = |queue: zkrecipes::DelayQueue, limit| async move {
            drive::put_delayed(&queue, data, finite("delay", delay)?, key, limit).await
        };
        self.0.wait(timeout, put, Declared::from)
    }
}

#[napi(object)]
pub struct Stats {
    pub ready: f64,
    pub delayed: f64,
    pub claimed: f64,
    pub dead: f64,
}

impl From<zkrecipes::QueueStats> for Stats {
    fn from(stats: zkrecipes::QueueStats) -> Stats {
        let [ready, delayed, claimed, dead] =
            [stats.ready, stats.delayed, stats.claimed, stats.dead].map(|items| items as f64);
        Stats { ready, delayed, claimed, dead }
    }
}

#[napi(object)]
pub struct Letter {
    pub id: String,
    pub data: Buffer,
    pub reason: Option<String>,
    pub attempts: u32,
    /// Milliseconds since 1970.
    pub died_at: f64,
    pub problem: Option<String>,
}

fn letters(letters: Vec<DeadLetter>) -> Vec<Letter> {
    let millis =
        |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() as f64;
    let letter = |letter: DeadLetter| Letter {
        id: letter.id,
        data: letter.data.into(),
        reason: letter.reason,
        attempts: letter.attempts,
        died_at: millis(letter.died_at),
        problem: letter.problem,
    };
    letters.into_iter().map(letter).collect()
}

#[napi]
impl Backlog {
    /// The same one: `node/lib` asks every queue for it.
    #[napi(catch_unwind)]
    pub fn backlog(&self) -> Backlog {
        Backlog::new((*self.0).clone(), &self.0.inbox)
    }

    /// The call's value is a `Got`.
    #[napi(catch_unwind)]
    pub fn get(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |backlog, limit| drive::get(&backlog, limit), |got| Got(Mutex::new(Some(got))))
    }

    /// The call's value is an `Item`.
    #[napi(catch_unwind)]
    pub fn claim(&self, timeout: f64) -> f64 {
        let home = self.0.inbox.clone();
        let claim = |backlog, limit| drive::claim(&backlog, limit);
        self.0.wait(timeout, claim, move |item| Item::new(item, &home))
    }

    /// The call's value is a list of `Item`.
    #[napi(catch_unwind)]
    pub fn claim_many(&self, n: u32, timeout: f64) -> f64 {
        let home = self.0.inbox.clone();
        let claim = move |backlog, limit| drive::claim_many(&backlog, n as usize, limit);
        let wrapped = move |all: Vec<zkrecipes::Item>| -> Vec<Item> {
            all.into_iter().map(|one| Item::new(one, &home)).collect()
        };
        self.0.wait(timeout, claim, wrapped)
    }

    #[napi(catch_unwind)]
    pub fn ack_many(&self, items: Vec<ClassInstance<Item>>) -> f64 {
        let items = items.iter().map(|item| (*item.0).clone()).collect();
        self.0.ask(|backlog| drive::ack_many(&backlog, items), same)
    }

    /// The dead letters as a queue.
    #[napi(catch_unwind)]
    pub fn dead(&self) -> Backlog {
        Backlog::new((*self.0.dead()).clone(), &self.0.inbox)
    }

    /// The dead letters, with what is known of their end: of the queue, or of its dead letters, which is the same.
    #[napi(catch_unwind)]
    pub fn dead_letters(&self) -> f64 {
        self.0.ask(|backlog| async move { drive::dead_letters(&backlog).await }, letters)
    }
}

#[napi]
impl Got {
    /// The data, once: it is the caller's from now on.
    #[napi(catch_unwind)]
    pub fn hand_over(&self) -> Option<Buffer> {
        self.take().map(|got| got.hand_over().into())
    }

    /// The caller has withdrawn: it goes back to its old place.
    #[napi(catch_unwind)]
    pub fn put_back(&self) {
        drop(self.take());
    }
}

impl Got {
    fn take(&self) -> Option<drive::Got> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Milliseconds; without them the pause grows by itself.
fn nack(delay: Option<f64>, reason: Option<String>) -> Result<Nack> {
    let mut nack = Nack::default();
    nack.delay = delay.map(|delay| finite("delay", delay)).transpose()?;
    nack.reason = reason;
    Ok(nack)
}

#[napi]
impl Item {
    /// What the claim is as something that is held.
    #[napi(catch_unwind)]
    pub fn held(&self) -> Held {
        Held::of((**self.0).clone(), &self.0.inbox)
    }

    /// With the writes of a transaction, which is used up.
    #[napi(catch_unwind)]
    pub fn ack_with(&self, writes: &Transaction) -> f64 {
        self.0.ask(|item| item.ack_with(&writes.0), same)
    }

    #[napi(catch_unwind)]
    pub fn nack(&self, delay: Option<f64>, reason: Option<String>) -> f64 {
        let nack = move |item: zkrecipes::Item| {
            let how = self::nack(delay, reason);
            let giving_back = how.map(|how| item.nack_with(how));
            async move { giving_back?.await }
        };
        self.0.ask(nack, same)
    }

    /// The caller has withdrawn.
    #[napi(catch_unwind)]
    pub fn release_in_background(&self, env: &Env) -> napi::Result<()> {
        self.0.release_in_background().or_throw(env)
    }

    /// Leaves a scope: done, or given back.
    #[napi(catch_unwind)]
    pub fn leave(&self, body_failed: bool, reason: Option<String>) -> f64 {
        self.0.ask(
            move |item| {
                let nack = reason.map_or(Nack::default(), |reason| Nack::default().reason(reason));
                item.leave_for(body_failed.then_some(nack))
            },
            same,
        )
    }
}
