//! A leader that stands still once, wherever that is dangerous.

use std::num::NonZero;
use std::time::Duration;

use zkrecipes_simulation::{Outcome, Standstill, rehearse};

/// One in which the waiter that goes on asks its server for a sign of life before it asks for anything else.
const SEED: u64 = 2;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// From half a session timeout to a little more than a whole one, and awake about when the session may end.
fn lapses(asks: u64, rounding: u64) -> Vec<u64> {
    let ends = 3_000 + asks + rounding;
    let aimed = [ends - 25, ends - 5, ends + 2, ends + 20, ends + 60];
    let mut lapses: Vec<u64> = (2_000..=4_200).step_by(275).chain(aimed).collect();
    lapses.retain(|lapse| *lapse <= 4_200);
    lapses
}

fn grid() -> Vec<Standstill> {
    let mut points = Vec::new();
    for asks in [10, 40, 100, 400] {
        for rounding in [5, 20, 60, 150, 800] {
            for lapse in lapses(asks, rounding) {
                for (stall, ends) in
                    [(None, Some(ms(15))), (Some(ms(1_500)), None), (Some(ms(1_500)), Some(ms(15)))]
                {
                    let (asks, rounding, lapse) = (ms(asks), ms(rounding), ms(lapse));
                    points.push(Standstill { asks, rounding, lapse, stall, ends });
                }
            }
        }
    }
    points
}

fn outcomes(points: &[Standstill]) -> Vec<Outcome> {
    let beat = rehearse(SEED);
    let share = points.len().div_ceil(std::thread::available_parallelism().map_or(1, NonZero::get));
    std::thread::scope(|scope| {
        let play =
            |points: &[Standstill]| points.iter().map(|point| point.run(SEED, beat)).collect::<Vec<_>>();
        let runs: Vec<_> = points.chunks(share).map(|points| scope.spawn(move || play(points))).collect();
        runs.into_iter().flat_map(|run| run.join().expect("a simulation ends")).collect()
    })
}

#[test]
fn nobody_holds_what_a_leader_takes_away_on_waking() {
    let (points, begun) = (grid(), std::time::Instant::now());
    let outcomes = outcomes(&points);
    let steps: u64 = outcomes.iter().map(|outcome| outcome.steps).sum();
    println!("{} pauses, {steps} steps, {:?}", points.len(), begun.elapsed());
    let wrongs = points.iter().zip(&outcomes).filter_map(|(point, outcome)| {
        let failure = outcome.failure.as_ref()?;
        Some(format!("{point:?}: {failure}"))
    });
    let wrongs: Vec<_> = wrongs.collect();
    assert!(wrongs.is_empty(), "{} of {}:\n{}", wrongs.len(), points.len(), wrongs.join("\n"));
}
