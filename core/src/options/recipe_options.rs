//! Options of recipes of which a peer has two layouts.

/// How a [`Counter`](crate::Counter) keeps its value where the naming is Curator's.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CounterLayout {
    /// Curator's `DistributedAtomicLong`: 64 bits.
    #[default]
    Atomic,
    /// Curator's `SharedCount`: 32 bits.
    Shared,
}

/// How a [`Counter`](crate::Counter) behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterOptions {
    /// Which of Curator's counters takes part. kazoo has one layout of its own, which the client's `naming` chooses.
    pub layout: CounterLayout,
}

/// Where the members of a [`Group`](crate::Group) are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum GroupLayout {
    /// Curator's `GroupMember`: a node has the name of its member, and the member's data.
    Member,
    /// kazoo's `Party`: the member's name is the data of its node, and there is no room for other data.
    Party,
    /// kazoo's `ShallowParty`: the member's name is part of its node's name, and there is no room for data.
    ShallowParty,
}

/// How a [`Group`](crate::Group) behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupOptions {
    /// `None`: `Party` where the client's `naming` is kazoo's, else `Member`.
    pub layout: Option<GroupLayout>,
}

/// Whose election an [`Election`](crate::Election) takes part in where the naming is Curator's.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElectionLayout {
    /// Curator's `LeaderLatch`.
    #[default]
    Latch,
    /// Curator's `LeaderSelector`.
    Selector,
}

/// How an [`Election`](crate::Election) behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionOptions {
    /// Which of Curator's elections takes part. kazoo has one layout of its own, which the client's `naming` chooses.
    pub layout: ElectionLayout,
}

/// Whose queue a [`Queue`](crate::Queue) takes part in.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueLayout {
    /// Curator's `SimpleDistributedQueue`, which is ZooKeeper's own recipe; kazoo's `Queue` where the `naming` is kazoo's.
    #[default]
    Simple,
    /// Curator's `DistributedQueue`, with its item encoding.
    Distributed,
    /// kazoo's `LockingQueue`, where the `naming` is kazoo's.
    Locking,
}

/// How a [`Queue`](crate::Queue), a [`PriorityQueue`](crate::PriorityQueue) or a [`DelayQueue`](crate::DelayQueue) behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueOptions {
    /// How many items there may be. All who put have to give the same number; a full queue makes them wait.
    pub max_items: Option<usize>,
    /// Whether an item goes when the session of the client that put it ends.
    pub ephemeral: bool,
    /// Over how many nodes the items are spread. More than one is faster, and keeps the order only within each.
    pub shards: usize,
    /// How often an item is claimed before it goes to the dead letters. Zero: there is no end.
    pub max_attempts: u32,
    /// Whose queue it takes part in. Priority and delay queues have one layout with each naming.
    pub layout: QueueLayout,
}

impl Default for QueueOptions {
    fn default() -> QueueOptions {
        QueueOptions {
            max_items: None,
            ephemeral: false,
            shards: 1,
            // With the pauses between them, so many attempts take three quarters of an hour.
            max_attempts: 16,
            layout: QueueLayout::default(),
        }
    }
}
