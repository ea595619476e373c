//! The protocol of two-phase commit, step by step in every order that there is: a coordinator and two sites, two transactions
//! that have the same id one after the other, while any of them dies and comes back, or gets no answer. A step is what one
//! request does; each is called after the function of `core/src/recipes/two_phase_commit` that makes it.
//!
//! The deadline is not counted: whoever waits may find at any moment that it is over. So both modes are the same here.

#[path = "models/explorer.rs"]
mod explorer;
#[path = "models/two_phase_commit.rs"]
mod two_phase_commit;

use two_phase_commit::{CODE, Commits, Rules};

fn holds(lives: u8, mishaps: u8) {
    let states = Commits { rules: CODE, lives, mishaps }.run().unwrap_or_else(|broken| panic!("{broken}"));
    println!("{lives} transactions, {mishaps} mishaps: {states} states");
    assert!(states > 500, "only {states} states");
}

#[test]
fn all_do_the_same_in_any_order_of_the_steps() {
    holds(1, 1);
    holds(2, 0);
}

/// The same with more of everything, which takes minutes.
#[test]
fn all_do_the_same_whatever_else_happens() {
    if std::env::var_os("ZKR_ALL").is_some() {
        holds(1, 2);
        holds(2, 1);
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
    ];
    for (name, rules) in without {
        let found = [(1, 0), (2, 0), (1, 1)]
            .into_iter()
            .find_map(|(lives, mishaps)| Commits { rules, lives, mishaps }.run().err());
        println!("without {name}: {}", found.unwrap_or_else(|| panic!("nothing breaks without {name}")));
    }
}
