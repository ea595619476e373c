//! `cargo run -p zkrecipes-simulation --release -- [--seeds N] [--seed S] [--only WORD] [--pairs] [--trace]`

use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zkrecipes_simulation::{Outcome, Tally, Walk, Walks, rows, run, subject};

const HELP: &str = "\
Runs the recipes under simulated faults and virtual time; one seed is one schedule.

  --seeds N   how many seeds (100)
  --seed S    the first seed (1); alone, only that one
  --only WORD of these seeds, those whose workers are after something with this in its
              name: plain lock, read/write lock, semaphore, multi-lock, election,
              counter, group, tree, queue, double barrier, two-phase commit
  --singles   instead, of one seed: every request of a client that uses a recipe, with everything
              that can happen to one; --only NAME for one case, or for those that begin so
  --pairs     the same with every pair of requests, for plain lock, queue, election, counter and
              two-phase commit; and any two crashes of a coordinator and two sites
  --stop      end with the first seed that fails
  --trace     print every event
  --help      this text";

/// Given to a process that another one has started: it starts none itself.
const PART: &str = "--part";

struct Arguments {
    first: u64,
    count: u64,
    aloud: bool,
    stops: bool,
    is_part: bool,
    only: String,
    /// Cases of one request, or of two.
    rows: Option<bool>,
}

fn arguments() -> Result<Option<Arguments>, String> {
    let (mut first, mut count, mut aloud, mut stops, mut is_part) = (None, None, false, false, false);
    let (mut only, mut rows) = (String::new(), None);
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
            "--singles" => rows = Some(false),
            "--pairs" => rows = Some(true),
            "--stop" => stops = true,
            PART => is_part = true,
            "--trace" => aloud = true,
            "--help" | "-h" => return Ok(None),
            other => return Err(format!("{other:?} is no option; see --help")),
        }
    }
    let count = count.unwrap_or(if first.is_some() || rows.is_some() { 1 } else { 100 });
    Ok(Some(Arguments { first: first.unwrap_or(1), count, aloud, stops, is_part, only, rows }))
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
    if let Some(is_pairs) = arguments.rows {
        return walk(&arguments, is_pairs);
    }
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
            if arguments.stops {
                break;
            }
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
    println!(
        "{} containers collected between two requests, {} times nobody could create, {} times the servers' clock was set",
        all.collected, all.refusals, all.settings
    );
    println!(
        "{} calls out of time and {} withdrawn, {} nodes deleted by force, {} names used again, {} ends of claims unheard of",
        all.timeouts, all.cancellations, all.deletions, all.reused, all.doubts
    );
    println!(
        "{} followers behind or cut off, {} elections, {} requests of more than half of what a server takes",
        all.lags, all.elections, all.bulky
    );
    if !failed.is_empty() {
        println!("failed: {}", failed.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    }
    println!("{} passed, {} failed", count - failed.len() as u64, failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn walk(arguments: &Arguments, is_pairs: bool) -> ExitCode {
    let begun = Instant::now();
    let only = &*arguments.only;
    let rows: Vec<Arc<dyn Walks>> = rows(is_pairs).into_iter().map(Arc::from).collect();
    // The name of a case begins with that of its row, and that of a row may begin as another one's does.
    let is_it =
        |row: &String| *row == only || only.strip_prefix(&**row).is_some_and(|case| case.starts_with(": "));
    let exact: Vec<_> = rows.iter().filter(|row| is_it(&row.to_string())).cloned().collect();
    let rows = match exact.is_empty() {
        true => rows.into_iter().filter(|row| row.to_string().contains(only)).collect(),
        false => exact,
    };
    let seeds = (0..arguments.count).map(|nth| arguments.first.wrapping_add(nth));
    let work: Vec<_> =
        rows.iter().flat_map(|row| seeds.clone().map(move |seed| (seed, row.clone()))).collect();
    let is_alone = work.len() == 1 || arguments.is_part;
    let all = Mutex::new((work.into_iter(), BTreeMap::<String, Walk>::new(), 0));
    let take = || all.lock().ok()?.0.next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while let Some((seed, row)) = take() {
                    let (walk, failed) = match is_alone {
                        true => here(seed, &*row, Some(&*arguments.only).filter(|_| arguments.aloud)),
                        false => apart(seed, &*row, is_pairs),
                    };
                    if let Ok(mut all) = all.lock() {
                        *all.1.entry(row.what()).or_default() += walk;
                        all.2 += failed;
                    }
                }
            });
        }
    });
    let Ok((_, all, failed)) = all.into_inner() else { return ExitCode::FAILURE };
    let mut sum = Walk::default();
    for (what, walk) in all {
        println!("{what}: {} cases, {} of them whole", walk.cases, walk.whole);
        sum += walk;
    }
    println!(
        "{} cases, all of it happened in {}, {} steps, {} commits and {} aborts in {:.1} s",
        sum.cases,
        sum.whole,
        sum.steps,
        sum.commits,
        sum.aborts,
        begun.elapsed().as_secs_f64()
    );
    println!("{} passed, {failed} failed", sum.cases.saturating_sub(failed));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Walks a row, and tells what failed.
fn here(seed: u64, row: &dyn Walks, aloud: Option<&str>) -> (Walk, u64) {
    let mut walk = row.walk(seed, 1, 1, aloud);
    println!("seed {seed}, {row}: {} cases, all of it happened in {}", walk.cases, walk.whole);
    let failures = std::mem::take(&mut walk.failures);
    failures.iter().for_each(|(name, outcome)| report_case(name, outcome));
    (walk, failures.len() as u64)
}

/// The same in a process of its own. What a client that crashed had in memory is never freed, as little as in life, where its
/// process is gone; all rows in one process take more memory than most machines have.
fn apart(seed: u64, row: &dyn Walks, is_pairs: bool) -> (Walk, u64) {
    let kind = if is_pairs { "--pairs" } else { "--singles" };
    let program = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.args([kind, PART, "--seed", &seed.to_string(), "--only", &row.to_string()]).output()
    });
    let said = program.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let mut lines: Vec<_> = said.lines().collect();
    let mut numbers = || -> Vec<u64> {
        let last = lines.pop().unwrap_or_default();
        last.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    let (passed_and_failed, counts) = (numbers(), numbers());
    // What it says of its row all say of theirs together.
    lines.pop();
    lines.iter().filter(|_| passed_and_failed.get(1) != Some(&0)).for_each(|line| println!("{line}"));
    match (&*passed_and_failed, &*counts) {
        (&[_, failed], &[cases, whole, steps, commits, aborts, ..]) => {
            (Walk { cases, whole, steps, commits, aborts, failures: Vec::new() }, failed)
        }
        _ => {
            println!("seed {seed}, {row}: ended in the middle of it");
            (Walk::default(), 1)
        }
    }
}

fn report_case(name: &str, outcome: &Outcome) {
    let seed = outcome.seed;
    let kind = if name.contains(" and ") { "--pairs" } else { "--singles" };
    println!("seed {seed}, {name} failed: {}", outcome.failure.as_deref().unwrap_or_default());
    outcome.last.iter().for_each(|line| println!("  {line}"));
    println!(
        "again: cargo run -p zkrecipes-simulation --release -- {kind} --seed {seed} --only {name:?} --trace"
    );
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
