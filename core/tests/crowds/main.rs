//! Many at once, and what that costs. They take the machine for themselves: `tests/binaries.py` runs one after the other.

#[path = "../support/mod.rs"]
mod support;

mod counter;
mod double_barrier;
mod elections;
mod partitions;
mod rounds;
mod scale;
mod stress;
mod tls;
