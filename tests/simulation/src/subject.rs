//! What the workers of a world are after: one recipe of the family, where its nodes are, and what a worker asks of it.

use std::ops::Deref;
use std::time::Duration;

use zkrecipes::session::clock::Later;
use zkrecipes::{
    Client, CommitMode, Counter, CounterOptions, Election, ElectionLayout, ElectionOptions, ErrorKind, Group,
    GroupLayout, GroupOptions, Held, Lock, LockOptions, MultiLock, Naming, ReadWriteLock, Result, Semaphore,
    drive,
};

use crate::committing;
use crate::items::EFFECT;
use crate::queueing::{AnyQueue, QueueKind};
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
    Election {
        layout: ElectionLayout,
    },
    Counter,
    /// In a party several members may have one name.
    Group {
        is_party: bool,
    },
    /// Nodes that are written at random, and followed.
    Tree,
    /// Items that are put, and taken or worked on.
    Queue(QueueKind),
    /// So many more than enter together.
    DoubleBarrier {
        spare: usize,
    },
    TwoPhaseCommit {
        mode: CommitMode,
    },
}

pub const HOME: &str = "/locks";
pub const PATH: &str = "/locks/simulated";

impl Subject {
    pub fn draw(rng: &mut Rng) -> Subject {
        match rng.below(10) {
            0..=3 => Subject::Lock { handoff: *rng.pick(&[0, 0, 0, 3]) },
            4 | 5 => Subject::ReadWrite,
            6 | 7 => Subject::Semaphore { permits: rng.number(1..=4) as usize },
            _ => Subject::MultiLock { paths: rng.number(2..=3) as usize },
        }
    }

    /// What a seed's workers are after instead of what was drawn for them: two seeds in three. Drawn apart, so that
    /// the other seeds are the schedules that they were before there were these.
    pub fn instead(seed: u64) -> Option<Subject> {
        let mut rng = Rng::new(!seed);
        match rng.below(12) {
            0 => Some(Subject::Election { layout: ElectionLayout::Latch }),
            1 => Some(Subject::Election { layout: ElectionLayout::Selector }),
            2 => Some(Subject::Counter),
            5 => Some(Subject::Tree),
            3 | 6 | 8 => Some(Subject::mortal(&mut rng)),
            7 => Some(Subject::Group { is_party: rng.one_in(3) }),
            _ => None,
        }
    }

    fn mortal(rng: &mut Rng) -> Subject {
        match rng.below(3) {
            0 => Subject::Queue(QueueKind::draw(rng)),
            1 => Subject::DoubleBarrier { spare: *rng.pick(&[0, 0, 1, 3]) },
            _ => {
                let mode = *rng.pick(&[CommitMode::Coordinator, CommitMode::Peer]);
                Subject::TwoPhaseCommit { mode }
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Subject::Lock { .. } => "plain lock",
            Subject::ReadWrite => "read/write lock",
            Subject::Semaphore { .. } => "semaphore",
            Subject::MultiLock { .. } => "multi-lock",
            Subject::Election { .. } => "election",
            Subject::Counter => "counter",
            Subject::Group { .. } => "group",
            Subject::Tree => "tree",
            Subject::Queue(_) => "queue",
            Subject::DoubleBarrier { .. } => "double barrier",
            Subject::TwoPhaseCommit { .. } => "two-phase commit",
        }
    }

    /// Whether several workers of a client may use one handle; two who join through one are one member.
    pub fn may_share(self) -> bool {
        !matches!(self, Subject::Group { .. })
    }

    /// Whether those who name their nodes as others do stand in one line all the same.
    pub fn is_line_of_all(self) -> bool {
        matches!(self, Subject::Lock { .. } | Subject::ReadWrite | Subject::MultiLock { .. })
    }

    /// Whether it goes on when nobody may create anything for a while. Who follows has nothing to be told then.
    pub fn may_be_refused(self) -> bool {
        !matches!(self, Subject::Group { .. } | Subject::Tree | Subject::DoubleBarrier { .. })
    }

    /// Whether whoever is not answered for a moment comes again.
    pub fn may_give_up(self) -> bool {
        !matches!(self, Subject::Group { .. } | Subject::Tree)
    }

    /// Whether there is something to follow instead of something to hold.
    pub fn is_followed(self) -> bool {
        matches!(self, Subject::Group { .. } | Subject::Tree) || self.is_mortal()
    }

    /// Whether processes end in the middle of what they do. Then only what belongs to a session is deleted by force:
    /// the rest is there to outlast them.
    pub fn is_mortal(self) -> bool {
        matches!(self, Subject::Queue(_) | Subject::DoubleBarrier { .. } | Subject::TwoPhaseCommit { .. })
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
                let options = LockOptions::default().local_handoff(handoff);
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
            Subject::Election { layout } => {
                Handle::Election(client.election(PATH, b"", ElectionOptions::default().layout(layout))?)
            }
            Subject::Counter => Handle::Counter(client.counter(PATH, CounterOptions::default())?),
            Subject::Group { is_party } => {
                let layout = if is_party { GroupLayout::Party } else { GroupLayout::Member };
                Handle::Group(client.group(PATH, GroupOptions::default().layout(layout))?)
            }
            Subject::Tree => Handle::Tree,
            Subject::Queue(kind) => Handle::Queue(kind.handle(client)?),
            Subject::DoubleBarrier { .. } => Handle::DoubleBarrier,
            Subject::TwoPhaseCommit { .. } => Handle::TwoPhaseCommit,
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
        if subject == Subject::Counter || subject.is_followed() {
            // Nobody holds anything there; whatever its clients leave below it is to go.
            ground.lasting.append(&mut ground.queues);
        }
        match subject {
            Subject::Queue(kind) => ground.lasting.extend(kind.lasting()),
            Subject::TwoPhaseCommit { .. } => {
                let below = ["transactions", "inbox", "sites", "coordinators", "outcomes"];
                ground.lasting.extend(below.map(|name| format!("{PATH}/{name}")));
                // No world has more hosts or workers.
                let sites = (0..4).flat_map(|host| (0..4).map(move |nth| committing::site(host, nth)));
                ground.lasting.extend(sites.map(|site| format!("{PATH}/inbox/{site}")));
            }
            _ => {}
        }
        let parents: Vec<_> = ground.parents().map(str::to_owned).collect();
        ground.lasting.extend(parents);
        ground
    }

    /// Whether it may be left: what items have brought about is, too.
    pub fn is_lasting(&self, path: &str) -> bool {
        path.starts_with(EFFECT) || is_outcome(path) || self.lasting.iter().any(|lasting| lasting == path)
    }

    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.queues.iter().chain(&self.permits).map(String::as_str)
    }
}

