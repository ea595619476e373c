//! One seed is one schedule.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// The seed that is played.
static PLAYED: AtomicU64 = AtomicU64::new(0);

/// The one whose play has failed, if one has.
pub fn played() -> u64 {
    PLAYED.load(Ordering::Relaxed)
}

/// How a schedule chooses the thread that makes the next step. What one of them finds late another finds soon.
#[derive(Clone, Copy)]
enum Choice {
    /// Any.
    Any,
    /// The one that made the last step, most of the time.
    Stays(u64),
    /// The one with the highest rank, which it may lose at each step.
    Ranks(u64),
}

/// The schedules of the seeds from `next` on.
pub struct Seeds {
    next: u64,
    end: u64,
    random: u64,
    choice: Choice,
    ranks: BTreeMap<usize, u64>,
}

impl Seeds {
    pub fn new(first: u64, count: u64) -> Seeds {
        Seeds { next: first, end: first + count, random: 0, choice: Choice::Any, ranks: BTreeMap::new() }
    }

    fn random(&mut self) -> u64 {
        // SplitMix64: each seed is far from the next one from its first number on.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn is_one_in(&mut self, count: u64) -> bool {
        self.random().is_multiple_of(count)
    }

    fn any(&mut self, tasks: &[TaskId]) -> TaskId {
        tasks[(self.random() % tasks.len() as u64) as usize]
    }

    fn highest(&mut self, tasks: &[TaskId]) -> TaskId {
        let mut best = (0, tasks[0]);
        for task in tasks {
            let fresh = self.random();
            let rank = *self.ranks.entry(usize::from(*task)).or_insert(fresh);
            if rank >= best.0 {
                best = (rank, *task);
            }
        }
        best.1
    }
}

impl Scheduler for Seeds {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.next == self.end {
            return None;
        }
        let seed = self.next;
        self.next += 1;
        PLAYED.store(seed, Ordering::Relaxed);
        self.random = seed;
        self.ranks.clear();
        self.choice = match seed % 4 {
            0 => Choice::Any,
            1 => Choice::Stays(4),
            2 => Choice::Ranks(8),
            _ => Choice::Ranks(24),
        };
        Some(Schedule::new(seed))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let tasks: Vec<TaskId> = runnable.iter().map(|task| task.id()).collect();
        let stays = current.filter(|current| !is_yielding && tasks.contains(current));
        Some(match self.choice {
            Choice::Any => self.any(&tasks),
            Choice::Stays(steps) => match stays {
                Some(current) if !self.is_one_in(steps) => current,
                _ => self.any(&tasks),
            },
            Choice::Ranks(steps) => {
                if let Some(current) = current
                    && (is_yielding || self.is_one_in(steps))
                {
                    // Behind all others.
                    let lowest = self.ranks.values().min().copied().unwrap_or_default();
                    self.ranks.insert(usize::from(current), lowest.saturating_sub(1));
                }
                self.highest(&tasks)
            }
        })
    }

    fn next_u64(&mut self) -> u64 {
        self.random()
    }
}
