//! What is a matter of the process: forks, exits, signals, threads, memory, subscribers of `tracing`. A fork would take along
//! the connections of any other test. Those that count or change what is the whole process's run in one that they start
//! (`is_run_elsewhere`); `tests/binaries.py` runs one after the other.

#[path = "../support/mod.rs"]
mod support;

mod bad_moments;
mod examples;
mod exit;
mod forks;
mod hostile_server;
mod memory;
mod no_thread;
mod secrets;
mod spans;
mod threads;
