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
    use crate::barrier::{Barrier, BarrierBase};
    #[pymodule_export]
    use crate::callback::CallbackTimes;
    #[pymodule_export]
    use crate::client::{Client, SessionBase, at_exit};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::config::{Config, ConfigBase};
    #[pymodule_export]
    use crate::counter::{Counter, CounterBase};
    #[pymodule_export]
    use crate::double_barrier::{DoubleBarrier, DoubleBarrierBase};
    #[pymodule_export]
    use crate::election::{Election, ElectionBase, Leadership, Terms};
    #[pymodule_export]
    use crate::face::{Call, Outcome, Seed};
    #[pymodule_export]
    use crate::feed::{Feed, FeedBase};
    #[pymodule_export]
    use crate::group::{Group, GroupBase};
    #[pymodule_export]
    use crate::handle::{HandleBase, Hold};
    #[pymodule_export]
    use crate::held::{Held, HeldBase};
    #[pymodule_export]
    use crate::holding::HoldingBase;
    #[pymodule_export]
    use crate::item::{Claims, Item, ItemBase};
    #[pymodule_export]
    use crate::lock::{Lock, LockBase};
    #[pymodule_export]
    use crate::log::set_log_level;
    #[pymodule_export]
    use crate::multi_lock::{MultiLock, MultiLockBase};
    #[pymodule_export]
    use crate::names::{Names, NamesBase};
    #[pymodule_export]
    use crate::nodes::{Nodes, NodesBase, Transaction, TransactionBase};
    #[pymodule_export]
    use crate::queue::{
        Backlog, BacklogBase, DelayQueue, DelayQueueBase, PriorityQueue, PriorityQueueBase, Queue, QueueBase,
    };
    #[pymodule_export]
    use crate::read_write_lock::{ReadWriteLock, ReadWriteLockBase};
    #[pymodule_export]
    use crate::recipes::ClientBase;
    #[pymodule_export]
    use crate::semaphore::{Semaphore, SemaphoreBase};
    #[pymodule_export]
    use crate::testing::{EmbeddedServer, PyEnsemble, PyProxy, TestingBase};
    #[pymodule_export]
    use crate::two_phase_commit::{
        CommitTransaction, CommitTransactionBase, Proposal, ProposalBase, TwoPhaseCommit, TwoPhaseCommitBase,
    };
    #[pymodule_export]
    use crate::version;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::attach::refuse_subinterpreters()?;
        crate::log::install(module.py())?;
        crate::errors::add_to(module)?;
        // The package says what is public.
        module.delattr("__all__")
    }
}

/// The version of the library.
#[pyfunction]
fn version() -> &'static str {
    zkrecipes::version()
}
