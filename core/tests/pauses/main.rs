//! What clocks decide while servers, networks, leaders or we ourselves stand still. They measure time: `tests/binaries.py` runs one after the
//! other.

#[path = "../support/mod.rs"]
mod support;

mod leader;
mod process;
mod server;
