//! The protocol's rules, one test each, spoken in raw frames.

#[path = "../support/mod.rs"]
mod support;

mod access;
mod dialects;
mod handshake;
mod reaping;
mod watching;
mod words;
mod writes;
