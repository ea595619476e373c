//! The recipes, each one file that reads like its recipe.

pub mod contenders;
pub mod handle;
pub mod held;
pub mod lock;
pub mod multi_lock;
pub mod read_write_lock;
pub mod semaphore;
pub(crate) mod sequencer;
