//! What can be asked of a session without waiting for its machine: a thread that was stopped inside that holds up no look at
//! what is held, and no loss.

use std::sync::PoisonError;
use std::time::Duration;

use crate::session::clock::Moment;
use crate::session::wire::machine::{Answering, Machine};
use crate::session::wire::{Link, LinkState};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// The latest of the machine, as of when the lock was last left.
pub(super) struct Seen {
    /// The generation, and the state in the lowest bits.
    link: AtomicU64,
    session: AtomicU64,
    /// In nanoseconds.
    timeout: AtomicU64,
    /// When the session was asked for.
    asked: AtomicU64,
    /// When the server was asked for what it owes longest, or [`NOTHING`].
    owed: AtomicU64,
    words: Mutex<Words>,
}

/// Only ever locked to read or to replace a word.
#[derive(Clone, Default)]
pub(super) struct Words {
    pub(super) server: Option<String>,
    pub(super) cause: Option<String>,
}

const STATES: [LinkState; 5] =
    [LinkState::Up, LinkState::Down, LinkState::Ended, LinkState::Unheard, LinkState::Denied];
/// No moment.
const NOTHING: u64 = u64::MAX;
/// Of so many bits.
const STATE_BITS: u32 = 3;

impl Seen {
    pub(super) fn of<A: Answering, W>(machine: &Machine<A, W>) -> Seen {
        let seen = Seen {
            link: AtomicU64::new(0),
            session: AtomicU64::new(0),
            timeout: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            owed: AtomicU64::new(NOTHING),
            words: Mutex::default(),
        };
        seen.update(machine, None);
        seen
    }

    /// To be called under the lock of the machine.
    pub(super) fn update<A: Answering, W>(&self, machine: &Machine<A, W>, asked: Option<Moment>) {
        let link = machine.link();
        let state = STATES.iter().position(|known| *known == link.state).unwrap_or_default() as u64;
        let packed = link.generation << STATE_BITS | state;
        self.owed.store(machine.owes_since().map_or(NOTHING, |asked| asked.0), Ordering::Relaxed);
        let mut words = self.lock();
        if words.cause.as_deref() != machine.cause() {
            words.cause = machine.cause().map(str::to_owned);
        }
        if self.link.load(Ordering::Relaxed) == packed {
            return;
        }
        words.server = machine.server().map(ToString::to_string);
        drop(words);
        self.session.store(machine.session_id(), Ordering::Release);
        self.timeout.store(machine.session_timeout().as_nanos() as u64, Ordering::Release);
        self.asked.store(asked.unwrap_or(Moment::START).0, Ordering::Release);
        // Last: who sees the connection sees whose it is.
        self.link.store(packed, Ordering::SeqCst);
    }

    pub(super) fn link(&self) -> Link {
        let packed = self.link.load(Ordering::SeqCst);
        let state = STATES[(packed & ((1 << STATE_BITS) - 1)) as usize];
        Link { generation: packed >> STATE_BITS, state }
    }

    pub(super) fn session_id(&self) -> u64 {
        self.session.load(Ordering::Acquire)
    }

    pub(super) fn session_timeout(&self) -> Duration {
        Duration::from_nanos(self.timeout.load(Ordering::Acquire))
    }

    pub(super) fn asked(&self) -> Moment {
        Moment(self.asked.load(Ordering::Acquire))
    }

    pub(super) fn owes_since(&self) -> Option<Moment> {
        Some(self.owed.load(Ordering::Relaxed)).filter(|asked| *asked != NOTHING).map(Moment)
    }

    pub(super) fn words(&self) -> Words {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Words> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
