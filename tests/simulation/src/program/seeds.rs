//! Seeds, a few of them at a time in a process of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zkrecipes_simulation::{Outcome, Tally, run, subject};

use super::arguments::Arguments;
use super::parts::{said_by_a_part, share};

/// So many seeds one process plays at most: beside its memory, that is what a failed process takes along.
const MOST: u64 = 50;
/// How often one who waits hears how far it is.
const NEWS: Duration = Duration::from_secs(60);

/// What came of some seeds.
#[derive(Default)]
struct Sum {
    seeds: u64,
    steps: u64,
    simulated: Duration,
    /// Of all schedules, in any order.
    hash: u64,
    tally: Tally,
    failed: BTreeSet<u64>,
}

impl AddAssign<&Sum> for Sum {
    fn add_assign(&mut self, other: &Sum) {
        self.seeds += other.seeds;
        self.steps += other.steps;
        self.simulated += other.simulated;
        self.hash = self.hash.wrapping_add(other.hash);
        self.tally += other.tally;
        self.failed.extend(&other.failed);
    }
}

impl Sum {
    fn of(outcome: &Outcome) -> Sum {
        Sum {
            seeds: 1,
            steps: outcome.steps,
            simulated: outcome.simulated,
            hash: outcome.hash,
            tally: outcome.tally,
            failed: outcome.failure.iter().map(|_| outcome.seed).collect(),
        }
    }

    /// In one line, for the process that started this one.
    fn figures(&self) -> String {
        let simulated = self.simulated.as_nanos() as u64;
        let all = [self.seeds, self.steps, simulated, self.hash].into_iter();
        let all = all.chain(self.tally.figures()).chain(self.failed.iter().copied());
        all.map(|figure| figure.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn parse(figures: &str) -> Option<Sum> {
        let all: Vec<u64> = figures.split(' ').map(|figure| figure.parse().ok()).collect::<Option<_>>()?;
        let (&[seeds, steps, simulated, hash], rest) = all.split_first_chunk()?;
        let (tally, failed) = rest.split_at_checked(Tally::FIGURES)?;
        let (simulated, tally) = (Duration::from_nanos(simulated), Tally::of(tally)?);
        Some(Sum { seeds, steps, simulated, hash, tally, failed: failed.iter().copied().collect() })
    }
}

/// Whether no seed failed.
pub fn play(arguments: &Arguments) -> bool {
    let begun = Instant::now();
    let sum = match arguments.is_part || arguments.aloud || arguments.count == 1 {
        true => here(arguments),
        false => apart(arguments, begun),
    };
    if arguments.is_part {
        println!("{}", sum.figures());
    } else {
        tell(arguments, &sum, begun.elapsed());
    }
    sum.failed.is_empty()
}

fn here(arguments: &Arguments) -> Sum {
    let mut sum = Sum::default();
    for seed in arguments.seeds().filter(|seed| subject(*seed).contains(&arguments.only)) {
        let outcome = run(seed, arguments.aloud);
        sum += &Sum::of(&outcome);
        if outcome.failure.is_some() {
            report(&outcome, arguments.aloud);
            if arguments.stops {
                break;
            }
        }
    }
    sum
}

/// As many at once as there are processes. After a failure those that were begun before are played to the end, so that the first seed
/// that fails is the same however many processes there are.
fn apart(arguments: &Arguments, begun: Instant) -> Sum {
    let share_of_each = arguments.count / (arguments.jobs as u64 * 8);
    let size = share_of_each.clamp(1, MOST);
    let parts = (0..arguments.count.div_ceil(size)).map(|nth| {
        let (begin, end) = (nth * size, arguments.count.min((nth + 1) * size));
        (arguments.first.wrapping_add(begin), end - begin)
    });
    let (has_failed, news) = (AtomicBool::new(false), Mutex::new((Sum::default(), begun, 0)));
    let stops = || arguments.stops && has_failed.load(Ordering::Relaxed);
    share(arguments.jobs, parts.take_while(|_| !stops()), |(first, count)| {
        let (seed, seeds) = (first.to_string(), count.to_string());
        let mut given = vec!["--seed", &seed, "--seeds", &seeds, "--only", &arguments.only];
        given.extend(arguments.stops.then_some("--stop"));
        let mut lines = said_by_a_part(&given);
        let sum = match lines.last().and_then(|figures| Sum::parse(figures)) {
            Some(sum) => {
                lines.pop();
                sum
            }
            None => {
                lines.push(format!(
                    "seed {first} or one of the {count} from it on: ended in the middle of it"
                ));
                Sum { failed: [first].into(), ..Sum::default() }
            }
        };
        has_failed.fetch_or(!sum.failed.is_empty(), Ordering::Relaxed);
        let Ok(mut all) = news.lock() else { return };
        lines.iter().for_each(|line| println!("{line}"));
        all.0 += &sum;
        all.2 += count;
        if all.1.elapsed() > NEWS {
            all.1 = Instant::now();
            let (done, failed, took) = (all.2, all.0.failed.len(), begun.elapsed().as_secs_f64());
            eprintln!(
                "{done} of {} seeds, {:.1} a second, {failed} failed",
                arguments.count,
                done as f64 / took
            );
        }
    });
    news.into_inner().map(|(sum, ..)| sum).unwrap_or_default()
}

fn tell(arguments: &Arguments, sum: &Sum, took: Duration) {
    let (Sum { seeds, steps, simulated, hash, tally: all, failed }, took) = (sum, took.as_secs_f64());
    println!(
        "{seeds} seeds, {steps} steps ({:.0} a second), {:.1} hours simulated in {took:.1} s, {:.1} seeds a second",
        *steps as f64 / took,
        simulated.as_secs_f64() / 3600.0,
        *seeds as f64 / took
    );
    let mut subjects = BTreeMap::<_, u64>::new();
    arguments.seeds().for_each(|seed| *subjects.entry(subject(seed)).or_default() += 1);
    subjects.retain(|subject, _| subject.contains(&arguments.only));
    if subjects.values().sum::<u64>() == *seeds {
        let subjects: Vec<_> = subjects.iter().map(|(subject, seeds)| format!("{subject} {seeds}")).collect();
        println!("{}", subjects.join(", "));
    }
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
        "{} followers behind or cut off, {} elections, {} requests of more than half of what a server takes, {} sessions closed that had been given up",
        all.lags, all.elections, all.bulky, all.outlived
    );
    println!("the schedules are {hash:016x}");
    if !failed.is_empty() {
        println!("failed: {}", failed.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    }
    println!("{} passed, {} failed", seeds.saturating_sub(failed.len() as u64), failed.len());
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
    println!("again: make sim ARGS='--seed {} --trace'", outcome.seed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_part_has_counted_arrives_whole() {
        let mut sum = Sum { seeds: 3, steps: 7, hash: u64::MAX, failed: [5, 9].into(), ..Sum::default() };
        sum.simulated = Duration::from_nanos(11);
        (sum.tally.acquisitions, sum.tally.elections) = (13, 17);
        let arrived = Sum::parse(&sum.figures()).expect("all of it");
        assert_eq!(arrived.figures(), sum.figures());
        assert_eq!((arrived.failed, arrived.tally.elections), (sum.failed, 17));
        assert!(Sum::parse("seed 7 failed").is_none() && Sum::parse("1 2 3 4 5").is_none());
    }
}
