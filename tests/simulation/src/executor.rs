//! Tasks of all hosts on one thread, polled in an order that the seed decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use zkrecipes::session::clock::Later;

use crate::sim::HostId;

type Ready = Arc<Mutex<BTreeSet<u64>>>;

fn lock(ready: &Ready) -> MutexGuard<'_, BTreeSet<u64>> {
    ready.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Wakes one task. In which order tasks were woken leaves no mark: the set of those that are ready is sorted.
struct Alert {
    task: u64,
    ready: Ready,
}

impl Wake for Alert {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        lock(&self.ready).insert(self.task);
    }
}

struct Task {
    host: HostId,
    /// On a thread that the system may hold up while the others of its process run.
    may_stall: bool,
    future: Later<()>,
    waker: Waker,
}

/// All tasks that have not ended.
#[derive(Default)]
pub struct Tasks {
    next: u64,
    live: BTreeMap<u64, Task>,
    ready: Ready,
}

/// A task on its way through a poll, outside the table, so that it may spawn others.
pub struct Taken {
    id: u64,
    task: Task,
}

impl Taken {
    /// True when it is done.
    pub fn poll(&mut self) -> bool {
        let mut context = Context::from_waker(&self.task.waker);
        matches!(self.task.future.as_mut().poll(&mut context), Poll::Ready(()))
    }
}

impl Tasks {
    pub fn spawn(&mut self, host: HostId, may_stall: bool, future: Later<()>) {
        let id = self.next;
        self.next += 1;
        let waker = Waker::from(Arc::new(Alert { task: id, ready: self.ready.clone() }));
        self.live.insert(id, Task { host, may_stall, future, waker });
        lock(&self.ready).insert(id);
    }

    /// Those that want to run, in the order of their making, of the hosts that may.
    pub fn ready(&self, may_run: impl Fn(HostId, bool) -> bool, into: &mut Vec<u64>) {
        into.clear();
        lock(&self.ready).retain(|id| match self.live.get(id) {
            Some(task) => {
                if may_run(task.host, task.may_stall) {
                    into.push(*id);
                }
                true
            }
            None => false,
        });
    }

    pub fn take(&mut self, id: u64) -> Option<Taken> {
        lock(&self.ready).remove(&id);
        let task = self.live.remove(&id)?;
        Some(Taken { id, task })
    }

    pub fn put_back(&mut self, taken: Taken) {
        self.live.insert(taken.id, taken.task);
    }

    /// Those of one host, to be dropped by the caller.
    pub fn of_host(&mut self, host: HostId) -> Vec<Box<dyn Send>> {
        let ids: Vec<_> = self.live.iter().filter(|(_, task)| task.host == host).map(|(id, _)| *id).collect();
        let ended = ids.iter().filter_map(|id| self.live.remove(id));
        ended.map(|task| Box::new(task.future) as Box<dyn Send>).collect()
    }

    pub fn count(&self) -> usize {
        self.live.len()
    }

    /// Everything, to be dropped by the caller.
    pub fn clear(&mut self) -> Vec<Box<dyn Send>> {
        std::mem::take(&mut self.live)
            .into_values()
            .map(|task| Box::new(task.future) as Box<dyn Send>)
            .collect()
    }
}
