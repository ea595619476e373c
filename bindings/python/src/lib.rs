//! The Python face of zkrecipes, as the extension module `zkrecipes._native`. No recipe logic: convert, drive, convert.
//!
//! Every class has a base with its verbs, written once in [`face`]'s terms; those of most are generated from api/ into
//! [`generated`]. The public classes derive from it: blocking
//! ones here, with a native `__enter__` so that no signal can fall between acquiring and entering; asyncio ones in
//! zkrecipes/aio.py.

mod answer;
mod attach;
mod callback;
mod client;
mod command;
mod convert;
mod double_barrier;
mod election;
mod errors;
mod face;
mod feed;
mod generated;
mod handle;
mod held;
mod holding;
mod inbox;
mod item;
mod lock;
mod log;
mod multi_lock;
mod options;
mod owned;
mod partitioner;
mod queue;
mod read_write_lock;
mod recipes;
mod semaphore;
mod services;
mod testing;
mod updates;
mod waiting;

use pyo3::prelude::*;

use crate::generated::docs::doc_of;

// Nothing here relies on a GIL: every class is frozen, and what changes is behind a lock or atomic. No such lock is held while
// Python code runs, and whoever waits for long is detached: else a collection, which stops all threads, would never begin.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::callback::CallbackTimes;
    #[pymodule_export]
    use crate::client::{Client, at_exit};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::election::{Election, Leadership, Terms};
    #[pymodule_export]
    use crate::face::{Call, Outcome, Seed};
    #[pymodule_export]
    use crate::feed::Feed;
    #[pymodule_export]
    use crate::handle::Hold;
    #[pymodule_export]
    use crate::held::Held;
    #[pymodule_export]
    use crate::inbox::Inbox;
    #[pymodule_export]
    use crate::item::{Claims, Item};
    #[pymodule_export]
    use crate::lock::Lock;
    #[pymodule_export]
    use crate::log::set_log_level;
    #[pymodule_export]
    use crate::multi_lock::MultiLock;
    #[pymodule_export]
    use crate::partitioner::{Wins, partition_failed};
    #[pymodule_export]
    use crate::queue::DeadLetters;
    #[pymodule_export]
    use crate::read_write_lock::ReadWriteLock;
    #[pymodule_export]
    use crate::semaphore::Semaphore;
    #[pymodule_export]
    use crate::services::FoundInstance;
    #[pymodule_export]
    use crate::testing::{EmbeddedServer, PyEnsemble, PyProxy};
    #[pymodule_export]
    use crate::updates::version_after;
    #[pymodule_export]
    use crate::version;

    // --- generated from api: classes of recipes
    #[pymodule_export]
    use crate::generated::{
        Barrier, CommitTransaction, Config, Counter, DelayQueue, Discovery, DoubleBarrier, Group, Latch,
        Names, NodeCache, Nodes, Partitioner, PriorityQueue, Proposal, Queue, Registration, Transaction,
        TwoPhaseCommit,
    };
    // --- end of generated

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::attach::refuse_subinterpreters()?;
        crate::log::install(module.py())?;
        crate::errors::add_to(module)?;
        // To Python they have the names of the classes that users have: here they are told apart.
        macro_rules! add_bases {
            ($($file:ident::$base:ident,)*) => {
                $(module.add(stringify!($base), module.py().get_type::<crate::$file::$base>())?;)*
            };
        }
        add_bases! {
            // --- generated from api: bases of recipes
            generated::BarrierBase,
            generated::CommitTransactionBase,
            generated::ConfigBase,
            generated::CounterBase,
            generated::DelayQueueBase,
            generated::DiscoveryBase,
            generated::DoubleBarrierBase,
            generated::GroupBase,
            generated::LatchBase,
            generated::NamesBase,
            generated::NodeCacheBase,
            generated::NodesBase,
            generated::PartitionerBase,
            generated::PriorityQueueBase,
            generated::ProposalBase,
            generated::QueueBase,
            generated::RegistrationBase,
            generated::TransactionBase,
            generated::TwoPhaseCommitBase,
            // --- end of generated
            client::SessionBase,
            election::ElectionBase,
            feed::FeedBase,
            held::HeldBase,
            item::ItemBase,
            lock::LockBase,
            multi_lock::MultiLockBase,
            queue::BacklogBase,
            queue::DeadLettersBase,
            read_write_lock::ReadWriteLockBase,
            recipes::ClientBase,
            semaphore::SemaphoreBase,
            testing::TestingBase,
        }
        // Of these users have no class: they are called what a type checker calls them when it complains.
        module.add("Handle", module.py().get_type::<crate::handle::HandleBase>())?;
        module.add("Holding", module.py().get_type::<crate::holding::HoldingBase>())?;
        // The package says what is public.
        module.delattr("__all__")
    }
}

#[doc = doc_of!(version)]
#[pyfunction]
fn version() -> &'static str {
    zkrecipes::version()
}
