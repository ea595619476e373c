//! The threads that run users' code, away from I/O: as many as there are callbacks that take their time, so that none
//! waits for another one's, up to a limit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::mutex::{lock, unpoisoned};
use crate::process::{PerProcess, Process};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::{runtime, threads};

/// A piece of work for a delivery thread.
pub type Job = Box<dyn FnOnce() + Send>;

/// Up to so many threads are started at once. Above that, we first wait whether a busy thread becomes free.
const AT_ONCE: usize = 4;
/// How long we wait. So a thousand quick callbacks do not start a thousand threads.
const LOOK: Duration = Duration::from_millis(2);
/// A thread without work ends after this, all but one.
const IDLE: Duration = Duration::from_secs(2);

/// No more threads than this: a system may give a process a thousand, and the program wants some, too. Callbacks that take
/// their time are rarely more at once.
const MOST: usize = 256;

static POOL: PerProcess<Pool> = PerProcess::new();

/// What the library has to say itself, so that no subscriber of logs holds up the thread that says it.
pub(crate) static LOG: PerProcess<Strand> = PerProcess::new();

/// Runs `job` on a thread that is not busy. However long it takes, no other job waits for it, unless all of [`MOST`] threads
/// are busy.
pub(crate) fn run(job: Job) {
    POOL.of_this_process().run(job);
}

#[derive(Default)]
struct Pool {
    state: Mutex<PoolState>,
    work: Condvar,
}

/// As long as there is a job, and fewer threads than the most, there is one that is not inside a job: it takes the job, and
/// sees to the next such thread.
#[derive(Default)]
struct PoolState {
    jobs: VecDeque<Job>,
    /// Those that live, or are being started.
    threads: usize,
    /// Those that run a job.
    inside: usize,
    /// How many jobs were ever taken.
    taken: u64,
    /// Nobody stays.
    is_ending: bool,
}

/// Ends the threads when they have done what was to be done, until what this answers is dropped.
pub(crate) fn ending() -> PoolEnding {
    PoolEnding::begin(POOL.of_this_process())
}

/// Whether there is nothing to do, and nothing is being done.
pub(crate) fn is_idle() -> bool {
    let state = lock(&POOL.of_this_process().state);
    state.jobs.is_empty() && state.inside == 0
}

