//! `cargo run -p zkrecipes-simulation --release -- [--seeds N] [--seed S] [--only WORD] [--trace]`

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use zkrecipes_simulation::{Outcome, Tally, run, subject};

const HELP: &str = "\
Runs the recipes under simulated faults and virtual time; one seed is one schedule.

  --seeds N   how many seeds (100)
  --seed S    the first seed (1); alone, only that one
  --only WORD of these seeds, those whose workers are after something with this in its
              name: plain lock, read/write lock, semaphore, multi-lock, election,
              counter, group, tree, queue, double barrier, two-phase commit
  --trace     print every event
  --help      this text";

struct Arguments {
    first: u64,
    count: u64,
    aloud: bool,
    only: String,
}

fn arguments() -> Result<Option<Arguments>, String> {
    let (mut first, mut count, mut aloud, mut only) = (None, None, false, String::new());
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut number = || {
            let value = given.next().ok_or_else(|| format!("{argument} needs a number"))?;
            value.parse::<u64>().map_err(|_| format!("{value:?} is not a number for {argument}"))
        };
        match argument.as_str() {
            "--seeds" => count = Some(number()?),
            "--seed" => first = Some(number()?),
            "--only" => only = given.next().ok_or("--only needs a word")?,
            "--trace" => aloud = true,
            "--help" | "-h" => return Ok(None),
            other => return Err(format!("{other:?} is no option; see --help")),
        }
    }
    let count = count.unwrap_or(if first.is_some() { 1 } else { 100 });
    Ok(Some(Arguments { first: first.unwrap_or(1), count, aloud, only }))
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    // A broken promise is reported with its seed; the panic that may have been part of it is in there.
    std::panic::set_hook(Box::new(|_| {}));
    let begun = Instant::now();
    let (mut failed, mut steps, mut simulated) = (Vec::new(), 0, Duration::ZERO);
    let (mut subjects, mut all) = (BTreeMap::<_, u64>::new(), Tally::default());
    let seeds = (0..arguments.count).map(|nth| arguments.first.wrapping_add(nth));
    for seed in seeds.filter(|seed| subject(*seed).contains(&arguments.only)) {
        let outcome = run(seed, arguments.aloud);
        steps += outcome.steps;
        simulated += outcome.simulated;
        *subjects.entry(outcome.subject).or_default() += 1;
        all += outcome.tally;
        if outcome.failure.is_some() {
            report(&outcome, arguments.aloud);
            failed.push(outcome.seed);
        }
    }
    let took = begun.elapsed().as_secs_f64();
    let count: u64 = subjects.values().sum();
    println!(
        "{count} seeds, {steps} steps ({:.0} a second), {:.1} hours simulated in {took:.1} s",
        steps as f64 / took,
        simulated.as_secs_f64() / 3600.0
    );
    let subjects: Vec<_> = subjects.iter().map(|(subject, seeds)| format!("{subject} {seeds}")).collect();
    println!("{}", subjects.join(", "));
    println!(
        "{} acquisitions, {} downgrades, {} requests to let go, {} losses, {} states observed, {} changes made",
        all.acquisitions, all.downgrades, all.requests, all.losses, all.observed, all.changes
    );
    println!(
        "{} items taken, {} dead letters, {} rounds entered, {} commits and {} aborts, {} crashes, {} faults",
        all.items, all.deaths, all.rounds, all.commits, all.aborts, all.crashes, all.faults
    );
    if !failed.is_empty() {
        println!("failed: {}", failed.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    }
    println!("{} passed, {} failed", count - failed.len() as u64, failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report(outcome: &Outcome, was_aloud: bool) {
    println!(
        "seed {} ({}) failed: {}",
        outcome.seed,
        outcome.subject,
        outcome.failure.as_deref().unwrap_or_default()
    );
    if !was_aloud {
        for line in &outcome.last {
            println!("  {line}");
        }
    }
    println!("again: cargo run -p zkrecipes-simulation --release -- --seed {} --trace", outcome.seed);
}
