//! The protocol of the double barrier, step by step in every order that there is: three members, two rounds, while
//! members die, lose their session, give up, get no answer, read from a server that lags, or wait for another number than the
//! others. A step is what one request does; each is called after the function of `core/src/recipes/double_barrier` that makes
//! it.

use crate::double_barrier::{Barrier, CODE, MOST_NODES, Rules};

fn barrier(rules: Rules, (parties, members): (usize, usize), mishaps: u8) -> Barrier {
    Barrier {
        rules,
        parties,
        members,
        mishaps,
        others: 0,
        lags: false,
        most_nodes: MOST_NODES,
        lowest_stays: true,
    }
}

fn holds(barrier: &Barrier) {
    let Barrier { parties, members, others, mishaps, lags, .. } = barrier;
    let what = format!(
        "{members} members for {parties}, {others} of them for one more, {mishaps} mishaps, servers lag: {lags}"
    );
    let states = barrier.run().unwrap_or_else(|broken| panic!("{what}: {broken}"));
    println!("{what}: {states} states");
    assert!(states > 100, "{what}: only {states} states");
}

#[test]
fn nobody_is_let_in_or_out_early_in_any_order_of_the_steps() {
    for lowest_stays in [true, false] {
        for lags in [false, true] {
            holds(&Barrier { lowest_stays, lags, ..barrier(CODE, (2, 2), 1) });
        }
        holds(&Barrier { lowest_stays, most_nodes: 4, ..barrier(CODE, (1, 2), 1) });
        holds(&Barrier { lowest_stays, most_nodes: 5, ..barrier(CODE, (2, 3), 1) });
        holds(&Barrier { lowest_stays, ..barrier(CODE, (3, 3), 1) });
    }
    for others in [1, 2] {
        holds(&Barrier { others, most_nodes: 5, ..barrier(CODE, (2, 3), 0) });
    }
}

/// The same with more of everything, which takes minutes.
#[test]
fn nobody_is_let_in_or_out_early_whatever_else_happens() {
    if std::env::var_os("ZKR_ALL").is_none() {
        return;
    }
    for lowest_stays in [true, false] {
        holds(&Barrier { lowest_stays, lags: true, ..barrier(CODE, (2, 2), 2) });
        holds(&Barrier { lowest_stays, lags: true, most_nodes: 4, ..barrier(CODE, (1, 2), 1) });
        holds(&Barrier { lowest_stays, ..barrier(CODE, (2, 3), 1) });
        holds(&Barrier { lowest_stays, lags: true, ..barrier(CODE, (3, 3), 1) });
        for others in [1, 2] {
            holds(&Barrier { lowest_stays, others, ..barrier(CODE, (2, 3), 0) });
            holds(&Barrier { lowest_stays, others, most_nodes: 5, ..barrier(CODE, (2, 3), 1) });
        }
    }
}

#[test]
fn without_any_of_its_rules_a_promise_breaks() {
    let without = [
        ("checks_members", Rules { checks_members: false, ..CODE }),
        ("asks_for_numbers", Rules { asks_for_numbers: false, ..CODE }),
        ("tidies", Rules { tidies: false, ..CODE }),
        ("gives_up_by_version", Rules { gives_up_by_version: false, ..CODE }),
        ("looks_when_late", Rules { looks_when_late: false, ..CODE }),
        ("ends_by_version", Rules { ends_by_version: false, ..CODE }),
        ("waits_for_others", Rules { waits_for_others: false, ..CODE }),
        ("declares_again", Rules { declares_again: false, ..CODE }),
        ("comes_back", Rules { comes_back: false, ..CODE }),
        ("removes_by_version", Rules { removes_by_version: false, ..CODE }),
        ("sees_declarations", Rules { sees_declarations: false, ..CODE }),
        ("ends_unlisted_by_version", Rules { ends_unlisted_by_version: false, ..CODE }),
    ];
    let with_others = [
        ("corrects", Rules { corrects: false, ..CODE }),
        ("asks_for_parties", Rules { asks_for_parties: false, ..CODE }),
    ];
    for (name, rules) in with_others {
        let run = |others| Barrier { others, ..barrier(rules, (2, 3), 0) }.run().err();
        let found = [1, 2].into_iter().find_map(run);
        println!("without {name}: {}", found.unwrap_or_else(|| panic!("nothing breaks without {name}")));
    }
    for (name, rules) in without {
        let found = [(2, 2), (2, 3)].into_iter().find_map(|members| barrier(rules, members, 1).run().err());
        println!("without {name}: {}", found.unwrap_or_else(|| panic!("nothing breaks without {name}")));
    }
}