/// How a transaction ended that was taken over: it stays for a day, longer than any world.
fn is_outcome(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|below| below.starts_with("/outcomes/"))
}

/// What a worker has in hand.
#[derive(Clone)]
pub enum Handle {
    Lock(Lock),
    ReadWrite(ReadWriteLock),
    Semaphore(Semaphore),
    MultiLock(MultiLock),
    Election(Election),
    Counter(Counter),
    Group(Group),
    Tree,
    Queue(AnyQueue),
    DoubleBarrier,
    TwoPhaseCommit,
}

impl Handle {
    /// What it asks for this time.
    pub fn ask(&self, rng: &mut Rng) -> Ask {
        match self {
            Handle::Election(election) => {
                Ask { handle: zkrecipes::Handle::clone(election), n: 1, kind: Some(Kind::Lock) }
            }
            Handle::Lock(lock) => Ask::turn(lock, Kind::Lock),
            Handle::ReadWrite(both) if rng.one_in(2) => Ask::turn(both.write(), Kind::Write),
            Handle::ReadWrite(both) => Ask::turn(both.read(), Kind::Read),
            Handle::Semaphore(semaphore) => {
                let n = rng.number(1..=semaphore.permits() as u64) as usize;
                Ask { handle: zkrecipes::Handle::clone(semaphore), n, kind: None }
            }
            Handle::MultiLock(locks) => Ask { handle: zkrecipes::Handle::clone(locks), n: 1, kind: None },
            _ => unreachable!("nobody acquires that"),
        }
    }
}

/// One thing to acquire.
pub struct Ask {
    handle: zkrecipes::Handle,
    n: usize,
    kind: Option<Kind>,
}

impl Deref for Ask {
    type Target = zkrecipes::Handle;

    fn deref(&self) -> &zkrecipes::Handle {
        &self.handle
    }
}

impl Ask {
    fn turn(lock: &Lock, kind: Kind) -> Ask {
        Ask { handle: zkrecipes::Handle::clone(lock), n: 1, kind: Some(kind) }
    }

    pub fn acquire_within(&self, limit: Option<Duration>) -> Later<Result<Held>> {
        let acquiring = drive::acquire(&self.handle, self.n, limit);
        Box::pin(async move { Ok(acquiring.await?.hand_over()) })
    }

    pub async fn try_acquire(&self) -> Result<Option<Held>> {
        match self.acquire_within(Some(Duration::ZERO)).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// As what it queues, if a client's own waiters are served in the order of their calls. Permits reach their owners
    /// in no order, and who wants several paths is not in line at all of them.
    pub fn in_order(&self) -> Option<Kind> {
        self.kind
    }
}
