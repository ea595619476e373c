//! The Python face of zkrecipes, as the extension module `zkrecipes._native`. No recipe logic: convert, drive, convert.
//!
//! Every class has a base with its verbs, written once in [`face`]'s terms. The public classes derive from it: blocking
//! ones here, with a native `__enter__` so that no signal can fall between acquiring and entering; asyncio ones in
//! zkrecipes/aio.py.

mod attach;
mod callback;
mod client;
mod command;
mod convert;
mod errors;
mod face;
mod handle;
mod held;
mod lock;
mod log;
mod multi_lock;
mod nodes;
mod options;
mod read_write_lock;
mod semaphore;
mod testing;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::client::{Client, ClientBase, at_exit};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::face::{Call, Outcome, Seed};
    #[pymodule_export]
    use crate::handle::{HandleBase, Hold};
    #[pymodule_export]
    use crate::held::{Held, HeldBase};
    #[pymodule_export]
    use crate::lock::{Lock, LockBase};
    #[pymodule_export]
    use crate::multi_lock::{MultiLock, MultiLockBase};
    #[pymodule_export]
    use crate::nodes::{Nodes, NodesBase, Transaction, TransactionBase};
    #[pymodule_export]
    use crate::read_write_lock::{ReadWriteLock, ReadWriteLockBase};
    #[pymodule_export]
    use crate::semaphore::{Semaphore, SemaphoreBase};
    #[pymodule_export]
    use crate::testing::{EmbeddedServer, PyEnsemble, PyProxy, TestingBase};
    #[pymodule_export]
    use crate::version;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::log::install();
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
