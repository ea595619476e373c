//! The line of a session, step by step in every order that there is: two sessions with up to three contenders each, and a
//! foreign client, which has no line and lists after each event. Meanwhile answers get lost, so that creates and deletions are in
//! doubt, calls are withdrawn, leases run out and sessions end, nodes and the path are deleted by force, holders are asked to let
//! go, and deletions are refused. Two never hold of whom both nodes stand; nobody has the turn ahead of a lower number that has
//! not let go; nothing is passed on behind a node that stays, or while a guarded write may yet be applied; all have their turn in
//! the end, and no node is left.
//!
//! Modelled are `Line`, `Arrival` and `Position` of `core/src/turn/session_line`, `Place::enter` and `recover`, `Wait::run`, and
//! `Hold::let_go` with its deletion. A step is what one contender does with one answer, or what the server decides.
//!
//! Where this is coarser than the code:
//!
//! - What one session sends is decided in its order, and answered then; each contender hears of its create and of its lists in its
//!   own time. An event is heard before what the session's next request answers.
//! - Of those ahead only the closest is watched, not the second.
//! - Time is not counted. Whose node was not seen of late is not passed the turn; here anybody may be who lets go without passing.
//!   A lease runs out before its session ends. `Line::look_after` does nothing here but watch, and that only where somebody sleeps.
//! - Calls need not wait until those before them have queued, as is so for those that nobody polls any more.
//! - How many deletions may be unconfirmed at once, and what a holder hears that was not seen since a loss, is left out.

use crate::session_line::{CODE, Lines, Mishap, Rules};

/// Nothing of all these.
const NOTHING: &[Mishap] = &[];
const MOST: &[Mishap] = &[
    Mishap::Disconnection,
    Mishap::Expiry,
    Mishap::Cancellation,
    Mishap::Deletion,
    Mishap::Revocation,
    Mishap::Refusal,
];
const SLEEP: &[Mishap] = &[Mishap::Sleep];
const COLLECTION: &[Mishap] = &[Mishap::Collection];

fn lines(sizes: [usize; 3], mishaps: u8, of: &'static [Mishap]) -> Lines {
    Lines { rules: CODE, sizes, mishaps, of, path_is_watched: true, writes: false }
}

fn holds(lines: &Lines) {
    let Lines { sizes, mishaps, of, path_is_watched, writes, .. } = lines;
    let what = format!(
        "{sizes:?} contenders, {mishaps} mishaps of {of:?}, numbers tell: {path_is_watched}, writes: {writes}"
    );
    let states = lines.run().unwrap_or_else(|broken| panic!("{what}: {broken}"));
    println!("{what}: {states} states");
    assert!(states > 100, "{what}: only {states} states");
}

#[test]
fn one_holds_and_all_have_their_turn_in_any_order_of_the_steps() {
    holds(&lines([3, 0, 0], 0, NOTHING));
    holds(&lines([3, 0, 1], 0, NOTHING));
    holds(&lines([2, 2, 0], 0, NOTHING));
    holds(&lines([2, 0, 1], 1, SLEEP));
    holds(&lines([2, 0, 1], 1, MOST));
}

#[test]
fn one_holds_although_the_path_is_deleted_or_collected_and_made_anew() {
    holds(&lines([2, 0, 1], 1, COLLECTION));
}

/// The same with more of everything, which takes minutes.
#[test]
fn one_holds_whatever_else_happens() {
    if std::env::var_os("ZKR_ALL").is_none() {
        return;
    }
    for path_is_watched in [true, false] {
        let lines = |sizes, mishaps, of| Lines { path_is_watched, ..lines(sizes, mishaps, of) };
        holds(&lines([2, 2, 1], 0, NOTHING));
        holds(&lines([3, 0, 0], 1, MOST));
        holds(&lines([3, 0, 1], 1, &[Mishap::Disconnection]));
        holds(&lines([2, 2, 0], 1, MOST));
        holds(&lines([3, 0, 0], 1, COLLECTION));
        holds(&lines([2, 1, 0], 1, COLLECTION));
        holds(&lines([2, 0, 1], 2, &[Mishap::Cancellation, Mishap::Disconnection, Mishap::Refusal]));
        holds(&Lines { writes: true, ..lines([2, 0, 1], 1, MOST) });
    }
}

#[test]
fn without_any_of_its_rules_a_promise_breaks() {
    let without = [
        ("asks_for_path", Rules { asks_for_path: false, ..CODE }),
        ("asks_who_has_come", Rules { asks_who_has_come: false, ..CODE }),
        ("heeds_refusals", Rules { heeds_refusals: false, ..CODE }),
        ("asks_for_line", Rules { asks_for_line: false, ..CODE }),
        ("looks_after", Rules { looks_after: false, ..CODE }),
        ("tells_when_cancelled", Rules { tells_when_cancelled: false, ..CODE }),
        ("waits_for_writes", Rules { waits_for_writes: false, ..CODE }),
        ("asks_when_it_left", Rules { asks_when_it_left: false, ..CODE }),
        ("asks_who_is_between", Rules { asks_who_is_between: false, ..CODE }),
        ("asks_for_lease", Rules { asks_for_lease: false, ..CODE }),
    ];
    for (name, rules) in without {
        let (of, writes): (&[Mishap], _) = match name {
            "asks_for_path" | "asks_who_has_come" => (COLLECTION, false),
            "heeds_refusals" => (&[Mishap::Refusal], false),
            "looks_after" => (SLEEP, false),
            "tells_when_cancelled" => (&[Mishap::Cancellation], false),
            "asks_for_line" => (&[Mishap::Disconnection], false),
            "waits_for_writes" | "asks_when_it_left" => (NOTHING, true),
            "asks_for_lease" => (&[Mishap::Expiry], false),
            _ => (NOTHING, false),
        };
        let found = [[2, 0, 1], [3, 0, 0]]
            .into_iter()
            .find_map(|sizes| Lines { rules, writes, ..lines(sizes, 1, of) }.run().err());
        println!("without {name}: {}", found.unwrap_or_else(|| panic!("nothing breaks without {name}")));
    }
}
