//! The queue, step by step in every order that there is: a producer and two consumers, each of which gets items, or claims them and
//! then acknowledges them or gives them back with a pause, without one, or to the dead letters. Meanwhile answers get lost, and
//! what is sent arrives late; callers go, leases run out and sessions end, claims are deleted by force, and what is to be written
//! together with an `ack` is refused. No item is lost or ends twice, two never work on one, nobody gets what somebody works on,
//! nothing is removed that was not read, no claim is ended that is another one's, and who hears of a loss is told of it.
//!
//! Modelled are `Store::take`, `remove` and `put_back` of `core/src/recipes/queue/take.rs`; `win`, `recover`, `ack` and `nack` of
//! `claim.rs` with `Hold::finish`; `move_if_dead`; `delete_guarded` and `delete_again`; and `Marks` with what it settles. A step is
//! what one transaction does, or what somebody hears.
//!
//! Where this is coarser than the code:
//!
//! - A list of the items and one of the claims are one step, and an item is read in another. Who reads acts on that at any moment.
//! - Consumers look again whenever there is something to see; waiting in line is left out, and so are keys, bounds and shards.
//! - A client has one mark, and one request under way. At most one is late, and that only until its session has asked for more.
//! - A pause is over whenever somebody takes it to be.
//! - Claims that nobody was given are attempts as well. What is written down of them (`unseen_claims.rs`) touches neither items nor
//!   claims: it only refuses a burial, and then all goes on as if one more attempt were allowed.
//! - Nobody but the recipe deletes items, or the parent.

use crate::queue::{CODE, Queue, Rules};

/// Both get, one gets and one claims, both claim.
const GET: [bool; 2] = [false, false];
const BOTH: [bool; 2] = [false, true];
const CLAIM: [bool; 2] = [true, true];

fn queue(items: u8, claims: [bool; 2], mishaps: u8) -> Queue {
    Queue { rules: CODE, items, claims, most_attempts: 2, mishaps, is_late: true }
}

fn holds(queue: &Queue) {
    let Queue { items, claims, most_attempts, mishaps, .. } = queue;
    let what = format!("{items} items, who claims: {claims:?}, {most_attempts} attempts, {mishaps} mishaps");
    let states = queue.run().unwrap_or_else(|broken| panic!("{what}: {broken}"));
    println!("{what}: {states} states");
    assert!(states > 100, "{what}: only {states} states");
}

#[test]
fn each_item_ends_once_in_any_order_of_the_steps() {
    holds(&queue(2, GET, 1));
    holds(&queue(1, GET, 2));
    holds(&queue(1, BOTH, 2));
    holds(&queue(1, CLAIM, 2));
    holds(&Queue { most_attempts: 1, ..queue(1, CLAIM, 2) });
}

/// The same with more of everything, which takes minutes.
#[test]
fn each_item_ends_once_whatever_else_happens() {
    if std::env::var_os("ZKR_ALL").is_none() {
        return;
    }
    for claims in [GET, BOTH, CLAIM] {
        holds(&queue(2, claims, 2));
        holds(&queue(1, claims, 3));
    }
}

#[test]
fn without_any_of_its_rules_a_promise_breaks() {
    let without = [
        ("puts_once", Rules { puts_once: false, ..CODE }),
        ("removes_once", Rules { removes_once: false, ..CODE }),
        ("removes_by_version", Rules { removes_by_version: false, ..CODE }),
        ("proves_no_claim", Rules { proves_no_claim: false, ..CODE }),
        ("asks_what_claim_says", Rules { asks_what_claim_says: false, ..CODE }),
        ("guards_deletions", Rules { guards_deletions: false, ..CODE }),
        ("looks_before_deleting", Rules { looks_before_deleting: false, ..CODE }),
        ("keeps_parent", Rules { keeps_parent: false, ..CODE }),
        ("tells_what_was_heard", Rules { tells_what_was_heard: false, ..CODE }),
        ("puts_back", Rules { puts_back: false, ..CODE }),
    ];
    for (name, rules) in without {
        let found =
            [(1, GET, 1), (1, BOTH, 1), (1, CLAIM, 1), (2, GET, 1), (1, CLAIM, 2)].into_iter().find_map(
                |(items, claims, mishaps)| Queue { rules, ..queue(items, claims, mishaps) }.run().err(),
            );
        println!("without {name}: {}", found.unwrap_or_else(|| panic!("nothing breaks without {name}")));
    }
}
