//! The recipes, each one file that reads like its recipe.

pub mod barrier;
pub mod config;
pub mod contenders;
pub mod counter;
pub mod declared;
pub mod double_barrier;
pub mod election;
mod gate;
mod gone;
pub mod group;
pub mod handle;
pub mod held;
pub mod lock;
pub mod multi_lock;
pub mod names;
pub mod queue;
pub mod read_write_lock;
pub mod semaphore;
pub(crate) mod sequencer;
pub mod survey;
pub mod two_phase_commit;
pub(crate) mod waiting;
pub(crate) mod waiting_line;
