//! A part of the pairs of crashes, spread over the courses: `--pairs` of the program walks them all.

use std::num::NonZero;

use zkrecipes_simulation::{Walk, Walks, rows};

/// Two courses in so many, and one request in so many of either.
const COURSES: usize = 5;
const EVERY: usize = 32;

#[test]
fn a_transaction_has_one_outcome_wherever_two_crash() {
    let courses: Vec<(usize, Box<dyn Walks>)> = rows(true)
        .into_iter()
        .filter(|row| row.what().ends_with("two crashes"))
        .enumerate()
        .filter(|(nth, _)| nth % COURSES < 2)
        .collect();
    let share = courses.len().div_ceil(std::thread::available_parallelism().map_or(1, NonZero::get));
    let mut all = Walk::default();
    std::thread::scope(|scope| {
        let walks: Vec<_> = courses
            .chunks(share)
            .map(|courses| {
                scope.spawn(move || {
                    let mut walk = Walk::default();
                    for (nth, course) in courses {
                        // Each begins elsewhere.
                        walk += course.walk(1, 1 + (nth * 5 % EVERY) as u64, EVERY, None);
                    }
                    walk
                })
            })
            .collect();
        for walk in walks {
            all += walk.join().expect("a walk ends");
        }
    });
    let wrongs = all
        .failures
        .iter()
        .map(|(name, outcome)| format!("{name}: {}", outcome.failure.as_deref().unwrap_or_default()));
    let wrongs: Vec<_> = wrongs.collect();
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
    println!(
        "{} pairs, both crashed in {}, {} commits, {} aborts",
        all.cases, all.whole, all.commits, all.aborts
    );
    assert!(all.whole * 4 > all.cases, "only in {} of {} pairs both crashed", all.whole, all.cases);
    assert!(all.commits > 50 && all.aborts > 50, "{} commits, {} aborts", all.commits, all.aborts);
}
