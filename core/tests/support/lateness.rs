//! How late the machine runs a thread. Where an upper limit is the promise, a machine that stands still exceeds it, too.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const NAP: Duration = Duration::from_millis(5);
/// Who wakes later than that was on a machine that is late.
const LATE: Duration = Duration::from_millis(50);
/// How often a round is played at most.
const ROUNDS: usize = 5;

/// Since when the thread that measures sleeps, and how late it woke at most.
struct Naps {
    since: Instant,
    latest: Duration,
}

impl Naps {
    fn lateness(&self) -> Duration {
        self.latest.max(self.since.elapsed().saturating_sub(NAP))
    }
}

/// Measures for as long as it lives.
pub struct Lateness(Arc<Mutex<Naps>>);

impl Lateness {
    pub fn measured() -> Lateness {
        let naps = Arc::new(Mutex::new(Naps { since: Instant::now(), latest: Duration::ZERO }));
        let measures = Arc::downgrade(&naps);
        std::thread::spawn(move || {
            while let Some(naps) = measures.upgrade() {
                let mut naps = naps.lock().expect("no panic");
                (naps.latest, naps.since) = (naps.lateness(), Instant::now());
                drop(naps);
                std::thread::sleep(NAP);
            }
        });
        Lateness(naps)
    }

    /// Also while the thread that measures has not been woken yet.
    pub fn latest(&self) -> Duration {
        self.0.lock().expect("no panic").lateness()
    }

    pub fn was_late(&self) -> bool {
        self.latest() > LATE
    }
}

/// Plays a round that says what it missed, if it did; once more where the machine was late in it, for then that says nothing.
pub async fn in_time<T>(round: impl AsyncFnMut() -> Result<T, String>) -> T {
    in_time_at_last(round).await.unwrap_or_else(|missed| panic!("{missed}"))
}

/// The same for who goes on after it.
pub async fn in_time_at_last<T, E: Debug>(mut round: impl AsyncFnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 1..ROUNDS {
        let lateness = Lateness::measured();
        match round().await {
            Err(missed) if lateness.was_late() => {
                eprintln!("the machine was {:?} late: {missed:?}", lateness.latest());
            }
            outcome => return outcome,
        }
    }
    round().await
}
