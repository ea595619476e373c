//! A holder and one pause, at every phase.

use std::num::NonZero;
use std::time::Duration;

use zkrecipes::LeaseMode;
use zkrecipes_simulation::{Riding, What};

fn grid() -> Vec<Riding> {
    let mut points = Vec::new();
    for what in [What::Leader, What::Servers, What::Network, What::Client] {
        for (timeout, mode, is_tick_known) in [
            (4_000, LeaseMode::Strict, false),
            (10_000, LeaseMode::Strict, false),
            (10_000, LeaseMode::Strict, true),
            (10_000, LeaseMode::Relaxed, false),
        ] {
            // Where in the idle time the lock is acquired, and where between two heartbeats the pause begins.
            for acquires in (0..4).map(|nth| timeout * nth / 32) {
                for begins in (0..6).map(|nth| 10 + timeout * nth / 16) {
                    let ms = Duration::from_millis;
                    let (timeout, acquires, begins) = (ms(timeout), ms(acquires), ms(begins));
                    points.push(Riding { what, timeout, mode, is_tick_known, acquires, begins });
                }
            }
        }
    }
    points
}

#[test]
fn a_pause_as_long_as_is_promised_takes_nothing_from_a_holder() {
    let points = grid();
    let share = points.len().div_ceil(std::thread::available_parallelism().map_or(1, NonZero::get));
    let wrongs: Vec<String> = std::thread::scope(|scope| {
        let play = |points: &[Riding]| {
            let wrong = |point: &Riding| Some(format!("{point:?}: {}", point.run(1).failure?));
            points.iter().filter_map(wrong).collect::<Vec<_>>()
        };
        let runs: Vec<_> = points.chunks(share).map(|points| scope.spawn(move || play(points))).collect();
        runs.into_iter().flat_map(|run| run.join().expect("a simulation ends")).collect()
    });
    assert!(wrongs.is_empty(), "{} of {}:\n{}", wrongs.len(), points.len(), wrongs.join("\n"));
}
