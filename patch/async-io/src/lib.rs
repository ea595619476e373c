//! The timers of `async-io`, as far as `zookeeper-client` uses them, over tokio. ../README.md says why.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

/// Resolves when it is due, with the time for which that was set. One with a period is due again then: who was late is told
/// of each time that has passed, one after the other.
#[derive(Debug)]
pub struct Timer {
    /// `None` is never.
    due: Option<Instant>,
    period: Duration,
    /// Made at the first poll, which is on a runtime: timers are made and dropped anywhere.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    fn due(due: Option<Instant>, period: Duration) -> Timer {
        Timer { due, period, sleep: None }
    }

    /// Is never due.
    pub fn never() -> Timer {
        Timer::due(None, Duration::MAX)
    }

    /// Is due once, when so much time has passed.
    pub fn after(duration: Duration) -> Timer {
        Timer::due(Instant::now().checked_add(duration), Duration::MAX)
    }

    /// Is due once, then.
    pub fn at(instant: Instant) -> Timer {
        Timer::due(Some(instant), Duration::MAX)
    }

    /// Is due each time so much time has passed.
    pub fn interval(period: Duration) -> Timer {
        Timer::due(Instant::now().checked_add(period), period)
    }
}

/// Of tokio's, due once: by this the library tells these timers from those of the registry.
impl From<Sleep> for Timer {
    fn from(sleep: Sleep) -> Timer {
        let due = Some(sleep.deadline().into_std());
        Timer { sleep: Some(Box::pin(sleep)), ..Timer::due(due, Duration::MAX) }
    }
}

impl Future for Timer {
    type Output = Instant;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Instant> {
        let timer = self.get_mut();
        let Some(due) = timer.due else { return Poll::Pending };
        let sleep = timer.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due.into())));
        ready!(sleep.as_mut().poll(context));
        timer.due = due.checked_add(timer.period);
        if let Some(next) = timer.due {
            sleep.as_mut().reset(next.into());
        }
        Poll::Ready(due)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::thread;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    async fn is_pending(timer: &mut Timer) -> bool {
        poll_fn(|context| Poll::Ready(Pin::new(&mut *timer).poll(context).is_pending())).await
    }

    #[tokio::test]
    async fn one_that_is_due_once_answers_when_it_was_due_and_never_again() {
        let at = Instant::now() + 20 * MS;
        let mut timer = Timer::at(at);
        assert_eq!((&mut timer).await, at);
        assert!(Instant::now() >= at);
        assert!(is_pending(&mut timer).await);

        let begun = Instant::now();
        assert!(Timer::after(20 * MS).await >= begun + 20 * MS);
        assert!(Timer::at(begun).await == begun, "what has passed is due at once");
    }

    #[tokio::test]
    async fn one_with_a_period_is_due_again_and_again() {
        let begun = Instant::now();
        let mut timer = Timer::interval(20 * MS);
        assert!(is_pending(&mut timer).await);
        let first = (&mut timer).await;
        assert!(first >= begun + 20 * MS);
        assert_eq!((&mut timer).await, first + 20 * MS);
        // Who is late is told each.
        thread::sleep(60 * MS);
        assert_eq!((&mut timer).await, first + 40 * MS);
        assert_eq!((&mut timer).await, first + 60 * MS);
        let last = (&mut timer).await;
        assert_eq!(last, first + 80 * MS);
        assert!(Instant::now() >= last, "not ahead of time");
    }

    #[tokio::test]
    async fn never_is_never() {
        for mut never in [Timer::never(), Timer::after(Duration::MAX), Timer::interval(Duration::MAX)] {
            assert!(is_pending(&mut never).await);
            assert!(never.sleep.is_none());
        }
    }

    #[test]
    fn a_timer_is_made_and_dropped_on_any_thread() {
        let mut timers = [Timer::never(), Timer::after(10 * MS), Timer::interval(10 * MS)];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        for timer in &mut timers {
            assert!(runtime.block_on(is_pending(timer)));
        }
        thread::spawn(move || drop(timers)).join().expect("no panic");
    }
}
