//! The small parts of the library that several threads share, under very many orders of the steps of these threads.
//!
//! This crate builds the very files of the core once more. What they take from `crate::sync` is Shuttle's here, so a schedule decides
//! after each lock, wait and atomic access which thread goes on; one seed is one schedule. What stands around a part, such as a
//! socket, is stood in for by as little as can be, in `stands/`. What a part promises is in `plays/`: a play fails if an assertion
//! does, or if threads are left that wait for ever.
//!
//! What this does not show: all accesses have one order here, whatever `Ordering` they ask for, and what tokio offers for
//! synchronization makes each of its steps at once.

// Of the files of the core there is more than is played.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use shuttle::{Config, FailurePersistence, Runner};

#[path = "stands/around.rs"]
mod around;
mod drive;
#[path = "../../../core/src/error.rs"]
mod error;
#[path = "../../../core/src/feed.rs"]
mod feed;
#[path = "../../../core/src/futures.rs"]
mod futures;
mod inbox;
#[path = "../../../core/src/mutex.rs"]
mod mutex;
#[path = "../../../core/src/path.rs"]
mod path;
mod plays;
#[path = "../../../core/src/pool.rs"]
mod pool;
#[path = "../../../core/src/printable.rs"]
mod printable;
#[path = "../../../core/src/process.rs"]
mod process;
#[path = "../../../core/src/sanitizer.rs"]
mod sanitizer;
mod schedule;
mod session;
#[path = "../../../core/src/sort.rs"]
mod sort;
mod sync;
#[path = "../../../core/src/time.rs"]
mod time;
mod turn;

use around::{hosts, log, metrics, options, runtime, stack, threads};

/// Some threads, and what is promised of them.
pub struct Play {
    pub name: &'static str,
    pub promise: &'static str,
    /// How many schedules of it are played, unless that is said.
    pub seeds: u64,
    /// What has to happen in some of so many, or the play shows nothing.
    pub reaches: &'static [&'static str],
    pub play: fn(),
}

/// How often what is worth knowing has happened in the schedules of a play.
static HAPPENED: Mutex<BTreeMap<&str, u64>> = Mutex::new(BTreeMap::new());

/// It has happened.
pub fn happened(what: &'static str) {
    *HAPPENED.lock().expect("no panic").entry(what).or_default() += 1;
}

struct Arguments {
    only: Option<String>,
    seed: u64,
    seeds: Option<u64>,
}

const USAGE: &str = "interleavings [--only PART-OF-A-NAME] [--seed FIRST] [--seeds COUNT]";

fn arguments() -> Option<Arguments> {
    let mut found = Arguments { only: None, seed: 1, seeds: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match &*word {
            "--only" => found.only = Some(value),
            // One schedule, unless it is said how many.
            "--seed" => (found.seed, found.seeds) = (value.parse().ok()?, found.seeds.or(Some(1))),
            "--seeds" => found.seeds = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some(found)
}

/// How many schedules of it were played; `None` if it failed in the last one.
fn schedules(play: &Play, first: u64, count: u64) -> Option<usize> {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.stack_size = 1 << 17;
    // What it warns of is said at the head.
    config.silence_warnings = true;
    let runner = Runner::new(schedule::Seeds::new(first, count), config);
    let body = play.play;
    let run = || {
        runner.run(move || {
            around::is_another_process();
            body();
        })
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).ok()
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let is_wanted = |play: &&Play| arguments.only.as_ref().is_none_or(|part| play.name.contains(&**part));
    let plays: Vec<&Play> = plays::ALL.iter().filter(is_wanted).collect();
    if plays.is_empty() {
        eprintln!("no play has such a name");
        return ExitCode::from(2);
    }
    let mut failed = Vec::new();
    for play in plays {
        let begun = Instant::now();
        let played = schedules(play, arguments.seed, arguments.seeds.unwrap_or(play.seeds));
        let happened = std::mem::take(&mut *HAPPENED.lock().expect("no panic"));
        let Some(count) = played else {
            let (seed, name) = (schedule::played(), play.name);
            let again = format!("make interleavings ARGS=\"--only {name} --seed {seed}\"");
            failed.push(format!("BROKEN: {}; schedule {seed} of {name}, again by: {again}", play.promise));
            continue;
        };
        let seconds = begun.elapsed().as_secs_f64();
        println!("{:12} {count:>7} schedules in {seconds:>4.1} s: {}", play.name, play.promise);
        let of_it: Vec<String> = happened.iter().map(|(what, times)| format!("{what} {times}")).collect();
        println!("{:12} {}", "", of_it.join(", "));
        if arguments.seeds.is_none() {
            let never = play.reaches.iter().filter(|what| !happened.contains_key(**what));
            failed.extend(never.map(|what| format!("{} shows nothing: never \"{what}\"", play.name)));
        }
    }
    failed.iter().for_each(|failure| println!("{failure}"));
    ExitCode::from(u8::from(!failed.is_empty()))
}
