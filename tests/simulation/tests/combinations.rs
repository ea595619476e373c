//! A part of the requests that meet trouble or at which somebody crashes, one or two of them: `--singles` and `--pairs` of the
//! program try all.

use std::num::NonZero;

use zkrecipes_simulation::{Walk, Walks, rows};

/// Walks each row from another request on, and only one request in so many.
fn walk(rows: Vec<Box<dyn Walks>>, every: usize) -> Walk {
    let rows: Vec<_> = rows.into_iter().enumerate().collect();
    let share = rows.len().div_ceil(std::thread::available_parallelism().map_or(1, NonZero::get));
    let mut all = Walk::default();
    std::thread::scope(|scope| {
        let walks: Vec<_> = rows
            .chunks(share)
            .map(|rows| {
                scope.spawn(move || {
                    let mut walk = Walk::default();
                    for (nth, row) in rows {
                        walk += row.walk(1, 1 + (nth * 5 % every) as u64, every, None);
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
    println!("{} cases, all of it happened in {}", all.cases, all.whole);
    all
}

#[test]
fn every_recipe_survives_trouble_at_any_request() {
    let all = walk(rows(false), 4);
    assert!(all.whole > 500 && all.whole * 4 > all.cases * 3, "only {} of {}", all.whole, all.cases);
}

#[test]
fn five_recipes_survive_trouble_at_any_two_requests() {
    let rows = rows(true).into_iter().filter(|row| row.what().ends_with("two requests"));
    let all = walk(rows.enumerate().filter(|(nth, _)| nth % 7 == 0).map(|(_, row)| row).collect(), 8);
    assert!(all.whole > 200 && all.whole * 2 > all.cases, "only {} of {}", all.whole, all.cases);
}

#[test]
fn a_transaction_has_one_outcome_wherever_two_crash() {
    let rows = rows(true).into_iter().filter(|row| row.what().ends_with("two crashes"));
    let all = walk(rows.enumerate().filter(|(nth, _)| nth % 5 < 2).map(|(_, row)| row).collect(), 32);
    assert!(all.whole * 4 > all.cases, "only in {} of {} pairs both crashed", all.whole, all.cases);
    assert!(all.commits > 50 && all.aborts > 50, "{} commits, {} aborts", all.commits, all.aborts);
}
