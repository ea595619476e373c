//! What clocks decide while servers, networks or leaders stand still. They measure time: `tests/binaries.py` runs one after the
//! other.

#[path = "../support/mod.rs"]
mod support;

mod leader;
mod server;
