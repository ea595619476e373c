//! Elections, groups, names and configs, and whoever follows any of them.

#[path = "../support/mod.rs"]
mod support;

mod cache;
mod candidates;
mod config;
mod discovery;
mod election;
mod following;
mod group;
mod lagging;
mod names;
mod partitions;
mod priority;
mod survey;
mod watch;
