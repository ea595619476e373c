//! What the workers of a world are after: one recipe of the family, where its nodes are, and what a worker asks of it.

use std::time::Duration;

use zkrecipes::session::clock::Later;
use zkrecipes::{Client, Held, Lock, LockOptions, MultiLock, Naming, ReadWriteLock, Result, Semaphore};

use crate::rng::Rng;
use crate::standing::Kind;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// `handoff` is how often a client's workers may pass a turn on among themselves.
    Lock {
        handoff: u32,
    },
    ReadWrite,
    Semaphore {
        permits: usize,
    },
    /// Several paths, of which each worker wants some.
    MultiLock {
        paths: usize,
    },
}

const HOME: &str = "/locks";
const PATH: &str = "/locks/simulated";

impl Subject {
    pub fn draw(rng: &mut Rng) -> Subject {
        match rng.below(10) {
            0..=3 => Subject::Lock { handoff: *rng.pick(&[0, 0, 0, 3]) },
            4 | 5 => Subject::ReadWrite,
            6 | 7 => Subject::Semaphore { permits: rng.number(1..=4) as usize },
            _ => Subject::MultiLock { paths: rng.number(2..=3) as usize },
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Subject::Lock { .. } => "plain lock",
            Subject::ReadWrite => "read/write lock",
            Subject::Semaphore { .. } => "semaphore",
            Subject::MultiLock { .. } => "multi-lock",
        }
    }

    /// Whether several workers of a client may use one handle; two who read and write through one are one party.
    pub fn may_share(self) -> bool {
        self != Subject::ReadWrite
    }

    fn paths(self) -> Vec<String> {
        match self {
            Subject::MultiLock { paths } => {
                ["a", "b", "c"][..paths].iter().map(|name| format!("{HOME}/{name}")).collect()
            }
            _ => vec![PATH.to_owned()],
        }
    }

    /// A handle for one worker, or for several.
    pub fn handle(self, client: &Client, rng: &mut Rng) -> Result<Handle> {
        Ok(match self {
            Subject::Lock { handoff } => {
                let options = LockOptions { local_handoff: handoff, ..Default::default() };
                Handle::Lock(client.lock(PATH, options)?)
            }
            Subject::ReadWrite => Handle::ReadWrite(client.read_write_lock(PATH)?),
            Subject::Semaphore { permits } => Handle::Semaphore(client.semaphore(PATH, permits)?),
            Subject::MultiLock { .. } => {
                let mut paths = self.paths();
                rng.shuffle(&mut paths);
                paths.truncate(rng.number(1..=paths.len() as u64) as usize);
                let locks: Result<Vec<_>> =
                    paths.iter().map(|path| client.lock(path, LockOptions::default())).collect();
                Handle::MultiLock(client.multi_lock(&locks?)?)
            }
        })
    }
}

/// Where the nodes of a subject are.
#[derive(Debug)]
pub struct Ground {
    /// Parents of those who queue.
    pub queues: Vec<String>,
    /// The parent of permits.
    pub permits: Option<String>,
    /// How many permits there are.
    pub size: usize,
    /// What may be left in the end.
    pub lasting: Vec<String>,
}

impl Ground {
    pub fn of(subject: Subject, naming: Naming) -> Ground {
        let mut ground =
            Ground { queues: subject.paths(), permits: None, size: 0, lasting: vec![HOME.to_owned()] };
        if let Subject::Semaphore { permits } = subject {
            let (queue, leases) = match naming {
                Naming::Kazoo => (format!("{PATH}-__lock__"), PATH.to_owned()),
                _ => (format!("{PATH}/locks"), format!("{PATH}/leases")),
            };
            ground.lasting.extend([PATH.to_owned(), format!("{PATH}/max")]);
            (ground.queues, ground.permits, ground.size) = (vec![queue], Some(leases), permits);
        }
        let parents: Vec<_> = ground.parents().map(str::to_owned).collect();
        ground.lasting.extend(parents);
        ground
    }

    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.queues.iter().chain(&self.permits).map(String::as_str)
    }
}

/// What a worker has in hand.
#[derive(Clone)]
pub enum Handle {
    Lock(Lock),
    ReadWrite(ReadWriteLock),
    Semaphore(Semaphore),
    MultiLock(MultiLock),
}

impl Handle {
    /// What it asks for this time.
    pub fn ask(&self, rng: &mut Rng) -> Ask {
        match self {
            Handle::Lock(lock) => Ask::Turn(lock.clone(), Kind::Lock),
            Handle::ReadWrite(both) if rng.one_in(2) => Ask::Turn(both.write().clone(), Kind::Write),
            Handle::ReadWrite(both) => Ask::Turn(both.read().clone(), Kind::Read),
            Handle::Semaphore(semaphore) => {
                Ask::Permits(semaphore.clone(), rng.number(1..=semaphore.permits() as u64) as usize)
            }
            Handle::MultiLock(locks) => Ask::All(locks.clone()),
        }
    }
}

/// One thing to acquire.
pub enum Ask {
    Turn(Lock, Kind),
    Permits(Semaphore, usize),
    All(MultiLock),
}

impl Ask {
    pub fn acquire_within(&self, limit: Option<Duration>) -> Later<Result<Held>> {
        match self {
            Ask::Turn(lock, _) => Box::pin(lock.acquire_within(limit)),
            Ask::Permits(semaphore, n) => Box::pin(semaphore.acquire_within(*n, limit)),
            Ask::All(locks) => Box::pin(locks.acquire_within(limit)),
        }
    }

    pub fn try_acquire(&self) -> Later<Result<Option<Held>>> {
        match self {
            Ask::Turn(lock, _) => Box::pin(lock.try_acquire()),
            Ask::Permits(semaphore, n) => Box::pin(semaphore.try_acquire(*n)),
            Ask::All(locks) => Box::pin(locks.try_acquire()),
        }
    }

    pub fn cancel(&self) {
        match self {
            Ask::Turn(lock, _) => lock.cancel(),
            Ask::Permits(semaphore, _) => semaphore.cancel(),
            Ask::All(locks) => locks.cancel(),
        }
    }

    /// Asks whoever holds.
    pub async fn revoke(&self, force_after: Option<Duration>) -> Result<bool> {
        match self {
            Ask::Turn(lock, _) => lock.revoke(None, force_after).await,
            Ask::Permits(semaphore, _) => semaphore.revoke(None, force_after).await,
            Ask::All(locks) => locks.revoke(None, force_after).await,
        }
    }

    /// As what it queues, if a client's own waiters are served in the order of their calls. Permits reach their owners
    /// in no order, and who wants several paths is not in line at all of them.
    pub fn in_order(&self) -> Option<Kind> {
        match self {
            Ask::Turn(_, kind) => Some(*kind),
            _ => None,
        }
    }
}
