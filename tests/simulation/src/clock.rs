//! A host's clock, as the core sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use zkrecipes::session::clock::{Clock, Later, Moment};

use crate::sim::{HostId, Instant, Sim, Timer};

pub struct HostClock {
    pub sim: Arc<Sim>,
    pub host: HostId,
}

/// How late a timer, and an alarm, may ring on a machine that is not paused.
const TARDINESS: Duration = Duration::from_millis(2);
const ALARM_TARDINESS: Duration = Duration::from_millis(5);

/// Milliseconds since 1970, some day.
pub fn wall(sim: &Sim) -> i64 {
    const SOME_DAY: i64 = 1_700_000_000_000;
    SOME_DAY + i64::try_from(sim.now() / 1_000_000).unwrap_or(i64::MAX / 2)
}

impl HostClock {
    fn late(&self, at: Moment, at_most: Duration) -> Instant {
        let late = self.sim.chance(|rng| match rng.one_in(4) {
            true => rng.duration(Duration::ZERO..=at_most),
            false => Duration::ZERO,
        });
        (at + late).0
    }
}

impl Clock for HostClock {
    fn now(&self) -> Moment {
        Moment(self.sim.host_now(self.host))
    }

    /// The same on all hosts: what is due is told by clocks that are not far apart.
    fn wall(&self) -> i64 {
        wall(&self.sim)
    }

    fn sleep_until(&self, at: Moment) -> Later<()> {
        let at = self.late(at, TARDINESS);
        Box::pin(Sleep { sim: self.sim.clone(), host: self.host, at, timer: None })
    }

    fn spawn(&self, task: Later<()>) {
        self.sim.spawn(self.host, task);
    }

    fn alarm(&self, at: Moment, alarm: Box<dyn FnOnce() + Send>) {
        let at = self.late(at, ALARM_TARDINESS);
        self.sim.set_timer(self.host, at, Timer::Alarm(alarm));
    }
}

/// Takes its timer back when it is dropped, so that nobody is woken for nothing.
struct Sleep {
    sim: Arc<Sim>,
    host: HostId,
    at: Instant,
    timer: Option<(Instant, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.disarm();
        if self.sim.host_now(self.host) >= self.at {
            return Poll::Ready(());
        }
        let timer = Timer::Wake(context.waker().clone());
        self.timer = Some(self.sim.set_timer(self.host, self.at, timer));
        Poll::Pending
    }
}

impl Sleep {
    fn disarm(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.sim.clear_timer(self.host, timer);
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.disarm();
    }
}