/// See [`ending`].
pub(crate) struct PoolEnding(&'static Pool);

impl PoolEnding {
    fn begin(pool: &'static Pool) -> PoolEnding {
        lock(&pool.state).is_ending = true;
        pool.work.notify_all();
        PoolEnding(pool)
    }
}

impl Drop for PoolEnding {
    fn drop(&mut self) {
        lock(&self.0.state).is_ending = false;
    }
}

impl Pool {
    fn run(&'static self, job: Job) {
        let mut state = lock(&self.state);
        state.jobs.push_back(job);
        if state.threads > state.inside {
            drop(state);
            self.work.notify_one();
        } else {
            self.grow(state, 1);
        }
    }

    fn grow(&'static self, mut state: MutexGuard<'_, PoolState>, by: usize) {
        // Above that a job waits until a thread comes back.
        let by = by.min(MOST - state.threads);
        state.threads += by;
        drop(state);
        for missing in (1..=by).rev() {
            if let Err(error) = threads::start("zkrecipes-call", || self.work()) {
                // Those that are there do it as they come back.
                lock(&self.state).threads -= missing;
                tracing::error!(target: "zkrecipes", event = "no_thread", %error, "no thread for a callback: it waits for another one");
                return;
            }
        }
    }

    fn work(&'static self) {
        let process = Process::present();
        let mut is_fresh = true;
        while let Some(job) = self.next(is_fresh) {
            runtime::run_callback(job);
            if !process.is_present() {
                // The job forked, and went on in the child: this is the parent's pool.
                return;
            }
            lock(&self.state).inside -= 1;
            is_fresh = false;
        }
    }

    /// The next job; `None` when there is nothing to do for this thread any more.
    fn next(&'static self, mut is_fresh: bool) -> Option<Job> {
        let mut state = lock(&self.state);
        loop {
            if state.jobs.is_empty() {
                if state.is_ending {
                    state.threads -= 1;
                    return None;
                }
                is_fresh = true;
                // The last that is free stays: when a loss is to be told, the system may have no thread to give.
                if state.threads - state.inside == 1 {
                    state = unpoisoned(self.work.wait(state));
                    continue;
                }
                let (after, waited) = unpoisoned(self.work.wait_timeout(state, IDLE));
                state = after;
                if waited.timed_out() && state.jobs.is_empty() && state.threads - state.inside > 1 {
                    state.threads -= 1;
                    return None;
                }
                continue;
            }
            let mut more = 1;
            if is_fresh && state.inside >= AT_ONCE {
                let taken = state.taken;
                let is_stuck = |state: &mut PoolState| !state.jobs.is_empty() && state.taken == taken;
                let looked = self.work.wait_timeout_while(state, LOOK, is_stuck);
                state = unpoisoned(looked).0;
                if !is_stuck(&mut state) {
                    continue;
                }
                // They are slow, so do not wait that long for each job.
                more = state.inside;
            }
            let job = state.jobs.pop_front()?;
            state.taken += 1;
            state.inside += 1;
            if state.jobs.is_empty() {
                return Some(job);
            }
            if state.threads == state.inside {
                let by = more.min(state.jobs.len());
                self.grow(state, by);
            } else {
                // The wake-up for the next job may have been ours, while we waited to see whether a thread becomes free.
                self.work.notify_one();
            }
            return Some(job);
        }
    }
}

/// Jobs that run one at a time, in order, on whichever thread.
#[derive(Clone, Default)]
pub(crate) struct Strand(Arc<Mutex<StrandState>>);

#[derive(Default)]
struct StrandState {
    jobs: VecDeque<Job>,
    is_running: bool,
}

impl Strand {
    pub(crate) fn run(&self, job: Job) {
        let _ = self.run_unless_full(job, usize::MAX);
    }

    /// The same, unless so many wait already; whether the job was taken.
    pub(crate) fn run_unless_full(&self, job: Job, most: usize) -> bool {
        let mut waiting = lock(&self.0);
        if waiting.jobs.len() >= most {
            // What it owns may take locks when it goes.
            drop(waiting);
            return false;
        }
        waiting.jobs.push_back(job);
        if !std::mem::replace(&mut waiting.is_running, true) {
            drop(waiting);
            let strand = self.clone();
            run(Box::new(move || strand.work()));
        }
        true
    }

    /// Whether so many wait already.
    pub(crate) fn is_full(&self, most: usize) -> bool {
        lock(&self.0).jobs.len() >= most
    }

    fn work(&self) {
        let process = Process::present();
        while process.is_present() {
            let mut waiting = lock(&self.0);
            let Some(job) = waiting.jobs.pop_front() else {
                waiting.is_running = false;
                return;
            };
            drop(waiting);
            runtime::run_callback(job);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Instant;

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    /// A job that says when it is begun, and ends when what it was given is dropped.
    fn busy(begun: &Sender<()>) -> (Job, Sender<()>) {
        let (begun, (until, ended)) = (begun.clone(), channel::<()>());
        let job = move || {
            let _ = begun.send(());
            let _ = ended.recv();
        };
        (Box::new(job), until)
    }

    #[test]
    fn slow_jobs_have_a_limited_number_of_threads_and_the_others_wait() {
        static POOLS: PerProcess<Pool> = PerProcess::new();
        let pool = POOLS.of_this_process();
        let (sender, begun) = channel();
        let mut busy_ones = Vec::new();
        for _ in 0..MOST + 9 {
            let (job, until) = busy(&sender);
            pool.run(job);
            busy_ones.push(until);
        }
        for _ in 0..MOST {
            begun.recv_timeout(SOON).expect("it has a thread");
        }
        let state = lock(&pool.state);
        assert_eq!((state.threads, state.inside, state.jobs.len()), (MOST, MOST, 9));
        drop(state);
        drop(busy_ones);
        for _ in 0..9 {
            begun.recv_timeout(SOON).expect("it has waited for a thread");
        }
    }

    #[test]
    fn a_job_whose_wake_up_went_to_a_thread_that_looks_is_begun_all_the_same() {
        static POOLS: PerProcess<Pool> = PerProcess::new();
        let pool = POOLS.of_this_process();
        let (sender, begun) = channel();
        let mut busy_ones = Vec::new();
        for _ in 0..AT_ONCE + 2 {
            let (job, until) = busy(&sender);
            pool.run(job);
            busy_ones.push(until);
            begun.recv_timeout(SOON).expect("it has a thread");
        }
        busy_ones.truncate(AT_ONCE);
        let deadline = Instant::now() + SOON;
        while lock(&pool.state).inside > AT_ONCE {
            assert!(Instant::now() < deadline, "two become free");
            std::thread::yield_now();
        }

        let ((first, _until), (second, _until_too)) = (busy(&sender), busy(&sender));
        let mut state = lock(&pool.state);
        state.jobs.push_back(first);
        state.jobs.push_back(second);
        drop(state);
        // One wake-up for two jobs: the other one was swallowed.
        pool.work.notify_one();
        // Sooner than a thread looks that has waited for as long as one may be idle.
        let sooner = IDLE * 9 / 10;
        for _ in 0..2 {
            begun.recv_timeout(sooner).expect("it is begun while the others go on");
        }
    }
}
