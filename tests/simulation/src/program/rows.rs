//! `--singles` and `--pairs`: rows of cases, each row in a process of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use zkrecipes_simulation::{Outcome, Walk, Walks, rows};

use super::arguments::Arguments;
use super::parts::{said_by_a_part, share};

/// Whether no case failed.
pub fn walk(arguments: &Arguments, is_pairs: bool) -> bool {
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
    let work: Vec<_> =
        rows.iter().flat_map(|row| arguments.seeds().map(move |seed| (seed, row.clone()))).collect();
    let is_alone = work.len() == 1 || arguments.is_part;
    let all = Mutex::new((BTreeMap::<String, Walk>::new(), 0));
    share(arguments.jobs, work.into_iter(), |(seed, row)| {
        let (walk, failed) = match is_alone {
            true => here(seed, &*row, Some(&*arguments.only).filter(|_| arguments.aloud)),
            false => apart(seed, &*row, is_pairs),
        };
        if let Ok(mut all) = all.lock() {
            *all.0.entry(row.what()).or_default() += walk;
            all.1 += failed;
        }
    });
    let Ok((all, failed)) = all.into_inner() else { return false };
    let mut sum = Walk::default();
    for (what, walk) in all {
        println!("{what}: {} cases, {} of them whole", walk.cases, walk.whole);
        sum += walk;
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "{} cases, all of it happened in {}, {} steps, {} commits and {} aborts in {took:.1} s, {:.1} cases a second",
        sum.cases,
        sum.whole,
        sum.steps,
        sum.commits,
        sum.aborts,
        sum.cases as f64 / took
    );
    println!("{} passed, {failed} failed", sum.cases.saturating_sub(failed));
    failed == 0
}

/// Walks a row, and tells what failed.
fn here(seed: u64, row: &dyn Walks, aloud: Option<&str>) -> (Walk, u64) {
    let mut walk = row.walk(seed, 1, 1, aloud);
    println!("seed {seed}, {row}: {} cases, all of it happened in {}", walk.cases, walk.whole);
    let failures = std::mem::take(&mut walk.failures);
    failures.iter().for_each(|(name, outcome)| report(name, outcome));
    (walk, failures.len() as u64)
}

/// The same in a process of its own.
fn apart(seed: u64, row: &dyn Walks, is_pairs: bool) -> (Walk, u64) {
    let kind = if is_pairs { "--pairs" } else { "--singles" };
    let mut lines = said_by_a_part(&[kind, "--seed", &seed.to_string(), "--only", &row.to_string()]);
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

fn report(name: &str, outcome: &Outcome) {
    let seed = outcome.seed;
    let kind = if name.contains(" and ") { "--pairs" } else { "--singles" };
    println!("seed {seed}, {name} failed: {}", outcome.failure.as_deref().unwrap_or_default());
    outcome.last.iter().for_each(|line| println!("  {line}"));
    println!("again: make sim ARGS='{kind} --seed {seed} --only {name:?} --trace'");
}
