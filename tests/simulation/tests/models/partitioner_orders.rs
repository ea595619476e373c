//! The hand-over of partitions, step by step in every order that there is: up to three members that join, stand for the election
//! of who assigns, read what is assigned, and queue for it, while any of them leaves, dies, is cut off until its lease runs out or
//! its session ends, or lets go unasked. A partition never has two owners; in the end each has the one that was assigned last, and
//! only those who are there; and no assignment moves more than it must from the one before it.
//!
//! Modelled are `take_part`, `assign` and `next_assignment` of `core/src/recipes/partitioner/membership.rs`, and `tend` of
//! `turns.rs`. Who is to have what is computed by the code's own `assignment.rs`. A step is what one request does.
//!
//! Where this is coarser than the code:
//!
//! - A partition's lock is a line of who has queued, decided at once; `session_line_orders` and `core/tests/locks` look at locks.
//! - The candidates stand in one line, too, and what a leader writes is checked and applied at once.
//! - Time is not counted. Whoever was asked may let go, or its time for draining be over, at any moment; so may a dead member's
//!   session. Members read the assignment at any moment as it is then, or never if the next one comes before that.
//! - All weigh the same, and no two have one name.

use crate::partitioner::{CODE, Rules, Sharing};

fn sharing((members, partitions): (usize, usize), mishaps: u8) -> Sharing {
    let (rules, computed) = (CODE, Default::default());
    Sharing { rules, members, partitions, joins: 1, mishaps, is_stubborn: false, computed }
}

fn holds(sharing: &Sharing) {
    let Sharing { members, partitions, joins, mishaps, is_stubborn, .. } = sharing;
    let what = format!(
        "{members} members that join {joins} times, {partitions} partitions, {mishaps} mishaps, stubborn: {is_stubborn}"
    );
    let states = sharing.run().unwrap_or_else(|broken| panic!("{what}: {broken}"));
    println!("{what}: {states} states");
    assert!(states > 100, "{what}: only {states} states");
}

#[test]
fn each_partition_has_one_owner_in_any_order_of_the_steps() {
    holds(&sharing((3, 2), 0));
    holds(&sharing((2, 1), 1));
    holds(&sharing((2, 2), 1));
    holds(&Sharing { joins: 2, ..sharing((2, 1), 1) });
    holds(&Sharing { is_stubborn: true, ..sharing((2, 2), 0) });
}

/// The same with more of everything, which takes minutes.
#[test]
fn each_partition_has_one_owner_whatever_else_happens() {
    if std::env::var_os("ZKR_ALL").is_none() {
        return;
    }
    holds(&sharing((3, 1), 1));
    holds(&sharing((3, 2), 1));
    holds(&sharing((3, 3), 0));
    holds(&sharing((2, 3), 1));
    holds(&sharing((2, 2), 2));
    holds(&Sharing { joins: 2, ..sharing((2, 2), 1) });
}

#[test]
fn without_any_of_its_rules_a_promise_breaks() {
    let without = [
        ("takes_turns", Rules { takes_turns: false, ..CODE }),
        ("asks_the_owner", Rules { asks_the_owner: false, ..CODE }),
        ("takes_away", Rules { takes_away: false, ..CODE }),
        ("forgets_who_is_gone", Rules { forgets_who_is_gone: false, ..CODE }),
        ("begins_with_the_last", Rules { begins_with_the_last: false, ..CODE }),
        ("declares_again", Rules { declares_again: false, ..CODE }),
    ];
    for (name, rules) in without {
        let is_stubborn = name == "takes_away";
        let (size, mishaps) = match name {
            // Those who had moved are others than who leads.
            "begins_with_the_last" => ((3, 2), 1),
            "forgets_who_is_gone" | "declares_again" => ((2, 2), 1),
            _ => ((2, 2), 0),
        };
        let found = Sharing { rules, is_stubborn, ..sharing(size, mishaps) }.run().err();
        println!("without {name}: {}", found.unwrap_or_else(|| panic!("nothing breaks without {name}")));
    }
}
