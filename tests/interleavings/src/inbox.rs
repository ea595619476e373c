//! As `bindings/python/src/inbox.rs`.

#[path = "../../../bindings/python/src/inbox/letters.rs"]
pub(crate) mod letters;

pub(crate) mod means {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::time::Duration;

    use shuttle::rand::{Rng, thread_rng};

    use crate::pool::Strand;
    use crate::process::PerProcess;
    pub(crate) use crate::sync::{Mutex, MutexGuard};

    static IS_LATE: PerProcess<AtomicBool> = PerProcess::new();
    static IN_ORDER: PerProcess<Strand> = PerProcess::new();

    /// From now on the time passes.
    pub(crate) fn is_late() {
        IS_LATE.store(true, Relaxed);
    }

    /// No time has passed since, or more than enough.
    pub(crate) struct Instant;

    impl Instant {
        pub(crate) fn now() -> Instant {
            Instant
        }

        pub(crate) fn elapsed(&self) -> Duration {
            if thread_rng().gen_bool(0.5) { Duration::MAX } else { Duration::ZERO }
        }
    }

    pub(crate) fn after(_a_while: Duration, work: impl FnOnce() + Send + 'static) {
        if IS_LATE.load(Relaxed) {
            shuttle::thread::spawn(work);
        }
    }

    pub(crate) fn in_order(work: impl FnOnce() + Send + 'static) {
        IN_ORDER.run(Box::new(work));
    }
}
