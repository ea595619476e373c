//! The Python face of zkrecipes, as the extension module `zkrecipes._native`. No recipe logic: convert, drive, convert.
//!
//! Every class has a base with its verbs, written once in [`face`]'s terms. The public classes derive from it: blocking
//! ones here, with a native `__enter__` so that no signal can fall between acquiring and entering; asyncio ones in
//! zkrecipes/aio.py.

mod answer;
mod attach;
mod barrier;
mod callback;
mod client;
mod command;
mod config;
mod convert;
mod counter;
mod double_barrier;
mod election;
mod errors;
mod face;
mod feed;
mod group;
mod handle;
mod held;
mod holding;
mod item;
mod lock;
mod log;
mod multi_lock;
mod names;
mod nodes;
mod options;
mod owned;
mod queue;
mod read_write_lock;
mod recipes;
mod semaphore;
mod testing;
mod two_phase_commit;
mod waiting;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::barrier::Barrier;
    #[pymodule_export]
    use crate::callback::CallbackTimes;
    #[pymodule_export]
    use crate::client::{Client, at_exit};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::config::Config;
    #[pymodule_export]
    use crate::counter::Counter;
    #[pymodule_export]
    use crate::double_barrier::DoubleBarrier;
    #[pymodule_export]
    use crate::election::{Election, Leadership, Terms};
    #[pymodule_export]
    use crate::face::{Call, Outcome, Seed};
    #[pymodule_export]
    use crate::feed::Feed;
    #[pymodule_export]
    use crate::group::Group;
    #[pymodule_export]
    use crate::handle::Hold;
    #[pymodule_export]
    use crate::held::Held;
    #[pymodule_export]
    use crate::item::{Claims, Item};
    #[pymodule_export]
    use crate::lock::Lock;
    #[pymodule_export]
    use crate::log::set_log_level;
    #[pymodule_export]
    use crate::multi_lock::MultiLock;
    #[pymodule_export]
    use crate::names::Names;
    #[pymodule_export]
    use crate::nodes::{Nodes, Transaction};
    #[pymodule_export]
    use crate::queue::{DeadLetters, DelayQueue, PriorityQueue, Queue};
    #[pymodule_export]
    use crate::read_write_lock::ReadWriteLock;
    #[pymodule_export]
    use crate::semaphore::Semaphore;
    #[pymodule_export]
    use crate::testing::{EmbeddedServer, PyEnsemble, PyProxy};
    #[pymodule_export]
    use crate::two_phase_commit::{CommitTransaction, Proposal, TwoPhaseCommit};
    #[pymodule_export]
    use crate::version;

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
            barrier::BarrierBase,
            client::SessionBase,
            config::ConfigBase,
            counter::CounterBase,
            double_barrier::DoubleBarrierBase,
            election::ElectionBase,
            feed::FeedBase,
            group::GroupBase,
            held::HeldBase,
            item::ItemBase,
            lock::LockBase,
            multi_lock::MultiLockBase,
            names::NamesBase,
            nodes::NodesBase,
            nodes::TransactionBase,
            queue::BacklogBase,
            queue::DeadLettersBase,
            queue::DelayQueueBase,
            queue::PriorityQueueBase,
            queue::QueueBase,
            read_write_lock::ReadWriteLockBase,
            recipes::ClientBase,
            semaphore::SemaphoreBase,
            testing::TestingBase,
            two_phase_commit::CommitTransactionBase,
            two_phase_commit::ProposalBase,
            two_phase_commit::TwoPhaseCommitBase,
        }
        // Of these users have no class: they are called what a type checker calls them when it complains.
        module.add("Handle", module.py().get_type::<crate::handle::HandleBase>())?;
        module.add("Holding", module.py().get_type::<crate::holding::HoldingBase>())?;
        // The package says what is public.
        module.delattr("__all__")
    }
}

/// The version of the library.
#[pyfunction]
fn version() -> &'static str {
    zkrecipes::version()
}
