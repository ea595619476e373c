//! The real clock: CLOCK_BOOTTIME, so that time spent suspended counts, and an alarm thread of its own.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::clock::{Clock, Later, Moment};
use crate::mutex::{lock, unpoisoned};
use crate::process::PerProcess;
use crate::{runtime, threads};

/// The clock of this machine.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        now()
    }

    fn sleep_until(&self, at: Moment) -> Later<()> {
        // tokio's timers stop while the machine sleeps, so look at our own clock again after each.
        Box::pin(async move {
            loop {
                let left = at.since(now());
                if left.is_zero() {
                    return;
                }
                let sleep = runtime::enter(|| tokio::time::sleep(left));
                sleep.await;
            }
        })
    }

    fn spawn(&self, task: Later<()>) {
        runtime::spawn(task);
    }

    fn alarm(&self, at: Moment, alarm: Box<dyn FnOnce() + Send>) {
        ALARMS.of_this_process().set(at, alarm);
    }
}

#[cfg(unix)]
fn now() -> Moment {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
    const CLOCK: libc::clockid_t = libc::CLOCK_BOOTTIME;
    // Elsewhere the monotonic clock is the one that keeps counting during sleep (macOS) or the best there is.
    #[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
    const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
    // SAFETY: `time` is a valid timespec and the clock id is one the platform defines.
    unsafe { libc::clock_gettime(CLOCK, &mut time) };
    Moment(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Windows has one clock, which counts while the machine sleeps.
#[cfg(not(unix))]
fn now() -> Moment {
    static BEGINNING: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    Moment(BEGINNING.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64)
}

type Alarm = Box<dyn FnOnce() + Send>;

/// Alarms due, in order, and the one thread that rings them.
#[derive(Default)]
struct Alarms {
    due: Mutex<Schedule>,
    sooner: Condvar,
}

#[derive(Default)]
struct Schedule {
    alarms: BTreeMap<(Moment, u64), Alarm>,
    next_id: u64,
    has_thread: bool,
    is_ending: bool,
}

/// Ends the thread, and the alarms of sessions that are over; the next alarm starts another one.
pub(crate) fn end() {
    ALARMS.of_this_process().end();
}

static ALARMS: PerProcess<Alarms> = PerProcess::new();

/// The condition variable's clock stops while the machine is suspended, so no wait is longer than this while an
/// alarm is set: after a resume the alarm rings at most this late.
const LONGEST_NAP: Duration = Duration::from_millis(250);

impl Alarms {
    fn set(&'static self, at: Moment, alarm: Alarm) {
        let mut due = lock(&self.due);
        if !due.has_thread {
            threads::start("zkrecipes-lease", move || self.ring())
                .expect("the operating system has no thread left for the library");
            due.has_thread = true;
        }
        // One that was to end and has not seen it rings this one, too.
        due.is_ending = false;
        let id = due.next_id;
        due.next_id += 1;
        due.alarms.insert((at, id), alarm);
        self.sooner.notify_one();
    }

    fn end(&self) {
        let mut due = lock(&self.due);
        due.is_ending = due.has_thread;
        self.sooner.notify_one();
    }

    fn ring(&self) {
        let mut due = lock(&self.due);
        loop {
            if due.is_ending {
                due.is_ending = false;
                due.has_thread = false;
                let over = std::mem::take(&mut due.alarms);
                // What they own may take locks when it goes.
                drop(due);
                drop(over);
                return;
            }
            let Some((at, _)) = due.alarms.first_key_value().map(|(key, _)| *key) else {
                due = unpoisoned(self.sooner.wait(due));
                continue;
            };
            let left = at.since(now());
            if left.is_zero() {
                if let Some((_, alarm)) = due.alarms.pop_first() {
                    drop(due);
                    // One that panics must not silence the others.
                    runtime::run_callback(alarm);
                    due = lock(&self.due);
                }
                continue;
            }
            due = unpoisoned(self.sooner.wait_timeout(due, left.min(LONGEST_NAP))).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn an_alarm_that_is_set_while_the_thread_is_to_end_rings() {
        static OWN: PerProcess<Alarms> = PerProcess::new();
        let alarms = OWN.of_this_process();
        for _ in 0..100 {
            alarms.set(now() + Duration::from_secs(3600), Box::new(|| {}));
            alarms.end();
            let (ring, rung) = channel();
            alarms.set(now(), Box::new(move || _ = ring.send(())));
            rung.recv_timeout(Duration::from_secs(20)).expect("it rings");
        }
        alarms.end();
    }
}
