//! Two-phase commit.

#[path = "../support/mod.rs"]
mod support;

mod all_or_none;
mod clocks;
mod coordinators;
mod duty;
mod pairs;
mod sites;
mod truth;
mod width;
