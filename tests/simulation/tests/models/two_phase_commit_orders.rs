//! The protocol of two-phase commit, step by step in every order that there is: a coordinator and two sites, two transactions
//! that have the same id one after the other, while any of them dies and comes back, or gets no answer. A step is what one
//! request does; each is called after the function of `core/src/recipes/two_phase_commit` that makes it.
//!
//! The deadline is not counted: whoever waits may find at any moment that it is over, or that all have voted. So both modes are
//! the same here, and so is whatever tells a peer that it is worth trying: the commit itself checks the votes. What the
//! coordinator sees to in the background decides beside its caller, which may let go of a transaction. It may be cut off, also
//! while it begins one: then another coordinator takes over and is done with it, and the first one asks when it is back.

use crate::two_phase_commit::{CODE, Commits, Rules};

fn holds(lives: u8, mishaps: u8, has_duty: bool, has_heir: bool) {
    let commits = Commits { rules: CODE, lives, has_duty, has_heir, mishaps };
    let states = commits.run().unwrap_or_else(|broken| panic!("{broken}"));
    println!(
        "{lives} transactions, {mishaps} mishaps, a duty: {has_duty}, an heir: {has_heir}: {states} states"
    );
    assert!(states > 500, "only {states} states");
}

#[test]
fn all_do_the_same_in_any_order_of_the_steps() {
    holds(1, 0, true, false);
    holds(1, 1, false, false);
    holds(2, 0, false, false);
    holds(1, 0, false, true);
}

/// The same with more of everything, which takes minutes.
#[test]
fn all_do_the_same_whatever_else_happens() {
    if std::env::var_os("ZKR_ALL").is_some() {
        holds(1, 1, true, false);
        holds(2, 0, true, false);
        holds(1, 2, false, false);
        holds(2, 1, false, false);
        holds(1, 0, true, true);
        holds(1, 1, false, true);
        holds(2, 0, false, true);
    }
}

#[test]
fn without_any_of_its_rules_a_promise_breaks() {
    let without = [
        ("checks_votes", Rules { checks_votes: false, ..CODE }),
        ("waits_for_all", Rules { waits_for_all: false, ..CODE }),
        ("says_nonce", Rules { says_nonce: false, ..CODE }),
        ("waits_for_coordinator", Rules { waits_for_coordinator: false, ..CODE }),
        ("compares", Rules { compares: false, ..CODE }),
        ("decides_once", Rules { decides_once: false, ..CODE }),
        ("leaves_outcome", Rules { leaves_outcome: false, ..CODE }),
    ];
    for (name, rules) in without {
        let found = [(1, 0), (2, 0), (1, 1)].into_iter().find_map(|(lives, mishaps)| {
            let has_heir = name == "leaves_outcome";
            Commits { rules, lives, has_duty: false, has_heir, mishaps }.run().err()
        });
        println!("without {name}: {}", found.unwrap_or_else(|| panic!("nothing breaks without {name}")));
    }
}
